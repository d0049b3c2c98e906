"""What the doorbell and the worker agree on: where a hook's payload is left, and which part of it is kept.

Imports nothing, for the doorbell does. Keys are relative to `.lineage/`.
"""

EVENT_QUEUE = "spool/signals/"
DEAD_LETTERS = "spool/dead/"
TURN_PREFIX = "turn--"
"""How the name of a turn's end begins: each takes the place of the one before it."""

CONTEXT_CACHE = "context/"
HOOK_LOG = "log/hook.log"
WORKER_LOCK = "worker"

VERSION = 1

PAYLOAD_FIELDS = frozenset(
    {
        "agentId", "agent_id", "agent_type", "at", "compact_summary", "compactionEntry", "conversation_id",
        "cursor_version", "cwd", "directory", "error", "event", "generation_id", "hook_event_name", "lane",
        "last-assistant-message", "last_assistant_message", "last_message", "model", "parentID", "parentToolCallId",
        "parent_id", "parent_session", "prompt_response", "reason", "sessionFile", "sessionID", "sessionId",
        "sessionKey", "session_file", "session_id", "session_key", "source", "status", "stopReason", "stop_reason",
        "summary", "text", "thread-id", "timestamp", "transcriptPath", "transcript_path", "trigger", "turn_id",
        "type", "working_dir", "workspace_roots", "worktree",
    }
)  # fmt: skip
"""The fields of a payload that say something of a session; the others, people's names among them, are not kept."""

EVENT_FIELDS = ("hook_event_name", "event", "type")
EVENT_BY_FIELD = (
    ("agentId", "subagentStop"), ("stopReason", "agentStop"), ("trigger", "preCompact"), ("reason", "sessionEnd"),
    ("source", "sessionStart"),
)  # fmt: skip
"""What payloads that name no event are told by: the first of these fields that is there."""

ID_FIELDS = ("session_id", "conversation_id", "sessionId", "sessionID", "thread-id", "session_key", "lane", "agent_id")
START_EVENTS = frozenset({"SessionStart", "sessionStart", "session-start", "session_start", "session.created"})
TURN_END_EVENTS = frozenset(
    {
        "AfterAgent", "AgentStop", "Interrupt", "Stop", "StopFailure", "afterAgentResponse", "agent-turn-complete",
        "agentStop", "agent_end", "session.error", "session.execution.failed", "session.execution.interrupted",
        "session.execution.succeeded", "session.idle", "stop", "turn-end", "turn_end",
    }
)  # fmt: skip
"""Events after which nothing is due but a note that the session is there: of each session the last one is kept."""

WORKER_LOCK_FD = 3
"""Where the worker's process finds the lock that the doorbell took for it: nobody starts another one meanwhile."""


def context_block_key(agent: str, folder: str, checksum: int) -> str:
    """Where the block for new sessions of an agent in a folder lies; `checksum` is `zlib.crc32` of both, joined by a
    newline. The block's first line names both again: a sum may be shared, a project's memory is not.

    >>> context_block_key("default", "/home/ada/demo", 255)
    'context/000000ff-15.txt'
    """
    return f"{CONTEXT_CACHE}{checksum:08x}-{len(agent) + len(folder):x}.txt"


def context_block_header(agent: str, folder: str) -> str:
    return f"{agent} {folder}\n"
