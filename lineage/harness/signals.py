"""What a hook's payload says, whatever the harness: which event, of which session, and where its transcript is.

Our own plugins and extensions send the plain form, `{"event": "session-end", "session_id": …}`, which every harness's
name may use; the other forms are those of `lineage.harness.dialects`. (harnesses.md 0.5)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage.core.identity import Identity
from lineage.core.times import from_epoch, utc_or_none
from lineage.errors import InvalidInput
from lineage.harness.dialects import (
    BEFORE_COMPACTION,
    COMPACTION,
    DIALECTS,
    OTHER,
    PLAIN,
    SESSION_END,
    SESSION_START,
    SHARE_HOOK_FILES,
    SUB_AGENT,
    TURN_END,
    Dialect,
)

__all__ = [
    "BEFORE_COMPACTION", "COMPACTION", "NO_EVENT", "NO_SESSION", "OTHER", "OTHER_HARNESS", "SESSION_END",
    "SESSION_START", "SUB_AGENT", "TURN_END", "Signal", "ignored", "signal",
]  # fmt: skip

OTHER_HARNESS = "another harness's"
NO_EVENT = "no event"
NO_SESSION = "no session id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
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


def signal(harness: str, payload: Mapping[str, Any]) -> Signal | None:
    """What a payload says to the hook of `harness`; None where it says nothing that concerns us. Never raises."""
    found = _read(harness, payload)
    return found if isinstance(found, Signal) else None


def ignored(harness: str, payload: Mapping[str, Any]) -> str | None:
    """Why `signal` gives None for this payload, to be counted; None where it gives a signal."""
    found = _read(harness, payload)
    return None if isinstance(found, Signal) else found


def _read(harness: str, payload: Mapping[str, Any]) -> Signal | str:
    plain = _text(payload, PLAIN.event) in PLAIN.events
    if not plain and harness in SHARE_HOOK_FILES and _is_foreign(harness, payload):
        return OTHER_HARNESS
    dialect = PLAIN if plain else DIALECTS.get(harness, PLAIN)
    name = _event_name(dialect, payload)
    if name is None:
        return NO_EVENT
    if dialect.sub_agent and payload.get(dialect.sub_agent):
        return SUB_AGENT
    if name in dialect.ignored:
        return dialect.ignored[name]
    return _signal(dialect, dialect.events.get(name, OTHER), payload)


def _event_name(dialect: Dialect, payload: Mapping[str, Any]) -> str | None:
    return _text(payload, dialect.event) or next((name for mark, name in dialect.marks if mark in payload), None)


def _signal(dialect: Dialect, event: str, payload: Mapping[str, Any]) -> Signal | str:
    texts = {key: _text(payload, names) for key, names in dialect.fields.items() if key != "at"}
    session_id = texts.pop("session_id")
    if session_id is None:
        return NO_SESSION
    if event == SESSION_END and texts["reason"] in dialect.goes_on:
        event = TURN_END
    at = next((_time(payload.get(name)) for name in dialect.fields.get("at", ())), None)
    return Signal(event=event, session_id=session_id, at=at, **texts)


def _is_foreign(harness: str, payload: Mapping[str, Any]) -> bool:
    """Whether another harness sent it: Cursor and Copilot CLI run Claude Code's hook files too. (harnesses.md 0.5)"""
    caller = _caller(payload)
    if caller is not None or harness != "claude-code":
        return caller not in (None, harness)
    name = _text(payload, ("hook_event_name",)) or ""
    return name[:1].islower() or ("timestamp" in payload and "transcript_path" not in payload)


def _caller(payload: Mapping[str, Any]) -> str | None:
    """The harness that a payload is surely from, None where it could be several's."""
    path = _text(payload, ("transcript_path", "transcriptPath")) or ""
    name = path.replace("\\", "/").rpartition("/")[2]
    if "cursor_version" in payload or payload.keys() >= {"conversation_id", "generation_id"}:
        return "cursor"
    if name.startswith("rollout-") or payload.keys() >= {"turn_id", "model"}:
        return "codex"
    if name == "events.jsonl" or ("sessionId" in payload and "hook_event_name" not in payload):
        return "copilot"
    return None


def _text(payload: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of the named values that is a text with words."""
    for name in names:
        value: Any = payload
        for part in name.split("."):
            value = _inner(value, part)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _inner(value: Any, part: str) -> Any:
    if isinstance(value, list):
        return value[0] if part == "0" and value else None
    return value.get(part) if isinstance(value, Mapping) else None


def _time(value: Any) -> str | None:
    """An ISO time, or milliseconds since the epoch, as canonical UTC; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return utc_or_none(value)
    try:
        return from_epoch(value / 1000)
    except (InvalidInput, OverflowError, ValueError, OSError):
        return None
