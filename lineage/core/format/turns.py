"""Turns of a session, their stable ids, and the watermark of a capture (format: Captures)."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage.core.base.templates import strip_template
from lineage.errors import InvalidInput

USER = "user"
ASSISTANT = "assistant"
TOOL = "tool"
SYSTEM = "system"
ROLES = (USER, ASSISTANT, TOOL, SYSTEM)
SAID = "#said-"
"""In the `source_id` of turns that readers of format 1 didn't make of a record: no capture of theirs counts them."""
AT = "#at-"
"""Begins the `source_id` of a turn without a record's id, with its place among what earlier readers took for turns."""
NO_NEWLINE = "\\ No newline at end of file"
_RANGE = re.compile(r"([0-9]{1,8})(?:-([0-9]{1,8}))?")


class InputPart(NamedTuple):
    """A part of a tool call's input: a text in a language or, with `old`, the edit of `old` to `text`.

    `fingerprints` are those of the part's cut. (see `fingerprints.encode_fingerprints`)
    """

    text: str
    language: str = ""
    label: str = ""
    old: str | None = None
    fingerprints: str = ""

    def as_text(self) -> str:
        r"""Return the text, of an edit as the whole old text and then the whole new one, with signs.

        >>> InputPart("b\n", old="a").as_text()
        '-a\n\\ No newline at end of file\n+b'
        """
        return self.text if self.old is None else "\n".join((*_sign_lines("-", self.old), *_sign_lines("+", self.text)))


def _sign_lines(sign: str, text: str) -> Iterator[str]:
    if text:
        yield from (f"{sign}{line}" for line in text.removesuffix("\n").split("\n"))
        if not text.endswith("\n"):
            yield NO_NEWLINE


# A named tuple: long sessions have tens of thousands of turns.
class Turn(NamedTuple):
    """One visible record of a session.

    `at` is a canonical UTC time. `name` is the tool's, `input` the object of the call as one line, `parts` its whole
    input. `fingerprints` are those of what was cut out of `text`, `unclipped` is the text before the cut, known to the
    capturing run alone. `source_id` is the harness's id of the record, if it
    has one, `call_id` its id of a call, in the call and in its result. `id`, `number` (from 1) and `call`, the number
    of the call that a result answers, come from `assign_ids`, which forgets `call_id`.
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
    parts: tuple[InputPart, ...] = ()
    call: int = 0
    fingerprints: str = ""
    call_id: str = ""
    unclipped: str = ""

    @property
    def said(self) -> str:
        """Its text, of a person's turn what was typed: not what a program made of the prompt."""
        return strip_template(self.text) if self.role == USER else self.text

    def as_json(self) -> dict[str, object]:
        """Return the turn for a reader of JSON. `call` is null for a turn that answers none."""
        names = ("number", "id", "role", "at", "name", "input", "error", "thinking", "text")
        parts = [{name: getattr(part, name) for name in ("label", "language", "old", "text")} for part in self.parts]
        return {**{name: getattr(self, name) for name in names}, "call": self.call or None, "parts": parts}

    def count_chars(self) -> int:
        """Return the number of characters of text and input, for bounds on memory."""
        return (
            len(self.text)
            + len(self.unclipped)
            + len(self.input)
            + sum(len(part.text) + len(part.old or "") for part in self.parts)
        )


class TurnText(NamedTuple):
    """A searchable text of a turn. Its role is the speaker's; that of a tool's texts is `TOOL`.

    `target` is the object of a tool call as one line: the file that it edits, the command that it runs.
    `is_result` marks a tool's result, `fingerprints` are those of its cut.
    """

    number: int
    role: str
    text: str
    target: str = ""
    is_result: bool = False
    fingerprints: str = ""


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
    """Yield turns with number and id: a hash of the harness's id, else one that never matches across sessions.

    A result without a call's id answers the call directly before it, if that has its name.
    """
    calls = dict[str, int]()
    last: Turn | None = None
    ordinal = 0
    for number, turn in enumerate(turns, 1):
        source_id = turn.source_id or ""
        ordinal += SAID not in source_id
        if source_id.startswith(AT):
            ordinal, source_id = int(source_id.removeprefix(AT)), ""
        if not source_id or source_id.startswith(SAID):
            # Words that were newly found leave the ids of the turns behind them as they are.
            source_id = f"{token}\n{ordinal}{source_id}\n{turn.text.rstrip(chr(10))}"
        turn_id = compute_turn_id(source_id)
        call = 0
        if turn.role == TOOL:
            follows = last and last.role == ASSISTANT and last.name == turn.name != "" and not turn.call_id
            call = number - 1 if follows else calls.get(turn.call_id, 0)
        elif turn.name and turn.call_id:
            calls[turn.call_id] = number
        last = turn
        yield turn._replace(id=turn_id, number=number, call=call, call_id="")


def renumber(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the turns numbered from 1 again, with their ids: some were taken out."""
    calls = dict[int, int]()
    for number, turn in enumerate(turns, 1):
        if turn.role == ASSISTANT and turn.name:
            calls[turn.number] = number
        yield turn._replace(number=number, call=calls.get(turn.call, 0))


def count_format_1_turns(turns: Iterable[Turn]) -> int:
    """Return how many of these turns readers of format 1 made of the same records."""
    return sum(SAID not in (turn.source_id or "") for turn in turns)


def compute_turn_id(seed: str) -> str:
    """Return a turn id: 10 hex digits of the hash of `seed`.

    >>> compute_turn_id("a record's id")
    't-aa7f78f239'
    """
    return "t-" + hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:10]


def find_first_new(
    turns: Sequence[Turn], watermark: Watermark, *, is_same_reading: bool, captured_ids: Callable[[], Sequence[str]]
) -> int:
    """Return the position of the first turn outside all captures; `len(turns)` if nothing is new.

    New turns follow the last captured turn. If that turn is gone (rewritten, rolled back, a shorter prefix), they
    follow the last turn that any capture holds, as `captured_ids()` lists them. Ids made from text change with the
    sanitizer and the limits: if these were others at the capture (`is_same_reading` is False), the count decides.
    """
    if watermark.last is None:
        return 0
    for position in range(len(turns) - 1, -1, -1):
        if turns[position].id == watermark.last:
            return position + 1
    is_counted = not is_same_reading and not any((turn.source_id or "").startswith(AT) for turn in turns)
    if is_counted and turns and turns[0].source_id is None:
        return min(watermark.turns, len(turns))
    places = {turn_id: place for place, turn_id in enumerate(captured_ids(), 1)}
    first = next((number for number in range(len(turns), 0, -1) if turns[number - 1].id in places), 0)
    behind = len(places) - (places[turns[first - 1].id] if first else 0)
    while is_counted and behind and first < len(turns) and turns[first].source_id is None:
        first, behind = first + 1, behind - 1
    return first


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
