"""The hooks of every harness as data: the names of their events, and the places of fields in their payloads.

Names are the harness's own, spelling included. `hook_payload` reads them. (harnesses.md: the tables of events)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

SESSION_START = "session-start"
TURN_END = "turn-end"
SESSION_END = "session-end"
COMPACTION = "compaction"
BEFORE_COMPACTION = "before-compaction"
OTHER = "other"

SUB_AGENT = "sub-agent"
NO_COMPACTION = "a turn that may be followed by a compaction"

FieldNames = dict[str, tuple[str, ...]]

_FIELDS: FieldNames = {
    "session_id": ("session_id",),
    "transcript_path": ("transcript_path",),
    "cwd": ("cwd",),
    "reason": ("reason", "source", "error"),
    "trigger": ("trigger",),
    "summary": ("compact_summary",),
}
# Of our own plugins, which pass on the names of each harness's API.
_PLUGIN_FIELDS: FieldNames = {
    "session_id": ("session_id", "sessionId", "sessionID"),
    "session_key": ("session_key", "sessionKey"),
    "lane": ("lane",),
    "transcript_path": ("transcript_path", "session_file", "sessionFile"),
    "cwd": ("cwd", "directory", "worktree"),
    "reason": ("reason",),
    "trigger": ("trigger",),
    "summary": ("summary", "compactionEntry.summary"),
}


@dataclass(frozen=True, slots=True)
class HookFormat:
    """A harness's hooks: our names of its `events`, the reasons to ignore others. Events in neither are OTHER.

    `fields` are the places in a payload: a dot leads into an object, `.0` to the first of a list. Without a name at
    `event_fields`, the first of the `event_markers` in the payload determines the event. After a session end for one of
    the `continuing_reasons` the session may go on. `sub_agent_field` marks hooks under their parent's session id.
    """

    events: dict[str, str] = field(default_factory=dict)
    ignored_events: dict[str, str] = field(default_factory=dict)
    fields: FieldNames = field(default_factory=lambda: _FIELDS)
    event_fields: tuple[str, ...] = ("hook_event_name",)
    event_markers: tuple[tuple[str, str], ...] = ()
    continuing_reasons: frozenset[str] = frozenset()
    sub_agent_field: str | None = None


_IGNORED_EVENTS = {"SubagentStart": SUB_AGENT, "SubagentStop": SUB_AGENT}
_CLAUDE_EVENTS = {
    "SessionStart": SESSION_START,
    "Stop": TURN_END,
    "StopFailure": TURN_END,
    "SessionEnd": SESSION_END,
    "PreCompact": BEFORE_COMPACTION,
    "PostCompact": COMPACTION,
}
PLAIN_FORMAT = HookFormat(
    events={event: event for event in (SESSION_START, TURN_END, SESSION_END, BEFORE_COMPACTION, COMPACTION)},
    fields=_PLUGIN_FIELDS,
    event_fields=("event",),
)
_make_plugin_format = partial(HookFormat, fields=_PLUGIN_FIELDS, event_fields=("event",))
HOOK_FORMATS: Mapping[str, HookFormat] = {
    "claude-code": HookFormat(
        _CLAUDE_EVENTS, _IGNORED_EVENTS, continuing_reasons=frozenset({"resume"}), sub_agent_field="agent_id"
    ),
    "codex": HookFormat(
        events=_CLAUDE_EVENTS | {"Interrupt": TURN_END, "agent-turn-complete": TURN_END},
        ignored_events=_IGNORED_EVENTS,
        fields=_FIELDS | {"session_id": ("session_id", "thread-id")},
        event_fields=("hook_event_name", "type"),  # `type`: the older `notify` program
        sub_agent_field="agent_id",
    ),
    "gemini": HookFormat(
        events={"SessionStart": SESSION_START, "AfterAgent": TURN_END, "SessionEnd": SESSION_END},
        ignored_events={"PreCompress": NO_COMPACTION},  # it comes with every turn
    ),
    "qwen": HookFormat(_CLAUDE_EVENTS, _IGNORED_EVENTS, sub_agent_field="agent_id"),
    "cursor": HookFormat(
        events={
            "sessionStart": SESSION_START,
            "stop": TURN_END,
            "afterAgentResponse": TURN_END,
            "sessionEnd": SESSION_END,
            "preCompact": BEFORE_COMPACTION,
        },
        ignored_events={"subagentStart": SUB_AGENT, "subagentStop": SUB_AGENT},
        fields=_FIELDS
        | {"session_id": ("conversation_id", "session_id"), "cwd": ("cwd", "workspace_roots.0")}
        | {"reason": ("reason", "status")},
    ),
    "copilot": HookFormat(
        events={"sessionStart": SESSION_START, "agentStop": TURN_END, "sessionEnd": SESSION_END}
        | {"SessionStart": SESSION_START, "AgentStop": TURN_END, "Stop": TURN_END, "SessionEnd": SESSION_END}
        | {"preCompact": BEFORE_COMPACTION, "PreCompact": BEFORE_COMPACTION},
        ignored_events=_IGNORED_EVENTS | {"subagentStop": SUB_AGENT},
        fields={
            "session_id": ("sessionId", "session_id"),
            "transcript_path": ("transcriptPath", "transcript_path"),
            "cwd": ("cwd",),
            "reason": ("reason", "stopReason", "stop_reason", "source"),
            "trigger": ("trigger",),
        },
        # In camel case mode payloads have no event name; the order decides between shared fields.
        event_markers=(
            ("agentId", "subagentStop"),
            ("stopReason", "agentStop"),
            ("trigger", "preCompact"),
            ("reason", "sessionEnd"),
            ("source", "sessionStart"),
            ("prompt", "userPromptSubmitted"),
        ),
        sub_agent_field="agent_id",
    ),
    "opencode": _make_plugin_format(
        events={
            "session.created": SESSION_START,
            "session.idle": TURN_END,
            "session.error": TURN_END,
            "session.compacted": COMPACTION,
            "session.execution.succeeded": TURN_END,
            "session.execution.failed": TURN_END,
            "session.execution.interrupted": TURN_END,
            "dispose": SESSION_END,
        }
    ),
    "pi": _make_plugin_format(
        events={
            "session_start": SESSION_START,
            "turn_end": TURN_END,
            "agent_end": TURN_END,
            "session_before_compact": BEFORE_COMPACTION,
            "session_compact": COMPACTION,
            "session_shutdown": SESSION_END,
        },
        continuing_reasons=frozenset({"reload"}),
    ),
    "openclaw": _make_plugin_format(
        events={
            "session_start": SESSION_START,
            "agent_end": TURN_END,
            "before_compaction": BEFORE_COMPACTION,
            "after_compaction": COMPACTION,
            "session_end": SESSION_END,
        },
    ),
    "goose": HookFormat(
        events={"SessionStart": SESSION_START, "Stop": TURN_END, "SessionEnd": SESSION_END},
        fields=_FIELDS | {"cwd": ("cwd", "working_dir")},
        event_fields=("event",),
    ),
}
SHARED_HOOK_HARNESSES = frozenset({"claude-code", "codex", "gemini", "qwen", "cursor", "copilot"})
"""Harnesses with command hooks. Some run each other's, so a payload's content is checked for its real sender."""
