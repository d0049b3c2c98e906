"""The transcript's body: one heading per turn, its text in a fence. Written and read here. (format: Bodies)"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lineage.core.body import Body, LongText, pieces_of
from lineage.core.fences import fenced, opening
from lineage.core.links import escaped, one_line, unescaped
from lineage.core.turns import TOOL, Turn

_HEADING = re.compile(r"## (\d+) · (\w+) · (?:(\d{4}-\d\d-\d\d) )?(\S+) \^(t-[0-9a-f]{10})")
_HEADING_LINE = re.compile(f"^{_HEADING.pattern}$", re.MULTILINE)
_CALL = re.compile(r"\*\*([^*]+)\*\*( \[error\])?(?: (.*))?")
_UNKNOWN_TIME = "–"
_AT_ONCE = 1 << 12  # lines


@dataclass(frozen=True, slots=True)
class Limits:
    """What a transcript keeps of tools, in characters. People's and the agent's own words are never clipped."""

    result: int = 2000
    input: int = 400


def clipped(turn: Turn, limits: Limits) -> Turn:
    """The turn as the transcript keeps it: tool results cut in the middle with a note, tool input cut to one line."""
    text = _cut(turn.text, limits.result) if turn.role == TOOL else turn.text
    name = one_line(turn.name.replace("*", ""))
    return replace(
        turn,
        text=text.rstrip("\n"),
        name=name or ("tool" if turn.input.strip() or turn.error else ""),
        input=_line_cut(turn.input, limits.input),
    )


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit:,} characters left out …\n{text[len(text) - tail :]}"


def _line_cut(text: str, limit: int) -> str:
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def rendered(siblings: str, turns: Sequence[Turn]) -> str:
    """The body: the line of links to the siblings, then every turn. Dates show where the day changes."""
    return "".join(pieces(siblings, turns))


def body_of(siblings: str, turns: Sequence[Turn]) -> Body:
    """`rendered`; of turns that are not held, as a tuple is, a body that isn't held either."""
    return rendered(siblings, turns) if isinstance(turns, tuple) else LongText(lambda: pieces(siblings, turns))


def pieces(siblings: str, turns: Iterable[Turn]) -> Iterator[str]:
    """The body piece by piece, each of whole lines: the links, then every turn."""
    yield f"{siblings}\n"
    day = ""
    for turn in turns:
        date = turn.at[:10] if turn.at else day
        yield f"\n{_heading(turn, with_date=date != day)}{_content(turn)}\n"
        day = date


def _heading(turn: Turn, *, with_date: bool) -> str:
    time = _UNKNOWN_TIME
    if turn.at:
        time = (f"{turn.at[:10]} " if with_date else "") + f"{turn.at[11:19]}Z"
    return f"## {turn.number} · {turn.role} · {time} ^{turn.id}"


def _content(turn: Turn) -> str:
    call = ""
    if turn.name:
        call = (
            f"\n\n**{escaped(turn.name)}**"
            + (" [error]" if turn.error else "")
            + (f" {escaped(turn.input)}" if turn.input else "")
        )
    info = "thinking" if turn.thinking else ""
    return call + (f"\n\n{fenced(turn.text, info)}" if turn.text else "")


def parsed(body: Body) -> Sequence[Turn]:
    """The turns of a rendered body; times have the precision that the headings show (seconds). They are a tuple, or are
    read again each time where the body isn't held."""
    if isinstance(body, str):
        return tuple(turns_in(body))
    from lineage.core.sequences import Told  # noqa: PLC0415  (few bodies are that long)

    return Told(partial(turns_in, body))


def turns_in(body: Body) -> Iterator[Turn]:
    """`parsed`, one turn after the other: of a body that isn't held, few turns are at a time."""
    if isinstance(body, str):
        return (turn for _, _, turn in _turns(body.split("\n")))
    return _turns_in(body.pieces())


def _turns_in(pieces: Iterable[str]) -> Iterator[Turn]:
    """A turn is known when the next one begins: what is behind the last heading waits for what follows it."""
    lines: list[str] = []
    day, due = "", _AT_ONCE
    for piece in pieces:
        lines[-1:] = ((lines[-1] if lines else "") + piece).split("\n")
        if len(lines) < due:
            continue
        found = list(_turns(lines, day))
        yield from (turn for _, _, turn in found[:-1])
        if found:
            start, day, _ = found[-1]
            lines = lines[start:]
        due = max(_AT_ONCE, 2 * len(lines))
    yield from (turn for _, _, turn in _turns(lines, day))


def turn_ids(body: Body) -> list[str]:
    """The ids of the turns that a body holds, in order."""
    return [turn.id for turn in turns_in(body)]


def links_of(body: Body) -> str:
    """The line of links that a body begins with."""
    return next(filter(None, pieces_of(body)), "").partition("\n")[0]


def first_number(body: Body) -> int | None:
    """The number of the first turn that a body holds, None where it holds none."""
    found = next(filter(None, map(_HEADING_LINE.search, pieces_of(body))), None)
    return int(found[1]) if found else None


def _turns(lines: Sequence[str], day: str = "") -> Iterator[tuple[int, str, Turn]]:
    """Each turn with the line of its heading, and the day that a heading there goes by if it names none."""
    start, position, before = 0, 0, day
    heading: re.Match[str] | None = None
    while position < len(lines):
        line = lines[position]
        found = _HEADING.fullmatch(line) if line.startswith("## ") else None
        if found:
            if heading:
                yield start - 1, before, _turn(heading, day, lines[start:position])
            heading, start, before, day = found, position + 1, day, found[3] or day
        elif heading and line.startswith("~~~") and (fence := opening(line)):
            position = _closing(lines, fence[0], position)
        position += 1
    if heading:
        yield start - 1, before, _turn(heading, day, lines[start:])


def _closing(lines: Sequence[str], fence: str, position: int) -> int:
    """Where the fence that opens at a position is closed; behind the end where it is not."""
    try:
        return lines.index(fence, position + 1)
    except ValueError:
        return len(lines)


def _turn(heading: re.Match[str], day: str, block: Sequence[str]) -> Turn:
    name = value = text = ""
    error = thinking = False
    for index, line in enumerate(block):
        fence = opening(line)
        if fence:
            text = "\n".join(block[index + 1 : _closing(block, fence[0], index)])
            thinking = fence[1] == "thinking"
            break
        call = _CALL.fullmatch(line) if line.startswith("**") else None
        if call:
            name, error, value = unescaped(call[1]), call[2] is not None, unescaped(call[3] or "")
    at = None if heading[4] == _UNKNOWN_TIME else f"{day}T{heading[4][:-1]}.000Z"
    return Turn(heading[2], text, at, name, value, error, thinking, None, heading[5], int(heading[1]))


def line_of(text: str, number: int) -> int | None:
    """The line of a file, from 1, at which the turn of that number begins; None where it isn't there."""
    heading, fence = f"## {number} · ", ""
    for place, line in enumerate(text.split("\n"), 1):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith(heading):
            return place
        else:
            found = opening(line)
            fence = found[0] if found else ""
    return None
