"""Capture requests: the checked payloads of `session-end` and `compaction`, in UTC (format: Commands)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from lineage.core.base.links import to_one_line
from lineage.core.base.naming import DEFAULT_AGENT, Identity, validate_agent_id, validate_id
from lineage.core.base.times import to_utc
from lineage.errors import InvalidInput

SESSION_END = "session-end"
COMPACTION = "compaction"

_TEXTS = ("harness", "transcript_path", "project", "cwd", "reason", "summary", "trigger", "lane")
_FLAGS = ("private", "data")
_KEYS = (
    *_TEXTS, *_FLAGS, "session_id", "session_key", "agent_id", "transcript", "started_at", "ended_at", "captured_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Request:
    """A checked payload in UTC: `transcript` is inline, `data` allows findings, `payload` is the raw one."""

    flow: str
    harness: str
    identity: Identity
    captured_at: str
    transcript_path: str | None = None
    transcript: Any = None
    project: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    reason: str | None = None
    summary: str | None = None
    trigger: str | None = None
    private: bool = False
    data: bool = False
    lane: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        # Without the payload: it may be raw text, and this ends up in error reports.
        return f"Request({self.flow}, {self.identity}, {self.captured_at})"

    @property
    def token(self) -> str:
        """The session's token."""
        return self.identity.token


def parse_request(flow: str, payload: Mapping[str, Any], *, agent_id: str | None, now: str) -> Request:
    """Return a checked request; `now` replaces a missing `captured_at`. Raises InvalidInput for bad values."""
    _reject_unknown_keys(payload)
    for key in _TEXTS:
        if not isinstance(payload.get(key), str | None):
            raise InvalidInput(f"{key} is not text")
    for key in _FLAGS:
        if not isinstance(payload.get(key, False), bool):
            raise InvalidInput(f"{key} is neither true nor false")
    if flow == COMPACTION and not (payload.get("summary") or "").strip():
        raise InvalidInput(
            "summary is missing", hint="give the compaction's summary with --summary, or `summary` on stdin"
        )
    return Request(
        flow=flow,
        harness=validate_id("harness", payload.get("harness")),
        identity=_parse_identity(payload, agent_id),
        captured_at=_parse_time(payload, "captured_at") or now,
        transcript_path=payload.get("transcript_path") or None,
        transcript=_check_transcript(flow, payload),
        project=to_one_line(payload.get("project") or payload.get("cwd") or "") or None,  # (format: Identity)
        started_at=_parse_time(payload, "started_at"),
        ended_at=_parse_time(payload, "ended_at"),
        reason=payload.get("reason"),
        summary=(payload.get("summary") or "").strip() or None,
        trigger=payload.get("trigger"),
        private=payload.get("private", False),
        data=payload.get("data", False),
        lane=payload.get("lane") or None,
        payload=dict(payload),
    )


def _reject_unknown_keys(payload: Mapping[str, Any]) -> None:
    for key in payload:
        if key not in _KEYS:
            close = get_close_matches(str(key), _KEYS, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(_KEYS)}"
            raise InvalidInput(f"unknown key {str(key)[:60]!r} in the payload", hint=hint)


def _parse_identity(payload: Mapping[str, Any], agent_id: str | None) -> Identity:
    agent = payload.get("agent_id") or agent_id or DEFAULT_AGENT
    session_id = validate_id("session_id", payload.get("session_id"))
    raw_key = payload.get("session_key")
    key = validate_id("session_key", raw_key) if raw_key else None
    lane = payload.get("lane") and validate_id("lane", payload["lane"])
    return Identity.in_lane(validate_agent_id(str(agent)), session_id, lane, key)


def _check_transcript(flow: str, payload: Mapping[str, Any]) -> Any:
    inline = payload.get("transcript")
    path = payload.get("transcript_path")
    if inline is not None and path:
        raise InvalidInput(
            "both transcript and transcript_path are given",
            hint="leave one of them out: `lineage session-end --help` shows what they take",
        )
    if inline is None and not path and flow == SESSION_END:
        raise InvalidInput("a transcript is missing", hint="give --transcript-path FILE, or `transcript` on stdin")
    return inline


def _parse_time(payload: Mapping[str, Any], key: str) -> str | None:
    value = payload.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{key} is not a time: {str(value)[:40]!r}", hint="give an ISO-8601 time with a zone")
    return to_utc(value)
