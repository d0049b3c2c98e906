"""Reciprocal rank fusion: its laws, and those of vectors that are missing.

Fails where the sum leaves a ranking out, where a place counts from 0 or twice, and where equals change their order;
where a key without vectors counts one ranking only, and where those that count twice crowd out the first of the words.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from lineage.index import Hit
from lineage.pipeline.search import search
from lineage.pipeline.search.search import SMOOTHING, fuse_with_missing, number_places

Key = TypeVar("Key", bound=Hashable)


def fuse_rankings(rankings: Sequence[Sequence[Key]]) -> list[tuple[Key, float]]:
    return search.fuse_rankings(list(map(number_places, rankings)))


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


WORDS_AND_MEANING = st.tuples(st.permutations(range(40)), st.permutations(range(60)), st.sets(st.integers(0, 59)))


@given(WORDS_AND_MEANING, st.integers(1, 40), st.integers(1, 60))
def test_what_words_put_first_is_among_three_whatever_has_vectors(
    given: tuple[Sequence[int], Sequence[int], set[int]], depth: int, reach: int
) -> None:
    words, near, embedded = given
    words = words[:depth]
    order = [
        key for key, _ in fuse_with_missing(words, [k for k in near if k in embedded][:reach], {*range(60)} - embedded)
    ]
    assert set(words) <= set(order)
    assert len(order) == len(set(order))
    if not embedded.issuperset(words):
        assert order.index(words[0]) < 3


@given(WORDS_AND_MEANING)
def test_what_words_put_first_is_among_three_while_vectors_of_others_are_missing(
    given: tuple[Sequence[int], Sequence[int], set[int]],
) -> None:
    words, near, _ = given
    order = [key for key, _ in fuse_with_missing(words, near, set(), is_young=True)]
    assert order.index(words[0]) < 3
    assert sorted(order) == sorted({*words, *near})


@given(st.permutations(range(30)), st.permutations(range(30)))
def test_without_any_vector_the_words_rank_alone_and_with_all_nothing_is_missing(
    words: Sequence[int], near: Sequence[int]
) -> None:
    assert [key for key, _ in fuse_with_missing(words, [], set(words))] == list(words)
    assert fuse_with_missing(words, near, set()) == fuse_rankings([words, near])


@given(WORDS_AND_MEANING)
def test_scores_fall_also_where_vectors_are_missing(given: tuple[Sequence[int], Sequence[int], set[int]]) -> None:
    words, near, embedded = given
    scores = [score for _, score in fuse_with_missing(words, [k for k in near if k in embedded], {*words} - embedded)]
    assert scores == sorted(scores, reverse=True)


def test_a_longer_ranking_begins_as_the_shorter_one() -> None:
    def make_hit(token: str, row: int) -> Hit:
        return Hit("s", token, "a", "transcript", f"{token}.md", 1.0, "", None, None, None, None, None, rows=(row,))

    one, two, three = make_hit("one", 1), make_hit("two", 2), make_hit("two", 3)
    assert search._put_first([one, two], [make_hit("two", 9)], by_passage=False) == [two, one]
    assert search._put_first([one, two, three], [three], by_passage=True) == [three, one, two]
    assert search._put_first([one], [two], by_passage=False) == [two, one]
    assert search._put_first([one, two], [], by_passage=False) == [one, two]
