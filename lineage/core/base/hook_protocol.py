"""Hooks and the worker: keys of queued payloads, relative to `.lineage/`, and their fields. It imports nothing."""

EVENT_QUEUE = "spool/signals/"
DEAD_LETTERS = "spool/dead/"
TURN_PREFIX = "turn--"
"""The beginning of the name of a turn's end: each replaces the one before it."""

COMPACTION_PREFIX = "compaction--"
"""The beginning of the name of what comes before a compaction: the hook behind it waits until it is worked off."""

CONTEXT_CACHE = "context/"
RECALL_LOG = "recall/"
"""What each session was given at its prompts and actions: a file of JSON lines, by the session's token."""

HOOK_LOG = "log/hook.log"
RECALL_MARK = "recall at the "
"""The beginning, behind the time, of a line about a recall that failed: the session itself is captured all the same."""

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
    ("toolResult", "postToolUse"), ("toolArgs", "preToolUse"), ("agentId", "subagentStop"), ("stopReason", "agentStop"),
    ("trigger", "preCompact"), ("reason", "sessionEnd"), ("source", "sessionStart"), ("prompt", "userPromptSubmitted"),
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
AFTER_COMPACTION_EVENTS = frozenset({"PostCompact", "compaction", "session.compacted", "session_compact"})
COMPACTED, RESUMED, CLEARED = "compact", "resume", "clear"
"""Why a session starts that was there before."""

PROMPT, ACTION = "prompt", "action"
_PROMPTS = ("UserPromptSubmit", "BeforeAgent", "userPromptSubmitted", "prompt")
_ACTIONS = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "AfterTool", "preToolUse", "postToolUse", "postToolUseFailure",
    "action",
)  # fmt: skip
RECALL_KINDS = dict.fromkeys(_PROMPTS, PROMPT) | dict.fromkeys(_ACTIONS, ACTION)
"""What recall is asked for, by event. These events are answered and not queued."""

NO_RECALL = "--no-recall"
"""In a hook's command line: these events are not answered either."""

WORKER_LOCK_FD = 3
"""The descriptor of the lock that a hook takes for the worker, so that no other hook starts a second one."""


def session_block_name(session_id: str) -> str:
    """Return the name, in the place of a folder, of the block that a session is told after a compaction."""
    return f"session {session_id}"
