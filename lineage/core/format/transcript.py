"""The transcript's body: one heading per turn, its text in a fence. Written and read here. (format: Bodies)"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from lineage.core.base.fences import fence_text, parse_fence_opening
from lineage.core.base.links import escape_markdown, to_one_line, unescape_markdown
from lineage.core.format.body import Body, StreamedText, body_chunks
from lineage.core.format.turns import TOOL, Turn

_HEADING = re.compile(r"## (\d+) · (\w+) · (?:(\d{4}-\d\d-\d\d) )?(\S+) \^(t-[0-9a-f]{10})")
_MARK = re.compile(f"^(?:{_HEADING.pattern}|(~{{3,}})(.*))$", re.MULTILINE)
_HEADING_LINE = re.compile(f"^{_HEADING.pattern}$", re.MULTILINE)
_CALL = re.compile(r"\*\*([^*]+)\*\*( \[error\])?(?: (.*))?")
_RENDERED_TURN = re.compile(
    r"\n## (\d+) · \w+ · (?:\d{4}-\d\d-\d\d )?\S+ \^t-[0-9a-f]{10}\n"
    r"(?:\n\*\*([^*\n]+)\*\*(?: \[error\])?(?: (.*))?\n)?(?:\n(~{3,}).*\n)?"
)
"""The beginning of a turn as `pieces` writes it: heading, call and the line that opens the fence."""
_UNKNOWN_TIME = "–"
_BUFFER_SIZE = 1 << 18  # characters

Item = TypeVar("Item")

_Fenced = tuple[str, str, str]
"""What stands above a fence, the text in it and its info string; without a fence, all that there is."""
_Block = tuple[re.Match[str], str, str, str]
"""A turn: its heading, and what is below it as `_Fenced`."""


class ClipLimits(NamedTuple):
    """What a transcript keeps of tools, in characters. People's and the agent's own words are never clipped."""

    result: int = 2000
    input: int = 400


def clip_turn(turn: Turn, limits: ClipLimits) -> Turn:
    """The turn as the transcript keeps it: tool results cut in the middle with a note, tool input cut to one line."""
    text = _clip_middle(turn.text, limits.result) if turn.role == TOOL else turn.text
    name = to_one_line(turn.name.replace("*", ""))
    name = name or ("tool" if turn.input.strip() or turn.error else "")
    return Turn(turn.role, text.rstrip("\n"), turn.at, name, _clip_line(turn.input, limits.input), *turn[5:])


def _clip_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit:,} characters left out …\n{text[len(text) - tail :]}"


def _clip_line(text: str, limit: int) -> str:
    line = to_one_line(text)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def render_turns(siblings: str, turns: Sequence[Turn]) -> str:
    """The body: the line of links to the siblings, then every turn. Dates show where the day changes."""
    return "".join(render_chunks(siblings, turns))


def build_body(siblings: str, turns: Sequence[Turn]) -> Body:
    """`rendered`; of turns that are not held a body that isn't held either."""
    is_held = isinstance(turns, tuple | list)
    return render_turns(siblings, turns) if is_held else StreamedText(lambda: render_chunks(siblings, turns))


def render_chunks(siblings: str, turns: Iterable[Turn]) -> Iterator[str]:
    """The body piece by piece, each of whole lines: the links, then every turn."""
    yield f"{siblings}\n"
    day = ""
    for turn in turns:
        date = turn.at[:10] if turn.at else day
        yield f"\n{_render_heading(turn, with_date=date != day)}{_render_content(turn)}\n"
        day = date


def _render_heading(turn: Turn, *, with_date: bool) -> str:
    time = _UNKNOWN_TIME
    if turn.at:
        time = (f"{turn.at[:10]} " if with_date else "") + f"{turn.at[11:19]}Z"
    return f"## {turn.number} · {turn.role} · {time} ^{turn.id}"


def _render_content(turn: Turn) -> str:
    call = ""
    if turn.name:
        call = (
            f"\n\n**{escape_markdown(turn.name)}**"
            + (" [error]" if turn.error else "")
            + (f" {escape_markdown(turn.input)}" if turn.input else "")
        )
    info = "thinking" if turn.thinking else ""
    return call + (f"\n\n{fence_text(turn.text, info)}" if turn.text else "")


def parse_turns(body: Body) -> Sequence[Turn]:
    """The turns of a rendered body; times have the precision that the headings show (seconds). They are a tuple, or are
    read again each time where the body isn't held."""
    return tuple(iter_turns(body)) if isinstance(body, str) else _replayable(partial(iter_turns, body))


def extract_texts(body: Body) -> Sequence[tuple[int, str]]:
    """What each turn of a rendered body says, by its number: a tool's name and input, and the text."""
    if not isinstance(body, str):
        return _replayable(partial(_iter_texts, body))
    found = _extract_texts_fast(body)
    return list(_iter_texts(body)) if found is None else found


def turn_texts(turns: Iterable[Turn]) -> Sequence[tuple[int, str]]:
    """`said` of the body that these turns make, which need not be read for it."""
    return [(turn.number, _join(turn.name, turn.input, turn.text)) for turn in turns]


def _join(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _replayable(replay: Callable[[], Iterator[Item]]) -> Sequence[Item]:
    from lineage.core.base.sequences import Replayable  # noqa: PLC0415  (few bodies are that long)

    return Replayable(replay)


def _iter_texts(body: Body) -> Iterator[tuple[int, str]]:
    for heading, above, text, _ in _iter_blocks(body):
        name, _, value = _parse_call(above)
        yield int(heading[1]), _join(name, value, text)


def _extract_texts_fast(body: str) -> list[tuple[int, str]] | None:
    """What each turn says, of a body that is nothing but what `pieces` writes: a step for each turn, not for each mark.
    None of any other."""
    position, found = body.find("\n") + 1, []
    while turn := _RENDERED_TURN.match(body, position):
        number, name, value, fence = turn.groups()
        position, text = turn.end(), ""
        if fence:
            end = body.find(f"\n{fence}\n", position - 1)
            if end < 0:
                return None
            text, position = body[position:end], end + len(fence) + 2
        if name:
            text = " ".join(filter(None, (unescape_markdown(name), unescape_markdown(value or ""), text)))
        found.append((int(number), text))
    return found if position == len(body) and body.startswith("[[") else None


def iter_turns(body: Body) -> Iterator[Turn]:
    """`parsed`, one turn after the other: of a body that isn't held, few turns are at a time."""
    day = ""
    for heading, above, text, info in _iter_blocks(body):
        day = heading[3] or day
        at = None if heading[4] == _UNKNOWN_TIME else f"{day}T{heading[4][:-1]}.000Z"
        name, error, value = _parse_call(above)
        yield Turn(heading[2], text, at, name, value, error, info == "thinking", None, heading[5], int(heading[1]))


def extract_turn_ids(body: Body) -> list[str]:
    """The ids of the turns that a body holds, in order."""
    return [turn.id for turn in iter_turns(body)]


def extract_links(body: Body) -> str:
    """The line of links that a body begins with."""
    return next(filter(None, body_chunks(body)), "").partition("\n")[0]


def find_first_number(body: Body) -> int | None:
    """The number of the first turn that a body holds, None where it holds none."""
    found = next(filter(None, map(_HEADING_LINE.search, body_chunks(body))), None)
    return int(found[1]) if found else None


def _iter_blocks(body: Body) -> Iterator[_Block]:
    return _parse_blocks(body) if isinstance(body, str) else _iter_streamed_blocks(body.chunks())


def _iter_streamed_blocks(chunks: Iterable[str]) -> Iterator[_Block]:
    """A turn is known when the next one begins: what is behind the last heading waits for what follows it."""
    text, due = "", _BUFFER_SIZE
    for piece in chunks:
        text += piece
        if len(text) >= due:
            found = list(_parse_blocks(text))
            yield from found[:-1]
            text = text[found[-1][0].start() :] if found else text
            due = max(_BUFFER_SIZE, 2 * len(text))
    yield from _parse_blocks(text)


def _parse_blocks(body: str) -> Iterator[_Block]:
    """Every turn. What stands in a fence is no heading; of several fences the first is the turn's."""
    heading: re.Match[str] | None = None
    own: _Fenced | None = None
    start = position = 0
    while mark := _MARK.search(body, position):
        position, fence = mark.end(), mark[6]
        if not fence:
            if heading:
                yield heading, *(own or (body[start : mark.start()], "", ""))
            heading, own, start = mark, None, position
        elif heading:
            end = _find_fence_end(body, fence, position)
            own = own or (body[start : mark.start()], body[position + 1 : end], mark[7])
            position = min(end + 1 + len(fence), len(body))
    if heading:
        yield heading, *(own or (body[start:], "", ""))


def _find_fence_end(body: str, fence: str, start: int) -> int:
    """Where the text of a fence ends whose first line ends at `start`: with the body where it is not closed."""
    end = body.find(f"\n{fence}\n", start)
    if end < 0 and body.endswith(f"\n{fence}", start):
        end = len(body) - len(fence) - 1
    return end if end >= 0 else len(body)


def _parse_call(above: str) -> tuple[str, bool, str]:
    """The tool's name, whether it failed and its input, from what stands above the fence."""
    found = ("", False, "")
    if "**" in above:
        for line in above.split("\n"):
            call = _CALL.fullmatch(line) if line.startswith("**") else None
            if call:
                found = unescape_markdown(call[1]), call[2] is not None, unescape_markdown(call[3] or "")
    return found


def find_line(text: str, number: int) -> int | None:
    """The line of a file, from 1, at which the turn of that number begins; None where it isn't there."""
    heading, fence = f"## {number} · ", ""
    for place, line in enumerate(text.split("\n"), 1):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith(heading):
            return place
        else:
            found = parse_fence_opening(line)
            fence = found[0] if found else ""
    return None
