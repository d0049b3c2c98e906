"""The order of an import: the newest sessions first, and nothing before what it was forked from."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.naming import Identity
from lineage.pipeline.ingest.import_sources import (
    ImportSource,
    SessionSources,
    order_newest_first,
    split_first,
)  # fmt: skip


def build(number: int, day: int, parents: list[int], *files: tuple[str, int]) -> SessionSources:
    tokens = frozenset(Identity("default", f"s{one}").token for one in parents)
    sources = tuple(ImportSource("pi", path, f"s{number}", size, "") for path, size in files)
    return SessionSources(Identity("default", f"s{number}"), None, tokens, sources, f"2026-01-{day:02}T00:00:00.000Z")


@given(st.lists(st.tuples(st.integers(1, 28), st.integers(0, 9)), min_size=1, max_size=9), st.integers(1, 9))
def test_no_session_stands_before_its_parent(drawn: list[tuple[int, int]], limit: int) -> None:
    groups = [build(n, day, [parent] if parent < n else []) for n, (day, parent) in enumerate(drawn)]
    assert sorted(order_newest_first(groups), key=lambda one: one.token) == sorted(groups, key=lambda one: one.token)
    ordered = order_newest_first(groups, limit)
    places = {group.token: place for place, group in enumerate(ordered)}
    assert all(places[parent] < places[group.token] for group in ordered for parent in group.parents)
    newest = sorted(groups, key=lambda group: (group.ended_at, group.token), reverse=True)[:limit]
    assert {group.token for group in newest} <= places.keys()
    assert [one for part in split_first(ordered, 3, 1) for one in part] == ordered


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 9), st.integers(1, 30))
def test_the_first_part_ends_where_its_bytes_are_reached(sizes: list[int], most: int, max_bytes: int) -> None:
    groups = [build(number, 1, [], (f"{number}.jsonl", size)) for number, size in enumerate(sizes)]
    first = split_first(groups, most, max_bytes)[0]
    assert 1 <= len(first) <= most
    assert sum(sizes[: len(first) - 1]) < max_bytes
    assert len(first) in (most, len(sizes)) or sum(sizes[: len(first)]) >= max_bytes


def test_a_file_of_many_sessions_counts_once() -> None:
    groups = [build(number, 1, [], ("history.db", 9)) for number in range(4)]
    assert [len(part) for part in split_first(groups, 3, 10)] == [3, 1]


def test_without_ties_the_newest_comes_first() -> None:
    ordered = order_newest_first([build(1, 3, []), build(2, 9, []), build(3, 5, [])], 2)
    assert [group.ended_at[:10] for group in ordered] == ["2026-01-09", "2026-01-05"]


def test_a_circle_of_parents_ends() -> None:
    assert len(order_newest_first([build(1, 1, [2]), build(2, 2, [1])])) == 2
