"""Hooks and the worker: keys of queued payloads, relative to `.lineage/`, and their fields. Imports nothing."""

EVENT_QUEUE = "spool/signals/"
DEAD_LETTERS = "spool/dead/"
TURN_PREFIX = "turn--"
"""The beginning of the name of a turn's end: each replaces the one before it."""

COMPACTION_PREFIX = "compaction--"
"""The beginning of the name of what comes before a compaction: the hook behind it waits until it is worked off."""

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
"""The fields of a payload that describe a session. All others are dropped, people's names among them."""

EVENT_FIELDS = ("hook_event_name", "event", "type")
EVENT_BY_FIELD = (
    ("agentId", "subagentStop"), ("stopReason", "agentStop"), ("trigger", "preCompact"), ("reason", "sessionEnd"),
    ("source", "sessionStart"),
)  # fmt: skip
"""The event of a payload that names none, by the first of these fields that it has."""

ID_FIELDS = ("session_id", "conversation_id", "sessionId", "sessionID", "thread-id", "session_key", "lane", "agent_id")
START_EVENTS = frozenset({"SessionStart", "sessionStart", "session-start", "session_start", "session.created"})
TURN_END_EVENTS = frozenset(
    {
        "AfterAgent", "AgentStop", "Interrupt", "Stop", "StopFailure", "afterAgentResponse", "agent-turn-complete",
        "agentStop", "agent_end", "session.error", "session.execution.failed", "session.execution.interrupted",
        "session.execution.succeeded", "session.idle", "stop", "turn-end", "turn_end",
    }
)  # fmt: skip
"""Events without any work but a note that the session goes on. The queue keeps the last one of each session."""

BEFORE_COMPACTION_EVENTS = frozenset(
    {"PreCompact", "preCompact", "before-compaction", "before_compaction", "session_before_compact"}
)
COMPACTED, RESUMED = "compact", "resume"
"""Why a session starts that was there before."""

WORKER_LOCK_FD = 3
"""The descriptor of the lock that a hook takes for the worker, so that no other hook starts a second one."""


def context_block_key(agent: str, folder: str, checksum: int) -> str:
    """Return the key of the context block for new sessions of an agent in a folder.

    `checksum` is the `zlib.crc32` of both, joined by a newline.

    >>> context_block_key("default", "/home/ada/demo", 255)
    'context/000000ff-15.txt'
    """
    return f"{CONTEXT_CACHE}{checksum:08x}-{len(agent) + len(folder):x}.txt"


def session_block_name(session_id: str) -> str:
    """Return the name, in the place of a folder, of the block that a session is told after a compaction."""
    return f"session {session_id}"


def context_block_header(agent: str, folder: str) -> str:
    """Return the first line of a context block. It tells two folders with the same checksum apart."""
    return f"{agent} {folder}\n"
