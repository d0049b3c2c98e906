"""Parsing a hook's payload, for any harness: its event, its session, and its transcript.

Our own plugins and extensions send the plain form, `{"event": "session-end", "session_id": …}`, under any harness's
name. The other forms are those of the registry. (harnesses.md 0.5)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage.core.base.hook_protocol import COMPACTED
from lineage.core.base.naming import Identity
from lineage.harness import spec as formats
from lineage.harness.adapters import ADAPTERS, SpecView
from lineage.harness.registry import PLAIN_FORMAT

HOOK_FORMATS: Mapping[str, formats.HookFormat] = SpecView(lambda spec: spec.hooks)

OTHER_HARNESS = "another harness's"
NO_EVENT = "no event"
NO_SESSION = "no session id"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPayload:
    """A hook's payload in plain words. A missing field is None; `event` is a constant of `spec`.

    Texts are as the harness sent them: `core.capture.request` checks ids and paths. A COMPACTION without `summary` is
    one of a harness that gives none. `transcript_path` is None for ephemeral sessions too.
    """

    event: str
    session_id: str
    session_key: str | None = None
    lane: str | None = None
    transcript_path: str | None = None
    cwd: str | None = None
    reason: str | None = None
    trigger: str | None = None
    summary: str | None = None

    def identity(self, agent: str) -> Identity:
        """Return the session's identity, as `core.capture.request` derives it from these ids."""
        return Identity.in_lane(agent, self.session_id, self.lane, self.session_key)


def parse_hook_payload(harness: str, payload: Mapping[str, Any]) -> HookPayload | None:
    """Return a payload's content for the hook of `harness`, None for a payload of no concern. Never raises."""
    result = _parse(harness, payload)
    return result if isinstance(result, HookPayload) else None


def find_ignore_reason(harness: str, payload: Mapping[str, Any]) -> str | None:
    """Return the reason why `parse_hook_payload` gives None, for the counters; None for a payload that it parses."""
    result = _parse(harness, payload)
    return None if isinstance(result, HookPayload) else result


def _parse(harness: str, payload: Mapping[str, Any]) -> HookPayload | str:
    """Return the payload, or the reason to ignore it."""
    is_plain = _first_text(payload, PLAIN_FORMAT.event_fields) in PLAIN_FORMAT.events
    own = HOOK_FORMATS.get(harness)
    if not is_plain and own and own.is_shared and _is_foreign(harness, payload):
        return OTHER_HARNESS
    hook_format = PLAIN_FORMAT if is_plain or own is None else own
    marked = (name for marker, name in hook_format.event_markers if marker in payload)
    name = _first_text(payload, hook_format.event_fields) or next(marked, None)
    if name is None:
        return NO_EVENT
    if hook_format.sub_agent_field and payload.get(hook_format.sub_agent_field):
        return formats.SUB_AGENT
    if name in hook_format.ignored_events:
        return hook_format.ignored_events[name]
    result = _build_payload(hook_format, hook_format.events.get(name, formats.OTHER), payload)
    if isinstance(result, HookPayload) and result.summary:  # as the transcript's own record of it is read
        unwrap = getattr(ADAPTERS.get(harness), "unwrap_summary", str)
        return replace(result, summary=unwrap(result.summary) or result.summary)
    return result


def _build_payload(hook_format: formats.HookFormat, event: str, payload: Mapping[str, Any]) -> HookPayload | str:
    texts = {key: _first_text(payload, names) for key, names in hook_format.fields.items()}
    session_id = texts.pop("session_id")
    if session_id is None:
        return NO_SESSION
    # A session end before a resume or a reload is only a pause.
    if event == formats.SESSION_END and texts["reason"] in hook_format.continuing_reasons:
        event = formats.TURN_END
    # After a compaction the session goes on: it began before.
    if event == formats.SESSION_START and texts["reason"] == COMPACTED:
        event = formats.OTHER
    return HookPayload(event=event, session_id=session_id, **texts)


def _is_foreign(harness: str, payload: Mapping[str, Any]) -> bool:
    """Return whether another harness sent it: Cursor and Copilot CLI run Claude Code's files. (harnesses.md 0.5)."""
    sender = _detect_sender(payload)
    if sender is not None or harness != "claude-code":
        return sender not in (None, harness)
    name = _first_text(payload, ("hook_event_name",)) or ""
    return name[:1].islower() or ("timestamp" in payload and "transcript_path" not in payload)


def _detect_sender(payload: Mapping[str, Any]) -> str | None:
    """Return the harness that a payload is surely from, None if it could be from several."""
    path = _first_text(payload, ("transcript_path", "transcriptPath")) or ""
    name = path.replace("\\", "/").rpartition("/")[2]
    # fields first: a harness that runs another's hooks may name a transcript of that one's
    for harness, hook_format in HOOK_FORMATS.items():
        if any(_has_fields(payload, fields) for fields in hook_format.senders):
            return harness
    return next(
        (harness for harness, one in HOOK_FORMATS.items() if one.transcripts and name.startswith(one.transcripts)), None
    )


def _has_fields(payload: Mapping[str, Any], fields: tuple[str, ...]) -> bool:
    return all((field[1:] not in payload) if field[0] == "!" else field in payload for field in fields)


def _first_text(payload: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first of the named values that is a text with words."""
    for name in names:
        value: Any = payload
        for part in name.split("."):
            if isinstance(value, list):
                value = value[0] if part == "0" and value else None
            else:
                value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str) and value.strip():
            return value
    return None
