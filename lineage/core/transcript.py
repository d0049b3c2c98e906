"""The transcript's body: one heading per turn, its text in a fence. Written and read here. (format: Bodies)"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lineage.core.fences import fenced, opening
from lineage.core.links import escaped, one_line, unescaped
from lineage.core.turns import TOOL, Turn

_HEADING = re.compile(r"## (\d+) · (\w+) · (?:(\d{4}-\d\d-\d\d) )?(\S+) \^(t-[0-9a-f]{10})")
_HEADING_LINE = re.compile(f"^{_HEADING.pattern}$", re.MULTILINE)
_CALL = re.compile(r"\*\*([^*]+)\*\*( \[error\])?(?: (.*))?")
_UNKNOWN_TIME = "–"


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
    parts = [siblings]
    day = ""
    for turn in turns:
        date = turn.at[:10] if turn.at else day
        parts.append(_heading(turn, with_date=date != day) + _content(turn))
        day = date
    return "\n\n".join(parts) + "\n"


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


def parsed(body: str) -> tuple[Turn, ...]:
    """The turns of a rendered body; times have the precision that the headings show (seconds)."""
    return tuple(_turns(body.split("\n")))


def turn_ids(body: str) -> list[str]:
    """The ids of the turns that a body holds, in order."""
    return [turn.id for turn in parsed(body)]


def first_number(body: str) -> int | None:
    """The number of the first turn that a body holds, None where it holds none."""
    found = _HEADING_LINE.search(body)
    return int(found[1]) if found else None


def _turns(lines: Sequence[str]) -> Iterator[Turn]:
    day, start, position = "", 0, 0
    heading: re.Match[str] | None = None
    while position < len(lines):
        line = lines[position]
        found = _HEADING.fullmatch(line) if line.startswith("## ") else None
        if found:
            if heading:
                yield _turn(heading, day, lines[start:position])
            heading, start, day = found, position + 1, found[3] or day
        elif heading and line.startswith("~~~") and (fence := opening(line)):
            position = _closing(lines, fence[0], position)
        position += 1
    if heading:
        yield _turn(heading, day, lines[start:])


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
