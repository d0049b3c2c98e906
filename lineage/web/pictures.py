"""Two pictures, laid out in numbers: what happened on the last 30 days, and how a session's files hang together.

A template draws them as SVG. Coordinates are in the picture's own units.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core.wording import counted
from lineage.pipeline.viewing import Part, Relative, View
from lineage.web.reading import clock, day_name

_STEP, _BAR, _TALLEST, _LEAST = 20, 14, 56, 3
_COLUMN, _NODE, _ROW, _HIGH, _MARGIN = 264, 216, 58, 44, 8
_MOST_PARTS = 12
_BEFORE = ("forked from", "started by")


@dataclass(frozen=True, slots=True)
class Bar:
    """A day: its column, its height, and what it says."""

    x: int
    y: int
    height: int
    is_empty: bool
    title: str


@dataclass(frozen=True, slots=True)
class Activity:
    """The bars of a month, and what they say in words."""

    width: int
    height: int
    bar: int
    bars: tuple[Bar, ...]
    said: str
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Node:
    """A box: `kind` is manifest, capture, compaction, relative or more; `href` where it leads, "" for nowhere."""

    kind: str
    x: int
    y: int
    label: str
    note: str
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes and the lines between them, each a path from one box's right side to another's left."""

    width: int
    height: int
    box: tuple[int, int]
    nodes: tuple[Node, ...]
    lines: tuple[str, ...]
    said: str


def clipped(text: str, most: int) -> str:
    """
    >>> clipped("a long sentence", 9)
    'a long …'
    """
    return text if len(text) <= most else text[: most - 2].rstrip() + " …"


def activity(days: Sequence[tuple[str, int]]) -> Activity:
    """Thirty bars, the tallest for the busiest day."""
    most = max((count for _, count in days), default=0)
    total = sum(count for _, count in days)
    bars = tuple(_bar(place, date, count, most) for place, (date, count) in enumerate(days))
    busiest = max(days, key=lambda one: one[1], default=("", 0))
    said = f"{counted(total, 'capture')} in the last 30 days"
    if most:
        said += f", most on {day_name(busiest[0])}: {most}"
    width = _STEP * len(days) - (_STEP - _BAR)
    return Activity(width, _TALLEST, _BAR, bars, said, days[0][0] if days else "", days[-1][0] if days else "")


def _bar(place: int, date: str, count: int, most: int) -> Bar:
    height = max(_LEAST, round(_TALLEST * count / most)) if count else _LEAST
    return Bar(place * _STEP, _TALLEST - height, height, count == 0, f"{date}: {counted(count, 'capture')}")


def lineage(view: View) -> Graph:
    """From left to right: what the session came from, its manifest, its captures and compactions by time, and what came
    from it."""
    before = [_relative(one) for one in view.relatives if one.tie in _BEFORE]
    after = [_relative(one) for one in view.relatives if one.tie not in _BEFORE]
    own = _parts(view)
    columns = [before, [_manifest(view)], own, after]
    shown = [column for column in columns if column]
    tallest = max(len(column) for column in shown)
    placed = [_placed(column, number, tallest) for number, column in enumerate(shown)]
    middle = 1 if before else 0
    lines = [_line(one, placed[middle][0]) for one in (placed[0] if before else [])]
    lines += [_line(placed[middle][0], one) for column in placed[middle + 1 : middle + 2] for one in column]
    lines += [_line(placed[-2][-1], one) for one in (placed[-1] if after else [])]
    width = _COLUMN * (len(shown) - 1) + _NODE + 2 * _MARGIN
    nodes = tuple(node for column in placed for node in column)
    return Graph(width, _ROW * tallest + _MARGIN, (_NODE, _HIGH), nodes, tuple(lines), _said(view))


def _parts(view: View) -> list[Node]:
    """The captures and compactions, oldest first; of many the newest."""
    made = [_capture(part, view) for part in view.captures] + [_compaction(part, view) for part in view.compactions]
    ordered = [node for _, node in sorted(made, key=lambda one: one[0])]
    if len(ordered) <= _MOST_PARTS:
        return ordered
    hidden = len(ordered) - _MOST_PARTS + 1
    return [Node("more", 0, 0, f"{hidden} earlier", "", f"{hidden} earlier parts", ""), *ordered[hidden:]]


def _capture(part: Part, view: View) -> tuple[str, Node]:
    note = f"turns {part.turns[0]}–{part.turns[1]}" if part.turns else "can't be read"
    href = f"/sessions/{view.session.session_token}?first={part.turns[0]}#turns" if part.turns else ""
    return part.at, Node("capture", 0, 0, "capture", f"{_when(part.at)} · {note}", part.sentence, href)


def _compaction(part: Part, view: View) -> tuple[str, Node]:
    href = f"/sessions/{view.session.session_token}/files/compaction" if part is view.compactions[-1] else ""
    return part.at, Node("compaction", 0, 0, "compaction", _when(part.at), part.sentence, href)


def _manifest(view: View) -> Node:
    token = view.session.session_token
    note = f"{token} · revision {view.revision}"
    return Node("manifest", 0, 0, "manifest", note, view.session.manifest_path, f"/sessions/{token}/files/manifest")


def _relative(one: Relative) -> Node:
    href = f"/sessions/{one.session.session_token}" if one.session else ""
    title = one.session.memory_sentence if one.session else "not here (any more)"
    return Node("relative", 0, 0, one.tie, clipped(one.named, 26), title, href)


def _placed(column: Sequence[Node], number: int, tallest: int) -> list[Node]:
    top = _MARGIN + (_ROW * (tallest - len(column))) // 2
    x = _MARGIN + _COLUMN * number
    return [
        Node(node.kind, x, top + _ROW * row, node.label, node.note, node.title, node.href)
        for row, node in enumerate(column)
    ]


def _line(start: Node, end: Node) -> str:
    x, y, to_x, to_y = start.x + _NODE, start.y + _HIGH // 2, end.x, end.y + _HIGH // 2
    middle = (x + to_x) // 2
    return f"M{x} {y} C{middle} {y} {middle} {to_y} {to_x} {to_y}"


def _when(time: str) -> str:
    return f"{time[:10]} {clock(time)}"


def _said(view: View) -> str:
    parts = [counted(len(view.captures), "capture"), counted(len(view.compactions), "compaction")]
    ties = [f"{one.tie} {one.named}" for one in view.relatives]
    return f"A manifest with {' and '.join(parts)}" + (f"; {', '.join(ties)}" if ties else "")
