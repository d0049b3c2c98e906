"""Pictures: what is drawn lies within them, and says what there is."""

import re

from hypothesis import given
from hypothesis import strategies as st

from lineage.index import SessionRow
from lineage.pipeline.search.session_view import RelatedSession, SessionPart, SessionView
from lineage.web import charts
from lineage.web.links import SERVER

ROW = SessionRow(
    "s-1", None, "h7k3n4p2m2x6q3r5", "default", "/home/ada/demo", "generic", "", "", "", None, None,
    "2026-03-28T22:34:06.792Z", "It was done.", "memory/x--manifest.md", 1, False,
)  # fmt: skip


def part(number: int) -> SessionPart:
    at = f"2026-03-28T22:34:{number % 60:02d}.{number:03d}Z"
    return SessionPart(f"stem-{number}", at, "A sentence.", {}, (number, number + 1) if number else None)


def view(captures: int, compactions: int, ties: list[str]) -> SessionView:
    relatives = tuple(RelatedSession(tie, "another <session>", ROW if tie != "fork" else None) for tie in ties)
    made = tuple(map(part, range(captures)))
    kept = tuple(part(200 + number) for number in range(compactions))
    return SessionView(ROW, 3, 9, made, kept, relatives, ())


@given(
    st.integers(0, 100),
    st.integers(0, 100),
    st.lists(st.sampled_from(["fork", "started", "forked from", "started by"]), max_size=9),
)
def test_every_box_lies_within_and_no_two_lie_over_each_other(captures: int, compactions: int, ties: list[str]) -> None:
    graph = charts.build_lineage_graph(view(captures, compactions, ties), SERVER)
    wide, high = graph.node_size
    places = {(node.x, node.y) for node in graph.nodes}
    assert len(places) == len(graph.nodes)
    assert all(0 <= x <= graph.width - wide and 0 <= y <= graph.height - high for x, y in places)
    shown = [node for node in graph.nodes if node.kind in ("capture", "compaction")]
    assert len(shown) == min(captures + compactions, 12 if captures + compactions <= 12 else 11)
    assert len(graph.lines) == len(graph.nodes) - 1
    for line in graph.lines:
        assert all(0 <= int(number) <= max(graph.width, graph.height) for number in re.findall(r"\d+", line))


def test_lines_run_from_left_to_right() -> None:
    graph = charts.build_lineage_graph(view(2, 1, ["forked from", "fork"]), SERVER)
    ends = [tuple(map(int, re.findall(r"\d+", line))) for line in graph.lines]
    assert all(end[0] < end[-2] for end in ends)
    assert (
        graph.description
        == "A manifest with 2 captures and 1 compaction; forked from another <session>, fork another <session>"
    )


@given(st.lists(st.integers(0, 10_000), min_size=30, max_size=30))
def test_a_bar_is_as_tall_as_its_day(counts: list[int]) -> None:
    days = [(f"2026-03-{number:02d}", count) for number, count in enumerate(counts, 1)]
    picture = charts.build_activity(days, lambda day: SERVER.home(agent="a b", since=day, until=day))
    assert len(picture.bars) == 30
    assert all(bar.y + bar.height == picture.height and bar.height >= 3 for bar in picture.bars)
    assert [bar.href for bar in picture.bars] == [
        f"/?agent=a+b&since={day}&until={day}" if count else "" for day, count in days
    ]
    tallest = max(bar.height for bar in picture.bars)
    assert not any(counts) or picture.bars[counts.index(max(counts))].height == tallest
