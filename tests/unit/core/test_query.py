"""Queries: any text is one, and only what is documented means something else than its words.

What each guard rests on: `_TOKEN` in core/query.py; `_content`, which keeps stop words where there is nothing else;
the bounds `MOST_WORDS` and `_LOOKED_AT`.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core import language, spelling
from lineage.core.passages import Passage, of_text, of_turns
from lineage.core.query import MOST_WORDS, Filters, parsed, words_of
from lineage.core.segmentation import is_dense, joined, segmented
from lineage.errors import InvalidInput
from tests.support.cases import each

NOW = "2026-11-21T12:00:00.000Z"


@each(
    ("text", "words"),
    [
        ("", ()),
        ("?!", ()),
        ("why did the parser drop the last line", ("parser", "drop", "last", "line")),
        ("what is it", ("what", "is", "it")),
        ("warum die Zeile fehlt", ("Zeile", "fehlt")),
        ("snake_case and TypeError", ("snake_case", "snake", "case", "TypeError")),
        ("issue #123: TypeError: x", ("issue", "123", "TypeError", "x")),
        ("最后一行", ("最后", "后一", "一行")),
        ("foo:bar pytest -q", ("foo:bar", "foo", "bar", "pytest", "q")),
        ("client's log", ("client", "log")),
    ],
)
def test_the_words_of_a_query(text: str, words: tuple[str, ...]) -> None:
    assert parsed(text).words == words


def test_every_character_of_a_dense_script_is_set_apart() -> None:
    characters = map(chr, range(0x80, 0x40_000))
    assert [char for char in characters if (segmented(char) != char) != is_dense(char)] == []


def test_phrases_exclusions_and_filters_are_taken_out_of_the_words() -> None:
    query = parsed('drop "last line" -draft project:demo agent:ann kind:summary is:task is:open', NOW)
    assert (query.words, query.phrases, query.without) == (("drop",), ("last line",), ("draft",))
    assert query.filters == Filters(project="demo", agent="ann", kinds=("summary", "task"), states=("open",))


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("since:2026-11", "2026-11-01T00:00:00.000Z", None),
        ("until:2026", None, "2026-12-31T23:59:59.999Z"),
        ("since:2026-11-20 until:2026-11-20", "2026-11-20T00:00:00.000Z", "2026-11-20T23:59:59.999Z"),
        ("since:7d", "2026-11-14T12:00:00.000Z", None),
    ],
)
def test_times(text: str, since: str | None, until: str | None) -> None:
    filters = parsed(text, NOW).filters
    assert (filters.since, filters.until) == (since and since.replace("11-01", "11-01"), until)


@pytest.mark.parametrize("text", ["since:yesterday", "until:x", "is:nothing", "since:9999y"])
def test_a_filter_that_says_nothing_is_an_error_that_says_what_it_takes(text: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parsed(text, NOW)
    assert raised.value.hint


@given(st.text(alphabet=st.sampled_from('ab"-:. _/+is:since:project:日本\0\udcff'), max_size=60) | st.text())
def test_any_text_is_a_query_or_a_clear_error(text: str) -> None:
    try:
        query = parsed(text, NOW)
    except InvalidInput:
        return
    assert len(query.words) <= MOST_WORDS
    assert all(word.strip() and '"' not in word for word in query.words)


def test_endless_queries_are_bounded() -> None:
    for text in ("word%d " * 30_000, "x" * 100_000, '"' * 100_001, "a." * 50_000, "日" * 100_000):
        assert len(parsed(text, NOW).words) <= MOST_WORDS
    assert len(words_of(" ".join(map(str, range(9999))))) == MOST_WORDS


@given(st.text().filter(lambda text: "\u200b" not in text))
def test_segments_join_to_the_text(text: str) -> None:
    assert joined(segmented(text)) == text


@given(st.lists(st.text(min_size=1, max_size=3000), min_size=1, max_size=8))
def test_passages_hold_every_turn_in_order(texts: list[str]) -> None:
    found = of_turns(list(enumerate(texts, 1)))
    assert "".join("".join(p.text for p in found).split()) == "".join("".join(texts).split())
    assert (found[0].first, found[-1].last) == (1, len(texts))
    assert all(p.first <= p.last and len(p.text) <= 2 * 1200 for p in found)
    assert [p.first for p in found] == sorted(p.first for p in found)


def test_a_text_without_turns_has_passages_without_numbers() -> None:
    assert of_text("  short  ") == (Passage("short"),)
    assert of_text("") == ()
    assert len(of_text("word " * 1000)) > 3


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_distances_are_symmetric_and_bounded(one: str, other: str) -> None:
    assert spelling.distance(one, other, 2) == spelling.distance(other, one, 2) <= 3
    assert (spelling.distance(one, other, 9) == 0) == (one == other)


@given(st.text(), st.sampled_from([None, "en", "de", "fr", "pt", "es"]))
def test_forms_are_few_and_others(word: str, tongue: str | None) -> None:
    found = language.forms(word, tongue)
    assert len(found) <= 8
    assert word not in found
