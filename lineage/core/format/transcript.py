"""The body of a transcript, rendered and parsed: callouts by speaker (format: Bodies, transcript format 2).

A blank line ends every block, since each line of a callout begins with `>`. So whatever a turn says, it can't end its
own block or begin another.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from lineage.core.base.fences import fence_text, parse_fence_opening
from lineage.core.base.links import to_one_line
from lineage.core.base.markdown import escape_code, escape_line, escape_prose, restore_invisible, restore_prose
from lineage.core.base.sequences import Replayable
from lineage.core.format import transcript_v1
from lineage.core.format.body import Body, StreamedText, body_chunks
from lineage.core.format.turns import ASSISTANT, NO_NEWLINE, SYSTEM, TOOL, USER, InputPart, Turn, TurnText

_UNKNOWN_TIME = "–"
_SEPARATOR = " · "
_TYPE_OF = {USER: "user", ASSISTANT: "agent", TOOL: "result", SYSTEM: "system"}
_ROLE_OF = {name: role for role, name in _TYPE_OF.items()}
_CALL = "tool"
_FOLDED = frozenset({_CALL, "result"})
_THINKING, _ERROR = "thinking", "error"
_MAX_TITLE_CHARS = 60

_TIME = r"((?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\dZ|–)"
_REQUEST = re.compile(rf"## (\d+) · user · {_TIME}(?: · .*)?")
_HEAD = re.compile(r"> \[!(user|agent|tool|result|system)\]-?(?: (.*))?")
_SPEECH = re.compile(rf"> \[!(?:(user)\]|(agent|system)\] (\d+) · {_TIME})\n")
_NUMBER = re.compile(rf"(\d+) · {_TIME}(?: · (.*))?")
_ID = re.compile(r"\^(t-[0-9a-f]{10})")
_RESULT = re.compile(rf"\*\*(\d+) · (result|{_ERROR}) · {_TIME} · (t-[0-9a-f]{{10}})\*\*")
_OWN_TEXT = {ASSISTANT: "**text**", TOOL: "**result**"}
_LABEL = re.compile(r"\*\*(.*):\*\*")
_FINGERPRINTS = re.compile(r"%%fingerprints ([A-Za-z0-9+/=]+)%%")
_COUNTS = re.compile(r"\+\d+ −\d+")
_ANSWERS = re.compile(r"of (\d+)")
_FIELD_WORD = re.compile(rf"(?:{_THINKING}|{_ERROR}|of \d+|\+\d+ −\d+)")
_REDACTED = re.compile(r"\[REDACTED:[^\]]*\]?")
_EDIT = "diff edit"


def render_turns(siblings: str, turns: Sequence[Turn]) -> str:
    """Return the body: the line of links to the siblings, then every turn."""
    return "".join(render_chunks(siblings, turns))


def rerender_turns(body: Body, turns: Sequence[Turn]) -> str:
    """Return a body with other turns in the format of `body`, and with its links."""
    render = transcript_v1.render_chunks if transcript_v1.is_format_1(body) else render_chunks
    return "".join(render(extract_links(body), turns))


def build_body(siblings: str, turns: Sequence[Turn]) -> Body:
    """Return the body of turns, a streamed one if the turns are streamed."""
    if isinstance(turns, tuple | list):
        return render_turns(siblings, turns)
    return StreamedText(lambda: render_chunks(siblings, turns))


def render_chunks(siblings: str, turns: Iterable[Turn]) -> Iterator[str]:
    """Yield the body in chunks of whole lines. A turn shows its date if the day is another than before."""
    yield f"{siblings}\n"
    day, block = "", ""
    first: Turn | None = None
    is_answered = False
    for turn in turns:
        time, day = _render_time(turn.at, day)
        if first and not is_answered and _is_answer(turn, first):
            block += _quote(f"**{turn.number} · {_ERROR if turn.error else 'result'} · {time} · {turn.id}**")
            block += _render_fence(turn.text, "", turn.fingerprints) if turn.text else ""
            is_answered = True
            continue
        if first:
            yield f"{block}\n^{first.id}\n"
        block, first, is_answered = _render_turn(turn, time), turn, False
    if first:
        yield f"{block}\n^{first.id}\n"


def _is_answer(turn: Turn, call: Turn) -> bool:
    """Return whether a turn is nothing but the result of the call before it."""
    return (turn.role, turn.name, turn.call, call.role) == (TOOL, call.name, call.number, ASSISTANT) and not (
        turn.input or turn.parts or turn.thinking or call.text
    )


def _render_time(at: str | None, day: str) -> tuple[str, str]:
    if not at:
        return _UNKNOWN_TIME, day
    date, time = at[:10], f"{at[11:19]}Z"
    return (time if date == day else f"{date} {time}"), date


def _render_turn(turn: Turn, time: str) -> str:
    """Return the block of a turn, without its id."""
    kind = _TYPE_OF[turn.role]
    if turn.name and (turn.role == ASSISTANT or (turn.role == TOOL and (turn.parts or not turn.call))):
        kind = _CALL
    heading, fields = "", list(_list_fields(turn))
    if turn.role == USER:
        heading = f"\n## {turn.number} · user · {time}{_render_first_words(turn.text)}\n"
    else:
        fields = [str(turn.number), time, *fields]
    fold = "-" if kind in _FOLDED or turn.thinking else ""
    head = f"> [!{kind}]{fold} {_SEPARATOR.join(fields)}".rstrip(" ")
    content = "".join(map(_render_part, turn.parts))
    if kind == _CALL and (turn.text or turn.role == TOOL):
        content += _quote(_OWN_TEXT[turn.role])
    if kind in _FOLDED:
        content += _render_fence(turn.text, "", turn.fingerprints) if turn.text else ""
    elif turn.text:
        content += _quote(escape_prose(turn.text))
    return f"{heading}\n{head}\n{content}"


def _render_first_words(text: str) -> str:
    # The marks of redactions are counted in a file: each stands there once.
    words = _REDACTED.sub("…", to_one_line(text[: 4 * _MAX_TITLE_CHARS]))
    if len(words) > _MAX_TITLE_CHARS:
        words = words[:_MAX_TITLE_CHARS].rpartition(" ")[0] or words[:_MAX_TITLE_CHARS]
        words += "…"
    return f"{_SEPARATOR}{escape_line(words)}" if words else ""


def _list_fields(turn: Turn) -> Iterator[str]:
    if turn.thinking:
        yield _THINKING
    if turn.error:
        yield _ERROR
    if turn.call:
        yield f"of {turn.call}"
    if turn.name:
        yield _escape_field(turn.name)
    if turn.input:
        yield _escape_field(turn.input)
    edits = [part for part in turn.parts if part.old is not None]
    if edits:
        yield f"+{sum(_count_lines(p.text) for p in edits)} −{sum(_count_lines(p.old or '') for p in edits)}"


def _count_lines(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def _escape_field(text: str) -> str:
    line = escape_line(text).replace("·", "⟦U+00B7⟧")
    # A name that reads like another field.
    return f"⟦U+{ord(line[0]):04X}⟧{line[1:]}" if _FIELD_WORD.fullmatch(line) else line


def _render_part(part: InputPart) -> str:
    label = _quote(f"**{escape_line(part.label)}:**") if part.label else ""
    return label + _render_fence(part.as_text(), part.language if part.old is None else _EDIT, part.fingerprints)


def _render_fence(text: str, info: str, fingerprints: str) -> str:
    comment = f"\n%%fingerprints {fingerprints}%%" if fingerprints else ""
    return _quote(fence_text(escape_code(text), info) + comment)


def _quote(text: str) -> str:
    # No line ends in a blank: those of texts are escaped.
    return f"> {text}\n".replace("\n", "\n> ").replace("> \n", ">\n")[:-2]


def parse_turns(body: Body) -> Sequence[Turn]:
    """Return the turns of a rendered body, with times to the second. Those of a streamed body are read on iteration."""
    return tuple(iter_turns(body)) if isinstance(body, str) else Replayable(partial(iter_turns, body))


def extract_texts(body: Body) -> Sequence[TurnText]:
    """Return the searchable texts of a body's turns: the speech, and a tool's name, input and result."""
    iter_texts = transcript_v1.iter_texts if transcript_v1.is_format_1(body) else _iter_texts
    return list(iter_texts(body)) if isinstance(body, str) else Replayable(partial(iter_texts, body))


def turn_texts(turns: Iterable[Turn]) -> Sequence[TurnText]:
    """Return the result of `extract_texts` for the body of these turns, without reading it."""
    return list(chain.from_iterable(map(_to_texts, turns)))


def _to_texts(turn: Turn) -> Iterator[TurnText]:
    result = turn.text if turn.role == TOOL else ""
    if turn.name or turn.parts or result:
        parts = [text for part in turn.parts for text in (part.label, part.old, part.text)]
        # A command is the call's object, too.
        line = "" if any(part and turn.input in part for part in parts) else turn.input
        text = " ".join(filter(None, (turn.name, line, *parts, result)))
        yield TurnText(turn.number, TOOL, text, turn.input, turn.role == TOOL, turn.fingerprints)
    if turn.text and not result:
        yield TurnText(turn.number, SYSTEM if turn.thinking else turn.role, turn.text)


def _iter_texts(body: Body) -> Iterator[TurnText]:
    """Yield the texts of a body. Most turns only say something: reading no more of them saves half of the time."""
    request = ""
    for block in _iter_blocks(body):
        if block.startswith("## "):
            heading = _REQUEST.fullmatch(block)
            request = f"{heading[1]}{_SEPARATOR}{heading[2]}" if heading else request
        elif speech := _SPEECH.match(block):
            number, role = (request.partition(" ")[0], USER) if speech[1] else (speech[3], _ROLE_OF[speech[2]])
            if number:
                lines = block[speech.end() :].split("\n")
                yield TurnText(int(number), role, restore_prose("\n".join([line[2:] for line in lines])))
        elif head := _HEAD.match(block):
            for turn, _ in _parse_callout(head, block, request):
                yield from _to_texts(turn)


def extract_turn_ids(body: Body) -> list[str]:
    """Return the ids of the turns in a body, in order."""
    return [turn.id for turn in iter_turns(body)]


def extract_links(body: Body) -> str:
    """Return the first line of a body: the links to its siblings."""
    return next(filter(None, body_chunks(body)), "").partition("\n")[0]


def find_first_number(body: Body) -> int | None:
    """Return the number of the first turn in a body, None without turns."""
    return next((turn.number for turn in iter_turns(body)), None)


def find_line(text: str, number: int) -> int | None:
    """Return the line of a file, from 1, that begins a turn by number; None without it."""
    position = 1
    for block in text.split("\n\n"):
        head, heading = _HEAD.match(block), _REQUEST.fullmatch(block.rstrip("\n"))
        if heading and int(heading[1]) == number:
            return position
        for turn, line in _parse_callout(head, block, "") if head else ():
            if turn.number == number and turn.role != USER:
                return position + line
        position += block.count("\n") + 2
    return transcript_v1.find_line(text, number)


def iter_turns(body: Body) -> Iterator[Turn]:
    """Yield the turns of a body of any format; of a streamed one, few are in memory at a time."""
    return transcript_v1.iter_turns(body) if transcript_v1.is_format_1(body) else _iter_dated(_iter_identified(body))


def _iter_dated(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Complete the times: those of a day are shown without it."""
    day = ""
    for turn in turns:
        date, _, time = (turn.at or "").rpartition(" ")
        day = date or day
        yield turn._replace(at=None if time == _UNKNOWN_TIME else f"{day}T{time[:-1]}.000Z")


def _iter_identified(body: Body) -> Iterator[Turn]:
    """Yield the turns with the id below their callout, and with times as they are shown."""
    request, turns = "", list[Turn]()
    for block in _iter_blocks(body):
        head, heading, turn_id = _HEAD.match(block), _REQUEST.fullmatch(block), _ID.fullmatch(block)
        if head:
            yield from turns  # somebody took their id away
            turns = [turn for turn, _ in _parse_callout(head, block, request)]
        elif heading:
            request = f"{heading[1]}{_SEPARATOR}{heading[2]}"
        elif turn_id and turns:
            yield turns[0]._replace(id=turn_id[1])
            yield from turns[1:]
            turns = []
    yield from turns


def _iter_blocks(body: Body) -> Iterator[str]:
    parts = list[str]()
    for chunk in body_chunks(body):
        parts.append(chunk)
        if "\n\n" in chunk or chunk.startswith("\n"):
            *blocks, rest = "".join(parts).split("\n\n")
            yield from blocks
            parts = [rest]
    yield from "".join(parts).removesuffix("\n").split("\n\n")


def _parse_callout(head: re.Match[str], block: str, request: str) -> Iterator[tuple[Turn, int]]:
    """Yield the turns of a callout, each with its line in the block. `request` is the number and time of a request."""
    kind, lines = head[1], [line[2:] for line in block.split("\n")[1:]]
    fields = (request, head[2]) if kind == _TYPE_OF[USER] else (head[2],)
    number = _NUMBER.fullmatch(_SEPARATOR.join(filter(None, fields)))
    if not number:
        return
    text = "" if kind in _FOLDED else restore_prose("\n".join(lines))
    name, line, error, thinking, call = _parse_fields(number[3] or "")
    role = _ROLE_OF.get(kind, ASSISTANT)
    turn = Turn(role, text, number[2], name, line, error, thinking, None, "", int(number[1]), (), call)
    yield from _parse_content(turn, lines) if kind in _FOLDED else [(turn, 0)]


def _parse_fields(text: str) -> tuple[str, str, bool, bool, int]:
    """Return the tool's name, its input, whether it failed, whether it is a thought, and the call it answers."""
    if not text:
        return "", "", False, False, 0
    fields = deque(text.split(_SEPARATOR))
    thinking, error = _take(fields, _THINKING), _take(fields, _ERROR)
    call = int(fields.popleft().removeprefix("of ")) if fields and _ANSWERS.fullmatch(fields[0]) else 0
    if fields and _COUNTS.fullmatch(fields[-1]):
        fields.pop()
    name, line = (restore_prose(fields.popleft()) if fields else "" for _ in range(2))
    return name, line, error, thinking, call


def _take(fields: deque[str], word: str) -> bool:
    is_first = bool(fields) and fields[0] == word
    if is_first:
        fields.popleft()
    return is_first


def _parse_content(turn: Turn, lines: Sequence[str]) -> Iterator[tuple[Turn, int]]:
    """Yield a call and, if it is there, the result that follows it; or a result alone."""
    parts, own, place = list[InputPart](), ("", ""), 0
    position, label, role, is_own = 0, "", turn.role, turn.role == TOOL
    while position < len(lines):
        line = lines[position]
        position += 1
        opening, result = parse_fence_opening(line), _RESULT.fullmatch(line)
        if opening:
            text, fingerprints, position = _parse_fence(lines, position, opening[0])
            if is_own:
                own = text, fingerprints
            else:
                parts.append(_parse_part(text, opening[1], label, fingerprints))
            label = ""
        elif result:
            yield _with_content(turn, turn.role, "", parts, ""), 0
            error, number = result[2] == _ERROR, int(result[1])
            turn = Turn(TOOL, "", result[3], turn.name, "", error, False, None, result[4], number, (), turn.number)
            parts, place, role, is_own = [], position, TOOL, True
        elif line in _OWN_TEXT.values():
            role, is_own = TOOL if line == _OWN_TEXT[TOOL] else ASSISTANT, True
        elif is_label := _LABEL.fullmatch(line):
            label = restore_prose(is_label[1])
    yield _with_content(turn, role, own[0], parts, own[1]), place


def _with_content(turn: Turn, role: str, text: str, parts: Iterable[InputPart], fingerprints: str) -> Turn:
    # `_replace` takes three times as long, for each call of every reindex.
    return Turn(
        role, text, turn.at, turn.name, turn.input, turn.error, turn.thinking, None, turn.id, turn.number,
        tuple(parts), turn.call, fingerprints,
    )  # fmt: skip


def _parse_fence(lines: Sequence[str], start: int, fence: str) -> tuple[str, str, int]:
    """Return the text of a fence, its fingerprints, and the position behind it."""
    try:
        end = lines.index(fence, start)
    except ValueError:
        end = len(lines)
    text = restore_invisible("\n".join(lines[start:end]))
    comment = _FINGERPRINTS.fullmatch(lines[end + 1]) if end + 1 < len(lines) else None
    return text, comment[1] if comment else "", end + 1 + bool(comment)


def _parse_part(text: str, info: str, label: str, fingerprints: str) -> InputPart:
    if info != _EDIT:
        return InputPart(text, info, label, None, fingerprints)
    sides: dict[str, list[str]] = {"-": [], "+": []}
    sign = "-"
    for line in text.split("\n") if text else ():
        if line == NO_NEWLINE:
            sides[sign][-1] = sides[sign][-1].removesuffix("\n")
        else:
            sign = line[:1] if line[:1] in sides else sign
            sides[sign].append(f"{line[1:]}\n")
    return InputPart("".join(sides["+"]), "", label, "".join(sides["-"]), fingerprints)
