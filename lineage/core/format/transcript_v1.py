"""Transcripts of format 1, read for ever: a heading for each turn, its text in a fence (format: Bodies)."""

import re
from collections.abc import Iterable, Iterator

from lineage.core.base.fences import fence_text, parse_fence_opening
from lineage.core.base.links import escape_markdown, unescape_markdown
from lineage.core.format.body import Body, body_chunks
from lineage.core.format.turns import SYSTEM, TOOL, Turn, TurnText

# A heading ends in a block id, so that Obsidian can link to a turn: `[[…--transcript#^t-0123456789]]`.
_HEADING = re.compile(r"## (\d+) · (\w+) · (?:(\d{4}-\d\d-\d\d) )?(\S+) \^(t-[0-9a-f]{10})")
_MARK = re.compile(f"^(?:{_HEADING.pattern}|(~{{3,}})(.*))$", re.MULTILINE)
_HEADING_LINE = re.compile(f"^{_HEADING.pattern}$", re.MULTILINE)
_FIRST_TURN = re.compile(rf"^(?:{_HEADING.pattern}$|> \[!\w+\]-? |## \d+ · user · ).*", re.MULTILINE)
_CALL = re.compile(r"\*\*([^*]+)\*\*( \[error\])?(?: (.*))?")
_RENDERED_TURN = re.compile(
    r"\n## (\d+) · (\w+) · (?:\d{4}-\d\d-\d\d )?\S+ \^t-[0-9a-f]{10}\n"
    r"(?:\n\*\*([^*\n]+)\*\*(?: \[error\])?(?: (.*))?\n)?(?:\n(~{3,})(.*)\n)?"
)
"""The beginning of a turn as `render_chunks` writes it: heading, call and the first line of the fence."""
_UNKNOWN_TIME = "–"
_THINKING = "thinking"
_BUFFER_SIZE = 1 << 18  # characters

_Fenced = tuple[str, str, str]
"""The text above a fence, the text in it and its info string; without a fence the whole text, "" and ""."""
_Block = tuple[re.Match[str], str, str, str]
"""A turn: its heading, and the text below as `_Fenced`."""


def is_format_1(body: Body) -> bool:
    """Return whether the first turn of a body is one of format 1."""
    first = next(filter(None, map(_FIRST_TURN.search, body_chunks(body))), None)
    return first is not None and _HEADING_LINE.fullmatch(first[0]) is not None


def render_chunks(siblings: str, turns: Iterable[Turn]) -> Iterator[str]:
    """Yield a body of format 1 again, in chunks of whole lines: one that was redacted, or that a bundle brought."""
    yield f"{siblings}\n"
    day = ""
    for turn in turns:
        date = turn.at[:10] if turn.at else day
        time = _UNKNOWN_TIME
        if turn.at:
            time = f"{turn.at[11:19]}Z" if date == day else f"{date} {turn.at[11:19]}Z"
        yield f"\n## {turn.number} · {turn.role} · {time} ^{turn.id}{_render_content(turn)}\n"
        day = date


def _render_content(turn: Turn) -> str:
    call = ""
    if turn.name:
        error = " [error]" if turn.error else ""
        call = f"\n\n**{escape_markdown(turn.name)}**{error}"
        call += f" {escape_markdown(turn.input)}" if turn.input else ""
    info = _THINKING if turn.thinking else ""
    return call + (f"\n\n{fence_text(turn.text, info)}" if turn.text else "")


def iter_texts(body: Body) -> Iterator[TurnText]:
    """Yield the searchable texts of each turn: the speech, and a tool's name, input and result."""
    texts = _extract_texts_fast(body) if isinstance(body, str) else None
    if texts is not None:
        yield from texts
        return
    for heading, above, text, info in _iter_blocks(body):
        name, _, value = _parse_call(above)
        yield from _to_texts(int(heading[1]), heading[2], name, value, text, info)


def _to_texts(number: int, role: str, name: str, value: str, text: str, info: str) -> Iterator[TurnText]:
    result = text if role == TOOL else ""
    if name or result:
        yield TurnText(number, TOOL, " ".join(filter(None, (name, value, result))), value, role == TOOL)
    if text and not result:
        yield TurnText(number, SYSTEM if info == _THINKING else role, text)


def _extract_texts_fast(body: str) -> list[TurnText] | None:
    """Return the texts of a body exactly as `render_chunks` writes it, or None for any other body."""
    # One match for each turn instead of one for each heading and fence: three times as fast, in every reindex.
    position, texts = body.find("\n") + 1, list[TurnText]()
    while turn := _RENDERED_TURN.match(body, position):
        number, role, name, value, fence, info = turn.groups()
        position, text = turn.end(), ""
        if fence:
            end = body.find(f"\n{fence}\n", position - 1)
            if end < 0:
                return None
            text, position = body[position:end], end + len(fence) + 2
        name, value = unescape_markdown(name or ""), unescape_markdown(value or "")
        texts += _to_texts(int(number), role, name, value, text, info)
    return texts if position == len(body) and body.startswith("[[") else None


def iter_turns(body: Body) -> Iterator[Turn]:
    """Yield the turns of a body; of a streamed one, few are in memory at a time."""
    day = ""
    for heading, above, text, info in _iter_blocks(body):
        day = heading[3] or day
        at = None if heading[4] == _UNKNOWN_TIME else f"{day}T{heading[4][:-1]}.000Z"
        name, error, value = _parse_call(above)
        yield Turn(heading[2], text, at, name, value, error, info == _THINKING, None, heading[5], int(heading[1]))


def _iter_blocks(body: Body) -> Iterator[_Block]:
    return _parse_blocks(body) if isinstance(body, str) else _iter_streamed_blocks(body.chunks())


def _iter_streamed_blocks(chunks: Iterable[str]) -> Iterator[_Block]:
    text, limit = "", _BUFFER_SIZE
    for chunk in chunks:
        text += chunk
        if len(text) >= limit:
            # The last turn may go on in the next chunk. A limit of twice its length keeps long turns linear.
            blocks = list(_parse_blocks(text))
            yield from blocks[:-1]
            text = text[blocks[-1][0].start() :] if blocks else text
            limit = max(_BUFFER_SIZE, 2 * len(text))
    yield from _parse_blocks(text)


def _parse_blocks(body: str) -> Iterator[_Block]:
    # A heading within a fence is text. Of several fences below a heading the first is the turn's.
    heading: re.Match[str] | None = None
    fenced: _Fenced | None = None
    start = position = 0
    while mark := _MARK.search(body, position):
        position, fence = mark.end(), mark[6]
        if not fence:
            if heading:
                yield heading, *(fenced or (body[start : mark.start()], "", ""))
            heading, fenced, start = mark, None, position
        elif heading:
            end = _find_fence_end(body, fence, position)
            fenced = fenced or (body[start : mark.start()], body[position + 1 : end], mark[7])
            position = min(end + 1 + len(fence), len(body))
    if heading:
        yield heading, *(fenced or (body[start:], "", ""))


def _find_fence_end(body: str, fence: str, start: int) -> int:
    # An unclosed fence ends with the body.
    end = body.find(f"\n{fence}\n", start)
    if end < 0 and body.endswith(f"\n{fence}", start):
        end = len(body) - len(fence) - 1
    return end if end >= 0 else len(body)


def _parse_call(above: str) -> tuple[str, bool, str]:
    """Return the tool's name, whether it failed and its input, from the text above a fence."""
    result = ("", False, "")
    if "**" in above:
        for line in above.split("\n"):
            call = _CALL.fullmatch(line) if line.startswith("**") else None
            if call:
                result = unescape_markdown(call[1]), call[2] is not None, unescape_markdown(call[3] or "")
    return result


def find_line(text: str, number: int) -> int | None:
    """Return the line of a file, from 1, with the heading of a turn by number; None without it."""
    heading, fence = f"## {number} · ", ""
    for line_number, line in enumerate(text.split("\n"), 1):
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith(heading):
            return line_number
        else:
            opening = parse_fence_opening(line)
            fence = opening[0] if opening else ""
    return None
