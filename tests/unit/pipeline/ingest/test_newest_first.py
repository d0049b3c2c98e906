"""The order of an import: the newest sessions first, and nothing before what it was forked from."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.naming import Identity
from lineage.pipeline.ingest.import_sources import SessionSources, order_newest_first, split_first


def build(number: int, day: int, parents: list[int]) -> SessionSources:
    tokens = frozenset(Identity("default", f"s{one}").token for one in parents)
    return SessionSources(Identity("default", f"s{number}"), None, tokens, (), f"2026-01-{day:02}T00:00:00.000Z")


@given(st.lists(st.tuples(st.integers(1, 28), st.integers(0, 9)), min_size=1, max_size=9), st.integers(1, 9))
def test_no_session_stands_before_its_parent(drawn: list[tuple[int, int]], limit: int) -> None:
    groups = [build(n, day, [parent] if parent < n else []) for n, (day, parent) in enumerate(drawn)]
    assert sorted(order_newest_first(groups), key=lambda one: one.token) == sorted(groups, key=lambda one: one.token)
    ordered = order_newest_first(groups, limit)
    places = {group.token: place for place, group in enumerate(ordered)}
    assert all(places[parent] < places[group.token] for group in ordered for parent in group.parents)
    newest = sorted(groups, key=lambda group: (group.ended_at, group.token), reverse=True)[:limit]
    assert {group.token for group in newest} <= places.keys()
    assert [one for part in split_first(ordered, 3) for one in part] == ordered


def test_without_ties_the_newest_comes_first() -> None:
    ordered = order_newest_first([build(1, 3, []), build(2, 9, []), build(3, 5, [])], 2)
    assert [group.ended_at[:10] for group in ordered] == ["2026-01-09", "2026-01-05"]


def test_a_circle_of_parents_ends() -> None:
    assert len(order_newest_first([build(1, 1, [2]), build(2, 2, [1])])) == 2
