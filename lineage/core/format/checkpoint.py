"""Checkpoints: the last messages of a running session, sanitized, on this machine only, for its successor."""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from lineage.core.base.naming import TOKEN, is_agent_id
from lineage.core.base.times import shift_time, to_utc_or_none
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.errors import FormatError

VERSION = 1
MAX_MESSAGES = 50
MAX_CHARACTERS = 2000
MAX_AGE_DAYS = 7
MAX_PER_AGENT = 16

_TEXTS = ("agent_id", "session_id", "session_token", "harness", "saved_at")
_TIMES = ("saved_at", "offered_at", "used_at")


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a person or the agent. `role` is `user` or `assistant`, `at` a canonical UTC time."""

    role: str
    text: str
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint of a session. All times are canonical UTC.

    `saved_at` is the time of the last event of the session, `offered_at` that of the first context block with this
    checkpoint, `used_at` that of the first session with such a block. A used checkpoint has no messages.
    """

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
        """The title in context blocks. It is unique, so that a block with this text holds this checkpoint."""
        return f"Session {self.session_token} had not ended at {self.saved_at} ({self.harness})"

    def is_valid(self, now: str) -> bool:
        """Return whether it may be recovered: unused, with messages, and at most 7 days old."""
        return self.used_at is None and bool(self.messages) and not self.is_expired(now)

    def is_expired(self, now: str) -> bool:
        """Return whether it is more than 7 days old."""
        return self.saved_at < shift_time(now, days=-MAX_AGE_DAYS)

    def as_json(self) -> dict[str, Any]:
        """Return the checkpoint as a JSON object."""
        return asdict(self)


def select_last_messages(turns: Iterable[Turn]) -> list[Turn]:
    """Return the last 50 messages among the turns: what people typed and agents wrote, without thinking.

    >>> ([turn.text for turn in select_last_messages([Turn("user", "Go."), Turn("tool", "exit 0"), Turn("assistant",
    ... "")])])
    ['Go.']
    """
    spoken = (turn._replace(text=turn.said) for turn in turns if turn.role in (USER, ASSISTANT) and not turn.thinking)
    return list(deque((turn for turn in spoken if turn.text.strip()), MAX_MESSAGES))


def build_message(turn: Turn, text: str) -> Message:
    """Return the message of a turn with its sanitized text, cut to 2,000 characters."""
    return Message(turn.role, text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 2] + " …", turn.at)


def serialize_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Return the file of a checkpoint."""
    value = {"version": VERSION, **checkpoint.as_json()}
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def parse_checkpoint(data: bytes) -> Checkpoint:
    """Return the checkpoint in a file. Raises FormatError if it is torn, forged, or of another version."""
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


def _is_well_formed(checkpoint: Checkpoint) -> bool:
    times = [getattr(checkpoint, name) for name in _TIMES]
    return (
        all(isinstance(getattr(checkpoint, name), str) for name in _TEXTS)
        and isinstance(checkpoint.project, str | None)
        and is_agent_id(checkpoint.agent_id)
        and TOKEN.fullmatch(checkpoint.session_token) is not None
        and all(time is None or to_utc_or_none(time) == time for time in times)
        and len(checkpoint.messages) <= MAX_MESSAGES
        and all(map(_is_message, checkpoint.messages))
    )


def _is_message(message: Message) -> bool:
    return (
        message.role in (USER, ASSISTANT)
        and isinstance(message.text, str)
        and len(message.text) <= MAX_CHARACTERS
        and (message.at is None or to_utc_or_none(message.at) == message.at)
    )
