"""What a load consists of: sessions that can be told apart, and who ends which of them under which clock."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage.core.base.naming import derive_session_token
from lineage.core.base.times import shift_time
from lineage.core.capture.request import SESSION_END, Request, parse_request

NOON = "2026-11-20T12:00:00.000Z"
AGENT = "default"
_HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class Load:
    """So many processes with so many sessions each, every one of them ended `retries` times."""

    processes: int
    sessions: int
    retries: int

    @property
    def ids(self) -> list[str]:
        return [_id(owner, number) for owner in range(self.processes) for number in range(self.sessions)]


class End(NamedTuple):
    """One signal of a session's end, at the time that the process which gives it believes to have."""

    session_id: str
    now: str


def ends_of(load: Load, process: int) -> Iterator[End]:
    """The ends that a process signals: its own sessions and, with another clock, those of its next neighbours."""
    for number in range(load.sessions):
        for retry in range(load.retries):
            yield End(_id((process + retry) % load.processes, number), shift_time(NOON, milliseconds=_drift(retry)))


def request_of(end: End) -> Request:
    payload = {
        "harness": "generic",
        "session_id": end.session_id,
        "project": "/home/ada/demo",
        "transcript": transcript_of(end.session_id),
    }
    return parse_request(SESSION_END, payload, agent_id=AGENT, now=end.now)


def transcript_of(session_id: str) -> list[dict[str, Any]]:
    """Four turns whose texts and ids name the session."""
    return [
        {
            "role": "user" if number % 2 else "assistant",
            "text": text,
            "id": f"{session_id}-{number}",
            "at": f"2026-11-20T09:0{number}:00Z",
        }
        for number, text in enumerate(texts_of(session_id), 1)
    ]


def texts_of(session_id: str) -> list[str]:
    return [
        f"Please look at reader_{session_id}.py: its last line is lost.",
        f"The loop in reader_{session_id}.py ends one line early; I am changing that.",
        f"Does the test of {session_id} pass now?",
        f"Yes, all tests of {session_id} pass.",
    ]


def token_of(session_id: str) -> str:
    return derive_session_token(AGENT, session_id)


def _id(owner: int, number: int) -> str:
    return f"load-{owner:03}-{number:04}"


def _drift(retry: int) -> int:
    """0, +1, -1, +2, -2 … hours: clocks that run ahead, and clocks that lag."""
    return (retry + 1) // 2 * (1 if retry % 2 else -1) * _HOUR
