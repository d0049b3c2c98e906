"""The hooks of every harness as data: what they call their events, and where their payloads keep what we ask for.

Read by `lineage.harness.signals`. Names are the harness's own, spelling included. (harnesses.md: the tables of events)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SESSION_START = "session-start"
TURN_END = "turn-end"
SESSION_END = "session-end"
COMPACTION = "compaction"
OTHER = "other"

SUB_AGENT = "sub-agent"
BEFORE_COMPACTION = "before a compaction"

Names = dict[str, tuple[str, ...]]

_FIELDS: Names = {
    "session_id": ("session_id",),
    "transcript_path": ("transcript_path",),
    "cwd": ("cwd",),
    "reason": ("reason", "source", "error"),
    "trigger": ("trigger",),
    "summary": ("compact_summary",),
    "last_message": ("last_assistant_message",),
}
_OWN_FIELDS: Names = {
    "session_id": ("session_id", "sessionId", "sessionID"),
    "session_key": ("session_key", "sessionKey"),
    "lane": ("lane",),
    "parent_session": ("parent_session", "parent_id", "parentID"),
    "transcript_path": ("transcript_path", "session_file", "sessionFile"),
    "cwd": ("cwd", "directory", "worktree"),
    "reason": ("reason",),
    "trigger": ("trigger",),
    "summary": ("summary", "compactionEntry.summary"),
    "last_message": ("last_message",),
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A harness's hooks. `ignored` says why an event is nothing to us; other events that are not named are OTHER.

    `fields` lists where each field of a signal may stand: a dot leads into an object, `.0` to the first of a list.
    `event` is where the event's name stands; where it stands nowhere, the first field of `marks` that is there tells.
    `goes_on` are the reasons of a session end after which the session may well continue. `sub_agent` is the field that
    only a sub-agent's hooks have: their session id is the parent's.
    """

    events: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    fields: Names = field(default_factory=lambda: _FIELDS)
    event: tuple[str, ...] = ("hook_event_name",)
    marks: tuple[tuple[str, str], ...] = ()
    goes_on: frozenset[str] = frozenset()
    sub_agent: str | None = None


_IGNORED = {"SubagentStart": SUB_AGENT, "SubagentStop": SUB_AGENT, "PreCompact": BEFORE_COMPACTION}
_CLAUDE = {
    "SessionStart": SESSION_START,
    "Stop": TURN_END,
    "StopFailure": TURN_END,
    "SessionEnd": SESSION_END,
    "PostCompact": COMPACTION,
}
PLAIN = Dialect(
    events={event: event for event in (SESSION_START, TURN_END, SESSION_END, COMPACTION)},
    fields=_OWN_FIELDS | {"at": ("at",)},
    event=("event",),
)
DIALECTS: Mapping[str, Dialect] = {
    "claude-code": Dialect(_CLAUDE, _IGNORED, goes_on=frozenset({"resume"}), sub_agent="agent_id"),
    "codex": Dialect(
        events=_CLAUDE | {"Interrupt": TURN_END, "agent-turn-complete": TURN_END},
        ignored=_IGNORED,
        fields=_FIELDS
        | {"session_id": ("session_id", "thread-id")}
        | {"last_message": ("last_assistant_message", "last-assistant-message")},
        event=("hook_event_name", "type"),  # `type`: the older `notify` program
        sub_agent="agent_id",
    ),
    "gemini": Dialect(
        events={"SessionStart": SESSION_START, "AfterAgent": TURN_END, "SessionEnd": SESSION_END},
        ignored={"PreCompress": BEFORE_COMPACTION},
        fields=_FIELDS | {"last_message": ("prompt_response",), "at": ("timestamp",)},
    ),
    "qwen": Dialect(_CLAUDE, _IGNORED, fields=_FIELDS | {"at": ("timestamp",)}, sub_agent="agent_id"),
    "cursor": Dialect(
        events={
            "sessionStart": SESSION_START,
            "stop": TURN_END,
            "afterAgentResponse": TURN_END,
            "sessionEnd": SESSION_END,
        },
        ignored={"subagentStart": SUB_AGENT, "subagentStop": SUB_AGENT, "preCompact": BEFORE_COMPACTION},
        fields=_FIELDS
        | {"session_id": ("conversation_id", "session_id"), "cwd": ("cwd", "workspace_roots.0")}
        | {"reason": ("reason", "status"), "last_message": ("text",)},
    ),
    "copilot": Dialect(
        events={"sessionStart": SESSION_START, "agentStop": TURN_END, "sessionEnd": SESSION_END}
        | {"SessionStart": SESSION_START, "AgentStop": TURN_END, "Stop": TURN_END, "SessionEnd": SESSION_END},
        ignored=_IGNORED | {"subagentStop": SUB_AGENT, "preCompact": BEFORE_COMPACTION},
        fields={
            "session_id": ("sessionId", "session_id"),
            "transcript_path": ("transcriptPath", "transcript_path"),
            "cwd": ("cwd",),
            "reason": ("reason", "stopReason", "stop_reason", "source"),
            "trigger": ("trigger",),
            "at": ("timestamp",),
        },
        marks=(
            ("agentId", "subagentStop"),
            ("stopReason", "agentStop"),
            ("trigger", "preCompact"),
            ("reason", "sessionEnd"),
            ("source", "sessionStart"),
            ("prompt", "userPromptSubmitted"),
        ),
        sub_agent="agent_id",
    ),
    "opencode": Dialect(
        events={
            "session.created": SESSION_START,
            "session.idle": TURN_END,
            "session.error": TURN_END,
            "session.compacted": COMPACTION,
            "session.execution.succeeded": TURN_END,
            "session.execution.failed": TURN_END,
            "session.execution.interrupted": TURN_END,
            "dispose": SESSION_END,
        },
        fields=_OWN_FIELDS,
        event=("event",),
    ),
    "pi": Dialect(
        events={
            "session_start": SESSION_START,
            "turn_end": TURN_END,
            "agent_end": TURN_END,
            "session_compact": COMPACTION,
            "session_shutdown": SESSION_END,
        },
        ignored={"session_before_compact": BEFORE_COMPACTION},
        fields=_OWN_FIELDS,
        event=("event",),
        goes_on=frozenset({"reload"}),
    ),
    "openclaw": Dialect(
        events={
            "session_start": SESSION_START,
            "agent_end": TURN_END,
            "after_compaction": COMPACTION,
            "session_end": SESSION_END,
        },
        ignored={"before_compaction": BEFORE_COMPACTION},
        fields=_OWN_FIELDS,
        event=("event",),
    ),
    "goose": Dialect(
        events={"SessionStart": SESSION_START, "Stop": TURN_END, "SessionEnd": SESSION_END},
        fields=_FIELDS | {"cwd": ("cwd", "working_dir")},
        event=("event",),
    ),
}
SHARE_HOOK_FILES = frozenset({"claude-code", "codex", "gemini", "qwen", "cursor", "copilot"})
"""Harnesses that run command hooks, some of them each other's: what they send is looked at for who really called."""
