"""What a harness or a person asks for: the payload of `session-end` and `compaction`, checked at the door.

Times are converted to UTC here, ids are checked here; nothing further in looks at a raw payload. (format: Commands)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from lineage.core.base.identity import DEFAULT_AGENT, Identity, validate_agent_id, validate_id
from lineage.core.base.links import to_one_line
from lineage.core.base.times import to_utc
from lineage.errors import InvalidInput

SESSION_END = "session-end"
COMPACTION = "compaction"

_TEXTS = ("harness", "transcript_path", "project", "cwd", "reason", "summary", "trigger", "lane")
_FLAGS = ("private", "data")
_KEYS = (
    *_TEXTS, *_FLAGS, "session_id", "session_key", "agent_id", "transcript", "started_at", "ended_at", "captured_at",
)  # fmt: skip


class Request(NamedTuple):
    """A checked payload. `transcript` is an inline one (list of turns or text); `captured_at` is never missing;
    `data` says that the session has data attached: findings about it are welcome."""

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
    payload: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        """Nothing of what is in the payload: that may be raw text."""
        return f"Request({self.flow}, {self.identity}, {self.captured_at})"

    @property
    def token(self) -> str:
        return self.identity.token


def parse_request(flow: str, payload: Mapping[str, Any], *, agent_id: str | None, now: str) -> Request:
    """The request that a payload makes. `now` is taken where it names no `captured_at`.

    Raises InvalidInput for unknown keys, missing or malformed ids, texts of another type, naive or unparsable times.
    """
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
        project=_parse_project(payload),
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
            from difflib import get_close_matches  # noqa: PLC0415

            near = get_close_matches(str(key), _KEYS, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(_KEYS)}"
            raise InvalidInput(f"unknown key {str(key)[:60]!r} in the payload", hint=meant)


def _parse_identity(payload: Mapping[str, Any], agent_id: str | None) -> Identity:
    agent = payload.get("agent_id") or agent_id or DEFAULT_AGENT
    key = payload.get("session_key")
    session_id = validate_id("session_id", payload.get("session_id"))
    checked = validate_id("session_key", key) if key else None
    lane = payload.get("lane")
    if lane:
        checked = f"{validate_id('lane', lane)}#{session_id}"
    return Identity(validate_agent_id(str(agent)), session_id, checked)


def _check_transcript(flow: str, payload: Mapping[str, Any]) -> Any:
    inline = payload.get("transcript")
    path = payload.get("transcript_path")
    if inline is not None and path:
        raise InvalidInput("both transcript and transcript_path are given", hint="give one of them")
    if inline is None and not path and flow == SESSION_END:
        raise InvalidInput("a transcript is missing", hint="give --transcript-path FILE, or `transcript` on stdin")
    return inline


def _parse_project(payload: Mapping[str, Any]) -> str | None:
    """The project, else the working directory; None where neither is given. (format: Identity)"""
    return to_one_line(payload.get("project") or payload.get("cwd") or "") or None


def _parse_time(payload: Mapping[str, Any], key: str) -> str | None:
    value = payload.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{key} is not a time: {str(value)[:40]!r}", hint="give an ISO-8601 time with a zone")
    return to_utc(value)
