"""A session's conversation as a page shows it: which turns, what of each, and what is folded."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from lineage.core.base.plural import pluralize
from lineage.core.format.turns import ASSISTANT, USER, InputPart, Turn
from lineage.extraction.calls import EDITS, get_tool_name
from lineage.web.charts import clip
from lineage.web.display import cut_to_bytes, measure, show_overrides
from lineage.web.rendered_text import render_code, render_diff, render_markdown, render_plain

SAID, EDITED = "said", "edits"
ONLY = (SAID, EDITED)
PER_PAGE = 50
MAX_REQUESTS = 40

_MAX_BYTES = 35_000
"""What the texts of a page have together, escaped, in UTF-8: longer ones are cut until it is so."""
_MAX_RENDERED_BYTES = 55_000
_OPEN_CHARS = 1_500
_LINE = 90


class ShownText(NamedTuple):
    """A text of a turn: with a `label` it is folded, `rest` counts the characters that were cut off."""

    html: Markup
    label: str = ""
    is_open: bool = False
    rest: int = 0


class ShownTurn(NamedTuple):
    """A turn, its texts in their order, and the results of its call."""

    turn: Turn
    texts: tuple[ShownText, ...]
    results: "tuple[ShownTurn, ...]" = ()


class RequestLink(NamedTuple):
    """What a person asked for, as one line, and the id of that turn."""

    turn_id: str
    text: str


class _Source(NamedTuple):
    """A text before it is cut: its rendering, and its label when it is folded."""

    text: str
    render: Callable[[str], Markup]
    label: str = ""
    is_open: bool = False
    is_edit: bool = False
    old: str = ""


def choose_turns(turns: Sequence[Turn], only: str = "", words: str = "") -> list[Turn]:
    """Return the turns to show: what was said alone, the edits alone, or all; of these what holds every word."""
    wanted = words.lower().split()
    return [turn for turn in turns if _is_shown(turn, only) and (not wanted or _holds(turn, wanted))]


def list_requests(turns: Sequence[Turn]) -> list[RequestLink]:
    """Return what the person asked for, in order; the newest ones of very many."""
    asked = [(turn.id, " ".join(turn.said.split())) for turn in turns if turn.role == USER and turn.said.strip()]
    return [RequestLink(turn_id, clip(show_overrides(said), _LINE)) for turn_id, said in asked[-MAX_REQUESTS:]]


def count_edits(turns: Sequence[Turn]) -> Counter[str]:
    """Return how many edits each file had, as calls named the files, in the order of their first edits."""
    return Counter(turn.input for turn in turns if turn.input and _is_edit(turn))


def show_turns(turns: Sequence[Turn]) -> list[ShownTurn]:
    """Return turns as a page shows them: whole, as long as the page stays small, else with their beginnings."""
    sources = [list(_list_sources(turn)) for turn in turns]
    most = _find_most([measure(one.text) + measure(one.old) for some in sources for one in some])
    shown = [ShownTurn(turn, _show(some, most)) for turn, some in zip(turns, sources, strict=True)]
    if sum(_measure_html(text.html) for turn in shown for text in turn.texts) > _MAX_RENDERED_BYTES:
        # the spans of colours may take ten times the code
        plain = (_show(list(map(_make_plain, some)), most) for some in sources)
        shown = [ShownTurn(turn, texts) for turn, texts in zip(turns, plain, strict=True)]
    return nest_results(shown)


def nest_results(shown: Sequence[ShownTurn]) -> list[ShownTurn]:
    """Return the turns with each result below its call, if that is among them: the two are read together."""
    calls = {one.turn.number for one in shown if one.turn.number and one.turn.role == ASSISTANT}
    results: dict[int, list[ShownTurn]] = {}
    for one in shown:
        if one.turn.call in calls:
            results.setdefault(one.turn.call, []).append(one)
    return [
        one._replace(results=tuple(results.get(one.turn.number, ()))) for one in shown if one.turn.call not in calls
    ]


def show_whole(turns: Sequence[Turn]) -> list[ShownTurn]:
    """Return turns as a page without bounds shows them: nothing is cut."""
    return nest_results(list(_show_each(turns)))


def _show_each(turns: Sequence[Turn]) -> Iterator[ShownTurn]:
    for turn in turns:
        sources = list(_list_sources(turn))
        most = 2 * sum(measure(one.text) + measure(one.old) for one in sources)
        yield ShownTurn(turn, _show(sources, most))


def _make_plain(one: _Source) -> _Source:
    if one.is_edit:
        return one._replace(text=InputPart(one.text, old=one.old).as_text(), render=escape, is_edit=False, old="")
    return one._replace(render=escape if one.label else render_plain)


def _is_shown(turn: Turn, only: str) -> bool:
    if only == SAID:
        return turn.role in (USER, ASSISTANT) and bool(turn.text) and not (turn.thinking or turn.name)
    return only != EDITED or _is_edit(turn)


def _is_edit(turn: Turn) -> bool:
    return turn.role == ASSISTANT and bool(turn.parts) and get_tool_name(turn) in EDITS


def _holds(turn: Turn, words: Sequence[str]) -> bool:
    parts = (text for part in turn.parts for text in (part.text, part.old or ""))
    said = "\n".join((turn.text, turn.name, turn.input, *parts)).lower()
    return all(word in said for word in words)


def _list_sources(turn: Turn) -> Iterator[_Source]:
    for one in _list_texts(turn):
        yield one._replace(text=show_overrides(one.text), old=show_overrides(one.old))


def _list_texts(turn: Turn) -> list[_Source]:
    # the line of the call says a short input already
    found = [_list_input(part) for part in turn.parts if part.text != turn.input]
    if turn.text and (turn.role not in (USER, ASSISTANT) or turn.thinking):
        lines = pluralize(turn.text.count("\n") + 1, "line")
        label = "Thinking" if turn.thinking else "Result" if turn.call else "Added by the harness"
        found.append(_Source(turn.text, escape, f"{label}, {lines}"))
    elif turn.text:
        found.append(_Source(turn.text, render_markdown))
    return found


def _list_input(part: InputPart) -> _Source:
    if part.old is None:
        lines = pluralize(part.text.count("\n") + 1, "line")
        return _Source(part.text, lambda text: render_code(text, part.language), f"{part.label or 'Input'}, {lines}")
    is_short = len(part.text) + len(part.old) < _OPEN_CHARS
    return _Source(part.text, escape, part.label or "Edit", is_short, is_edit=True, old=part.old)


def _show(sources: Sequence[_Source], most: int) -> tuple[ShownText, ...]:
    return tuple(_show_one(one, most) for one in sources)


def _show_one(one: _Source, most: int) -> ShownText:
    # an edit's halves share what there is
    text, old = cut_to_bytes(one.text, most // 2 if one.old else most), cut_to_bytes(one.old, most // 2)
    rest = len(one.text) + len(one.old) - len(text) - len(old)
    return ShownText(render_diff(old, text) if one.is_edit else one.render(text), one.label, one.is_open, rest)


def _find_most(sizes: Sequence[int]) -> int:
    """Return the most bytes that one text may have so that all together stay within the page."""
    left = _MAX_BYTES
    for number, size in enumerate(sorted(sizes)):
        if size * (len(sizes) - number) > left:
            return left // (len(sizes) - number)
        left -= size
    return _MAX_BYTES


def _measure_html(html: Markup) -> int:
    return len(html.encode("utf-8", "replace"))
