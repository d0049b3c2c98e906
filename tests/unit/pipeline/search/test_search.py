"""Reciprocal rank fusion: its laws.

Fails where the sum leaves a ranking out, where a place counts from 0 or twice, and where equals change their order.
"""

from hypothesis import given
from hypothesis import strategies as st

from lineage.pipeline.search.search import SMOOTHING, fuse_rankings

RANKINGS = st.lists(st.lists(st.integers(0, 20), max_size=12), max_size=4)


@given(RANKINGS)
def test_everything_is_there_once_and_the_scores_fall(rankings: list[list[int]]) -> None:
    found = fuse_rankings(rankings)
    keys, scores = [key for key, _ in found], [score for _, score in found]
    assert sorted(keys) == sorted({key for ranking in rankings for key in ranking})
    assert scores == sorted(scores, reverse=True)


@given(st.lists(st.integers(0, 20), unique=True))
def test_one_ranking_stays_as_it_is(ranking: list[int]) -> None:
    assert [key for key, _ in fuse_rankings([ranking])] == ranking
    assert [key for key, _ in fuse_rankings([ranking, ranking])] == ranking
    assert [key for key, _ in fuse_rankings([[], ranking])] == ranking


@given(RANKINGS)
def test_scores_do_not_depend_on_the_order_of_the_rankings(rankings: list[list[int]]) -> None:
    forward, backward = dict(fuse_rankings(rankings)), dict(fuse_rankings(rankings[::-1]))
    assert forward.keys() == backward.keys()
    assert all(abs(forward[key] - backward[key]) < 1e-12 for key in forward)


@given(st.lists(st.integers(0, 20), unique=True, min_size=1), st.data())
def test_who_comes_earlier_everywhere_comes_earlier(ranking: list[int], data: st.DataObject) -> None:
    other = data.draw(st.permutations(ranking))
    order = [key for key, _ in fuse_rankings([ranking, other])]
    for one in ranking:
        for two in ranking:
            if ranking.index(one) < ranking.index(two) and other.index(one) < other.index(two):
                assert order.index(one) < order.index(two)


@given(RANKINGS, st.integers(0, 20))
def test_to_be_found_once_more_never_harms(rankings: list[list[int]], key: int) -> None:
    before = dict(fuse_rankings(rankings)).get(key, 0.0)
    assert dict(fuse_rankings([*rankings, [key]]))[key] > before


def test_places_count_from_one_and_once() -> None:
    assert fuse_rankings([["a", "a", "b"]]) == [("a", 1 / (SMOOTHING + 1)), ("b", 1 / (SMOOTHING + 2))]
    assert [key for key, _ in fuse_rankings([["a", "b"], ["c", "b"]])] == ["b", "a", "c"]
