"""The transcript's body: one heading per turn, its text in a fence. Written and read here. (format: Bodies)"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lineage.core.fences import fenced, opening
from lineage.core.links import escaped, one_line, unescaped
from lineage.core.turns import TOOL, Turn

_HEADING = re.compile(r"## (\d+) · (\w+) · (?:(\d{4}-\d\d-\d\d) )?(\S+) \^(t-[0-9a-f]{10})")
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
    return tuple(_turns(iter(body.split("\n"))))


def turn_ids(body: str) -> list[str]:
    """The ids of the turns that a body holds, in order."""
    return [turn.id for turn in parsed(body)]


def _turns(lines: Iterator[str]) -> Iterator[Turn]:
    day = ""
    heading: re.Match[str] | None = None
    block: list[str] = []
    for line in lines:
        found = _HEADING.fullmatch(line)
        if found:
            if heading:
                yield _turn(heading, day, block)
            heading, block = found, []
            day = found[3] or day
        elif heading:
            block.append(line)
            fence = opening(line)
            if fence:
                block.extend(_until(lines, fence[0]))
    if heading:
        yield _turn(heading, day, block)


def _until(lines: Iterable[str], fence: str) -> Iterator[str]:
    for line in lines:
        yield line
        if line == fence:
            return


def _turn(heading: re.Match[str], day: str, block: Sequence[str]) -> Turn:
    name = value = text = ""
    error = thinking = False
    for index, line in enumerate(block):
        fence = opening(line)
        if fence:
            text, thinking = "\n".join(_inside(block[index + 1 :], fence[0])), fence[1] == "thinking"
            break
        call = _CALL.fullmatch(line)
        if call:
            name, error, value = unescaped(call[1]), call[2] is not None, unescaped(call[3] or "")
    at = None if heading[4] == _UNKNOWN_TIME else f"{day}T{heading[4][:-1]}.000Z"
    return Turn(heading[2], text, at, name, value, error, thinking, None, heading[5], int(heading[1]))


def _inside(lines: Iterable[str], fence: str) -> Iterator[str]:
    for line in lines:
        if line == fence:
            return
        yield line
