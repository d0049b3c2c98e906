"""Turns of a session, their stable ids, and the watermark of a capture (format: Captures)."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage.errors import InvalidInput

USER = "user"
ASSISTANT = "assistant"
TOOL = "tool"
SYSTEM = "system"
ROLES = (USER, ASSISTANT, TOOL, SYSTEM)
_RANGE = re.compile(r"([0-9]{1,8})(?:-([0-9]{1,8}))?")


# A named tuple: long sessions have tens of thousands of turns.
class Turn(NamedTuple):
    """One visible record of a session.

    `at` is a canonical UTC time. `name` is the tool's, `input` its argument as one line. `source_id` is the harness's
    id of the record, if it has one. `id` and `number` (from 1) come from `assign_ids`.
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


@dataclass(frozen=True, slots=True)
class Watermark:
    """The end of a capture: the number of turns, the last one's id, and the version of the sanitizer."""

    turns: int
    last: str | None
    sanitizer: str

    def as_list(self) -> list[Any]:
        """Return the watermark as a value of frontmatter."""
        return [self.turns, self.last, self.sanitizer]

    @staticmethod
    def from_list(value: Sequence[Any]) -> "Watermark":
        """Return the watermark of a value of frontmatter."""
        turns, last, sanitizer = value
        return Watermark(int(turns), last, str(sanitizer))


def assign_ids(turns: Iterable[Turn], token: str) -> Iterator[Turn]:
    """Yield turns with number and id: a hash of the harness's id, else one that never matches across sessions."""
    for number, turn in enumerate(turns, 1):
        turn_id = compute_turn_id(turn.source_id or f"{token}\n{number}\n{turn.text}")
        yield turn._replace(id=turn_id, number=number)


def renumber(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the turns numbered from 1 again, with their ids: some were taken out."""
    return (turn._replace(number=number) for number, turn in enumerate(turns, 1))


def compute_turn_id(seed: str) -> str:
    """Return a turn id: 10 hex digits of the hash of `seed`.

    >>> compute_turn_id("a record's id")
    't-aa7f78f239'
    """
    return "t-" + hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:10]


def find_first_new(
    turns: Sequence[Turn], watermark: Watermark | None, sanitizer: str, captured_ids: Callable[[], Sequence[str]]
) -> int:
    """Return the position of the first turn outside all captures; `len(turns)` if nothing is new.

    New turns follow the last captured turn. If that turn is gone (rewritten, rolled back, a shorter prefix), they
    follow the longest common prefix with `captured_ids()`, the ids of all captured turns.
    """
    if watermark is None or watermark.last is None:
        return 0
    for position in range(len(turns) - 1, -1, -1):
        if turns[position].id == watermark.last:
            return position + 1
    # Ids made from text change with the sanitizer. Then the count decides: a new sanitizer alone makes nothing new.
    is_other = watermark.sanitizer != sanitizer
    if is_other and turns and turns[0].source_id is None:
        return min(watermark.turns, len(turns))
    common = 0
    for turn, known in zip(turns, captured_ids(), strict=False):
        if turn.id != known and not (is_other and turn.source_id is None):
            break
        common += 1
    return common


def parse_turn_range(text: str) -> tuple[int, int]:
    """Return the first and the last number of `12-18`, or of `12`. Raises InvalidInput for any other text.

    >>> parse_turn_range("12-18"), parse_turn_range("7")
    ((12, 18), (7, 7))
    """
    match = _RANGE.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise InvalidInput(f"not a range of turns: {text[:40]!r}", hint="turns count from 1, for example 12-18")
    return first, last
