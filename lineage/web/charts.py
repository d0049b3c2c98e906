"""Two charts in numbers: the captures of the last 30 days, and the graph of a session's files.

A template draws them as SVG. Coordinates are in the chart's own units.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lineage.core.base.plural import pluralize
from lineage.pipeline.search.session_view import RelatedSession, SessionPart, SessionView
from lineage.web.display import format_clock, format_day
from lineage.web.links import Links

_BAR_STEP, _BAR_WIDTH, _MAX_BAR_HEIGHT, _MIN_BAR_HEIGHT = 20, 14, 56, 3
_COLUMN_WIDTH, _NODE_WIDTH, _ROW_HEIGHT, _NODE_HEIGHT, _MARGIN = 264, 216, 58, 44, 8
_MAX_PARTS = 12
LAST_DAYS = "the last 30 days"
_ANCESTOR_TIES = ("forked from", "started by")


@dataclass(frozen=True, slots=True)
class Bar:
    """One day: its column, its height and its tooltip."""

    x: int
    y: int
    height: int
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class Activity:
    """The bars of a month, and the same in words."""

    width: int
    height: int
    bar_width: int
    bars: tuple[Bar, ...]
    description: str
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A box: `kind` is manifest, capture, compaction, relative or more; `href` is its link, "" for none."""

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
    node_size: tuple[int, int]
    nodes: tuple[GraphNode, ...]
    lines: tuple[str, ...]
    description: str


def clip(text: str, max_length: int) -> str:
    """Return the text, shortened with an ellipsis if it is too long.

    >>> clip("a long sentence", 9)
    'a long …'
    """
    return text if len(text) <= max_length else text[: max_length - 2].rstrip() + " …"


def build_activity(
    days: Sequence[tuple[str, int]], find_day: Callable[[str], str], period: str = LAST_DAYS
) -> Activity:
    """Return a bar a day, the tallest for the busiest day; each leads to its sessions, where `find_day` says."""
    max_count = max((count for _, count in days), default=0)
    total = sum(count for _, count in days)
    bars = tuple(_build_bar(place, date, count, max_count, find_day) for place, (date, count) in enumerate(days))
    description = f"{pluralize(total, 'session')} in {period}"
    if max_count > 1:
        description += f", most on {format_day(max(days, key=lambda item: item[1])[0])}: {max_count}"
    width = _BAR_STEP * len(days) - (_BAR_STEP - _BAR_WIDTH)
    first, last = (days[0][0], days[-1][0]) if days else ("", "")
    return Activity(width, _MAX_BAR_HEIGHT, _BAR_WIDTH, bars, description, first, last)


def describe_period(last_day: str, now: str = "") -> str:
    """Return how to call the 30 days that end with a day; a page that is read at any time knows no `now`.

    >>> describe_period("2026-02-12", "2026-11-24T09:00:00.000Z")
    'the 30 days to 12 February 2026'
    """
    return LAST_DAYS if last_day == now[:10] else f"the 30 days to {format_day(last_day).partition(', ')[2]}"


def _build_bar(index: int, date: str, count: int, max_count: int, find_day: Callable[[str], str]) -> Bar:
    height = max(_MIN_BAR_HEIGHT, round(_MAX_BAR_HEIGHT * count / max_count)) if count else _MIN_BAR_HEIGHT
    title = f"{date}: {pluralize(count, 'session')}"
    href = find_day(date) if count else ""
    return Bar(index * _BAR_STEP, _MAX_BAR_HEIGHT - height, height, href, title)


def build_lineage_graph(view: SessionView, links: Links) -> Graph:
    """Return, from left to right: the session's origins, its manifest, its parts by time, its descendants."""
    before = [_build_relative_node(one, links) for one in view.relatives if one.tie in _ANCESTOR_TIES]
    after = [_build_relative_node(one, links) for one in view.relatives if one.tie not in _ANCESTOR_TIES]
    own = _build_part_nodes(view, links)
    columns = [before, [_build_manifest_node(view, links)], own, after]
    visible = [column for column in columns if column]
    tallest = max(len(column) for column in visible)
    placed = [_place_column(column, number, tallest) for number, column in enumerate(visible)]
    middle = 1 if before else 0
    # what surrounds the session hangs on its manifest before it, on its newest part behind it
    lines = [_connect(node, placed[middle][0]) for node in (placed[0] if before else [])]
    lines += [_connect(placed[middle][0], node) for node in (placed[middle + 1] if own else [])]
    lines += [_connect(placed[-2][-1], node) for node in (placed[-1] if after else [])]
    width = _COLUMN_WIDTH * (len(visible) - 1) + _NODE_WIDTH + 2 * _MARGIN
    height = _ROW_HEIGHT * tallest + _MARGIN
    nodes = tuple(node for column in placed for node in column)
    return Graph(width, height, (_NODE_WIDTH, _NODE_HEIGHT), nodes, tuple(lines), _describe(view))


def _build_part_nodes(view: SessionView, links: Links) -> list[GraphNode]:
    """Return captures and compactions, oldest first; if there are many, the newest and a count."""
    made = [_build_capture_node(part, view, links) for part in view.captures]
    made += [_build_compaction_node(part, view, links) for part in view.compactions]
    ordered = [node for _, node in sorted(made, key=lambda item: item[0])]
    if len(ordered) <= _MAX_PARTS:
        return ordered
    hidden = len(ordered) - _MAX_PARTS + 1
    return [GraphNode("more", 0, 0, f"{hidden} earlier", "", f"{hidden} earlier parts", ""), *ordered[hidden:]]


def _build_capture_node(part: SessionPart, view: SessionView, links: Links) -> tuple[str, GraphNode]:
    note = f"turns {part.turns[0]}–{part.turns[1]}" if part.turns else "can't be read"
    href = links.session(view.session.session_token, "turns", first=part.turns[0]) if part.turns else ""
    note = f"{_format_time(part.captured_at)} · {note}"
    return part.captured_at, GraphNode("capture", 0, 0, "capture", note, part.memory_sentence, href)


def _build_compaction_node(part: SessionPart, view: SessionView, links: Links) -> tuple[str, GraphNode]:
    href = links.file(view.session.session_token, "compaction") if part is view.compactions[-1] else ""
    note = _format_time(part.captured_at)
    return part.captured_at, GraphNode("compaction", 0, 0, "compaction", note, part.memory_sentence, href)


def _build_manifest_node(view: SessionView, links: Links) -> GraphNode:
    token = view.session.session_token
    note, href = f"{token} · revision {view.revision}", links.file(token, "manifest")
    return GraphNode("manifest", 0, 0, "manifest", note, view.session.manifest_path, href)


def _build_relative_node(relative: RelatedSession, links: Links) -> GraphNode:
    href = links.session(relative.session.session_token) if relative.session else ""
    title = relative.session.title if relative.session else "not here (any more)"
    return GraphNode("relative", 0, 0, relative.tie, clip(relative.session_id, 26), title, href)


def _place_column(column: Sequence[GraphNode], number: int, tallest: int) -> list[GraphNode]:
    top = _MARGIN + (_ROW_HEIGHT * (tallest - len(column))) // 2
    x = _MARGIN + _COLUMN_WIDTH * number
    return [replace(node, x=x, y=top + _ROW_HEIGHT * row) for row, node in enumerate(column)]


def _connect(start: GraphNode, end: GraphNode) -> str:
    x, y, to_x, to_y = start.x + _NODE_WIDTH, start.y + _NODE_HEIGHT // 2, end.x, end.y + _NODE_HEIGHT // 2
    middle = (x + to_x) // 2
    return f"M{x} {y} C{middle} {y} {middle} {to_y} {to_x} {to_y}"


def _format_time(time: str) -> str:
    return f"{time[:10]} {format_clock(time)}"


def _describe(view: SessionView) -> str:
    parts = [pluralize(len(view.captures), "capture"), pluralize(len(view.compactions), "compaction")]
    ties = [f"{relative.tie} {relative.session_id}" for relative in view.relatives]
    return f"A manifest with {' and '.join(parts)}" + (f"; {', '.join(ties)}" if ties else "")
