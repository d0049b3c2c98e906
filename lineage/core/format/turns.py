"""Turns of a session: their stable ids, the watermark of a capture, and what is new after it. (format: Captures)"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

USER = "user"
ASSISTANT = "assistant"
TOOL = "tool"
SYSTEM = "system"
ROLES = (USER, ASSISTANT, TOOL, SYSTEM)


class Turn(NamedTuple):
    """One visible record of a session.

    `at` is a canonical UTC time. `name` is the tool's, `input` its argument as one line; `source_id` is the id that the
    harness gave the record, None where it has none. `id` and `number` are filled in by `identified`.
    """

    role: str
    text: str
    at: str | None = None
    name: str = ""
    input: str = ""
    error: bool = False
    thinking: bool = False
    source_id: str | None = None
    id: str = ""
    number: int = 0


class Watermark(NamedTuple):
    """How far a capture reaches: so many turns of the session, the last one's id, and the sanitizer that was used."""

    turns: int
    last: str | None
    sanitizer: str

    def as_list(self) -> list[Any]:
        return [self.turns, self.last, self.sanitizer]

    @staticmethod
    def from_list(value: Sequence[Any]) -> "Watermark":
        turns, last, sanitizer = value
        return Watermark(int(turns), last, str(sanitizer))


def assign_ids(turns: Iterable[Turn], token: str) -> tuple[Turn, ...]:
    """The turns with number and id: 10 hex digits of the hash of the record's id or, where the harness has none, of
    session token, ordinal and (sanitized) text, so that such ids never match across sessions."""
    return tuple(iter_identified(turns, token))


def iter_identified(turns: Iterable[Turn], token: str) -> Iterator[Turn]:
    """`identified`, one turn after the other."""
    for number, turn in enumerate(turns, 1):
        yield Turn(*turn[:8], compute_turn_id(turn.source_id or f"{token}\n{number}\n{turn.text}"), number)


def renumber(turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns numbered from 1, their ids kept: some were taken out."""
    return (turn._replace(number=number) for number, turn in enumerate(turns, 1))


def compute_turn_id(seed: str) -> str:
    """
    >>> compute_turn_id("a record's id")
    't-aa7f78f239'
    """
    return "t-" + hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:10]


def find_first_new(
    turns: Sequence[Turn], watermark: Watermark | None, sanitizer: str, captured_ids: Callable[[], Sequence[str]]
) -> int:
    """The position of the first turn that no capture holds; `len(turns)` where nothing is new.

    What follows the last captured turn is new. Where that turn is gone (rewritten, rolled back, a shorter prefix), it
    is what follows the longest common prefix with `captured()`, the ids of all captured turns. Ids made from the text
    change with the sanitizer: then the count decides, for a new sanitizer alone makes nothing new.
    """
    if watermark is None or watermark.last is None:
        return 0
    for position in range(len(turns) - 1, -1, -1):
        if turns[position].id == watermark.last:
            return position + 1
    if watermark.sanitizer != sanitizer and turns and turns[0].source_id is None:
        return min(watermark.turns, len(turns))
    common = 0
    for turn, known in zip(turns, captured_ids(), strict=False):
        if turn.id != known:
            break
        common += 1
    return common
