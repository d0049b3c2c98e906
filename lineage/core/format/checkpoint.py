"""A checkpoint: the last messages of a session that goes on, for the one after it should it be interrupted.

Sanitized text of people and agents alone; it lies on this machine only.
"""

import json
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from lineage.core.base.identity import TOKEN, is_agent_id
from lineage.core.base.times import shift_time, to_utc_or_none
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.errors import FormatError

VERSION = 1
MAX_MESSAGES = 50
MAX_CHARACTERS = 2000
MAX_AGE_DAYS = 7
MAX_PER_AGENT = 16

_TIMES = ("saved_at", "offered_at", "used_at")


class Message(NamedTuple):
    """What a person or the agent said. `role` is `user` or `assistant`, `at` a canonical UTC time."""

    role: str
    text: str
    at: str | None = None


class Checkpoint(NamedTuple):
    """`saved_at` is when the harness last told of the session, `offered_at` since when prepared blocks hold it,
    `used_at` when a session began with such a block; then the messages are gone. Canonical UTC times."""

    agent_id: str
    session_id: str
    session_token: str
    harness: str
    project: str | None
    saved_at: str
    messages: tuple[Message, ...]
    offered_at: str | None = None
    used_at: str | None = None

    @property
    def title(self) -> str:
        """What a context block calls it, unlike every other checkpoint's: a block that says this holds it."""
        return f"Session {self.session_token} had not ended at {self.saved_at} ({self.harness})"

    def is_valid(self, now: str) -> bool:
        """Whether it may be recovered: not used, with messages, and at most 7 days old."""
        return self.used_at is None and bool(self.messages) and not self.is_expired(now)

    def is_expired(self, now: str) -> bool:
        """Whether it is more than 7 days old."""
        return self.saved_at < shift_time(now, days=-MAX_AGE_DAYS)

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "messages": [message._asdict() for message in self.messages]}


def select_last_messages(turns: Iterable[Turn]) -> list[Turn]:
    """The last 50 turns in which a person or the agent said something. Thinking and what tools say is no message.

    >>> ([turn.text for turn in select_last_messages([Turn("user", "Go."), Turn("tool", "exit 0"), Turn("assistant",
    ... "")])])
    ['Go.']
    """
    said = (turn for turn in turns if turn.role in (USER, ASSISTANT) and turn.text.strip() and not turn.thinking)
    return list(deque(said, MAX_MESSAGES))


def build_message(turn: Turn, text: str) -> Message:
    """What a turn says, in its sanitized text, cut to 2,000 characters."""
    return Message(turn.role, text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 2] + " …", turn.at)


def serialize_checkpoint(checkpoint: Checkpoint) -> bytes:
    value = {"version": VERSION, **checkpoint.as_json()}
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def parse_checkpoint(data: bytes) -> Checkpoint:
    """The checkpoint that a file holds. Raises FormatError for anything else: torn, forged, or of another version."""
    try:
        value: dict[str, Any] = json.loads(data)
        if value.pop("version") != VERSION:
            raise FormatError("a checkpoint of another version", hint="upgrade lineage")
        messages = tuple(Message(**message) for message in value.pop("messages"))
        checkpoint = Checkpoint(**value, messages=messages)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError("not a checkpoint", hint="it is ignored; delete it") from error
    if not _is_well_formed(checkpoint):
        raise FormatError("not a checkpoint of ours", hint="it is ignored; delete it")
    return checkpoint


def _is_well_formed(found: Checkpoint) -> bool:
    texts = (found.agent_id, found.session_id, found.session_token, found.harness, found.saved_at)
    times = [getattr(found, name) for name in _TIMES]
    return (
        all(isinstance(text, str) for text in texts)
        and isinstance(found.project, str | None)
        and is_agent_id(found.agent_id)
        and TOKEN.fullmatch(found.session_token) is not None
        and all(time is None or (isinstance(time, str) and to_utc_or_none(time) == time) for time in times)
        and len(found.messages) <= MAX_MESSAGES
        and all(map(_is_message, found.messages))
    )


def _is_message(found: Message) -> bool:
    said = found.role in (USER, ASSISTANT) and isinstance(found.text, str) and len(found.text) <= MAX_CHARACTERS
    return said and (found.at is None or (isinstance(found.at, str) and to_utc_or_none(found.at) == found.at))
