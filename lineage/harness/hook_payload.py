"""What a hook's payload says, whatever the harness: which event, of which session, and where its transcript is.

Our own plugins and extensions send the plain form, `{"event": "session-end", "session_id": …}`, which every harness's
name may use; the other forms are those of `lineage.harness.hook_formats`. (harnesses.md 0.5)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage.core.base.identity import Identity
from lineage.core.base.times import from_epoch, to_utc_or_none
from lineage.errors import InvalidInput
from lineage.harness.hook_formats import (
    BEFORE_COMPACTION,
    COMPACTION,
    HOOK_FORMATS,
    OTHER,
    PLAIN_FORMAT,
    SESSION_END,
    SESSION_START,
    SHARED_HOOK_HARNESSES,
    SUB_AGENT,
    TURN_END,
    HookFormat,
)

__all__ = [
    "BEFORE_COMPACTION", "COMPACTION", "NO_EVENT", "NO_SESSION", "OTHER", "OTHER_HARNESS", "SESSION_END",
    "SESSION_START", "SUB_AGENT", "TURN_END", "HookPayload", "find_ignore_reason", "parse_hook_payload",
]  # fmt: skip

OTHER_HARNESS = "another harness's"
NO_EVENT = "no event"
NO_SESSION = "no session id"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPayload:
    """A hook's payload in plain words; what it does not name is None. `event` is one of the five constants.

    Texts are as the harness sent them: ids and paths are checked by `core.request`. `at` is canonical UTC. A COMPACTION
    without `summary` is one whose harness gives none; `transcript_path` is None for ephemeral sessions as well.
    """

    event: str
    session_id: str
    session_key: str | None = None
    lane: str | None = None
    parent_session: str | None = None
    transcript_path: str | None = None
    cwd: str | None = None
    reason: str | None = None
    trigger: str | None = None
    summary: str | None = None
    last_message: str | None = None
    at: str | None = None

    def identity(self, agent: str) -> Identity:
        """The session's identity, as `core.request` makes it of these ids."""
        key = f"{self.lane}#{self.session_id}" if self.lane else self.session_key
        return Identity(agent, self.session_id, key)


def parse_hook_payload(harness: str, payload: Mapping[str, Any]) -> HookPayload | None:
    """What a payload says to the hook of `harness`; None where it says nothing that concerns us. Never raises."""
    found = _parse(harness, payload)
    return found if isinstance(found, HookPayload) else None


def find_ignore_reason(harness: str, payload: Mapping[str, Any]) -> str | None:
    """Why `signal` gives None for this payload, to be counted; None where it gives a signal."""
    found = _parse(harness, payload)
    return None if isinstance(found, HookPayload) else found


def _parse(harness: str, payload: Mapping[str, Any]) -> HookPayload | str:
    plain = _first_text(payload, PLAIN_FORMAT.event_fields) in PLAIN_FORMAT.events
    if not plain and harness in SHARED_HOOK_HARNESSES and _is_foreign(harness, payload):
        return OTHER_HARNESS
    dialect = PLAIN_FORMAT if plain else HOOK_FORMATS.get(harness, PLAIN_FORMAT)
    name = _event_name(dialect, payload)
    if name is None:
        return NO_EVENT
    if dialect.sub_agent_field and payload.get(dialect.sub_agent_field):
        return SUB_AGENT
    if name in dialect.ignored_events:
        return dialect.ignored_events[name]
    return _build_payload(dialect, dialect.events.get(name, OTHER), payload)


def _event_name(hook_format: HookFormat, payload: Mapping[str, Any]) -> str | None:
    return _first_text(payload, hook_format.event_fields) or next(
        (name for mark, name in hook_format.event_markers if mark in payload), None
    )


def _build_payload(hook_format: HookFormat, event: str, payload: Mapping[str, Any]) -> HookPayload | str:
    texts = {key: _first_text(payload, names) for key, names in hook_format.fields.items() if key != "at"}
    session_id = texts.pop("session_id")
    if session_id is None:
        return NO_SESSION
    if event == SESSION_END and texts["reason"] in hook_format.continuing_reasons:
        event = TURN_END
    at = next((_parse_time(payload.get(name)) for name in hook_format.fields.get("at", ())), None)
    return HookPayload(event=event, session_id=session_id, at=at, **texts)


def _is_foreign(harness: str, payload: Mapping[str, Any]) -> bool:
    """Whether another harness sent it: Cursor and Copilot CLI run Claude Code's hook files too. (harnesses.md 0.5)"""
    caller = _detect_sender(payload)
    if caller is not None or harness != "claude-code":
        return caller not in (None, harness)
    name = _first_text(payload, ("hook_event_name",)) or ""
    return name[:1].islower() or ("timestamp" in payload and "transcript_path" not in payload)


def _detect_sender(payload: Mapping[str, Any]) -> str | None:
    """The harness that a payload is surely from, None where it could be several's."""
    path = _first_text(payload, ("transcript_path", "transcriptPath")) or ""
    name = path.replace("\\", "/").rpartition("/")[2]
    if "cursor_version" in payload or payload.keys() >= {"conversation_id", "generation_id"}:
        return "cursor"
    if name.startswith("rollout-") or payload.keys() >= {"turn_id", "model"}:
        return "codex"
    if name == "events.jsonl" or ("sessionId" in payload and "hook_event_name" not in payload):
        return "copilot"
    return None


def _first_text(payload: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of the named values that is a text with words."""
    for name in names:
        value: Any = payload
        for part in name.split("."):
            value = _descend(value, part)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _descend(value: Any, part: str) -> Any:
    if isinstance(value, list):
        return value[0] if part == "0" and value else None
    return value.get(part) if isinstance(value, Mapping) else None


def _parse_time(value: Any) -> str | None:
    """An ISO time, or milliseconds since the epoch, as canonical UTC; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return to_utc_or_none(value)
    try:
        return from_epoch(value / 1000)
    except (InvalidInput, OverflowError, ValueError, OSError):
        return None
