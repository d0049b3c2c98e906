"""Queries: any text is one, and only what is documented means something else than its words.

What each guard rests on: `_TOKEN` in core/query.py; `_content`, which keeps stop words where there is nothing else;
the bounds `MOST_WORDS` and `_LOOKED_AT`.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.turns import USER, TurnText
from lineage.core.search import language, spelling
from lineage.core.search.passages import Passage, split_text, split_turns
from lineage.core.search.query import Filters, parse_query, strip_operators
from lineage.core.search.segmentation import is_unspaced, remove_separators, segment
from lineage.core.search.words import MAX_QUERY_WORDS, extract_words
from lineage.errors import InvalidInput
from tests.support.parametrize import each

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
    assert parse_query(text).words == words


@pytest.mark.slow
def test_every_character_of_a_dense_script_is_set_apart() -> None:
    characters = map(chr, range(0x80, 0x40_000))
    assert [char for char in characters if (segment(char) != char) != is_unspaced(char)] == []


def test_a_phrase_can_be_excluded() -> None:
    query = parse_query('hooks -"shadow branch" a-"b c" -"" -"?"', NOW)
    assert (query.words, query.phrases, query.excluded) == (("hooks",), ("b c",), ("shadow branch",))
    assert strip_operators('hooks -"shadow branch" "last row"') == "hooks last row"


def test_phrases_exclusions_and_filters_are_taken_out_of_the_words() -> None:
    query = parse_query('drop "last line" -draft project:demo agent:ann kind:summary is:task is:open', NOW)
    assert (query.words, query.phrases, query.excluded) == (("drop",), ("last line",), ("draft",))
    assert query.filters == Filters(project="demo", agent="ann", kinds=("summary", "task"), states=("open",))


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("since:2026-11", "2026-11-01T00:00:00.000Z", None),
        ("until:2026", None, "2026-12-31T23:59:59.999Z"),
        ("since:2026-11-20 until:2026-11-20", "2026-11-20T00:00:00.000Z", "2026-11-20T23:59:59.999Z"),
        ("since:7d", "2026-11-14T12:00:00.000Z", None),
        ("since:2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000Z", None),
        ("until:2026-11-20T10:00:00.500+01:00", None, "2026-11-20T09:00:00.500Z"),
    ],
)
def test_times(text: str, since: str | None, until: str | None) -> None:
    filters = parse_query(text, NOW).filters
    assert (filters.since, filters.until) == (since and since.replace("11-01", "11-01"), until)


def test_a_kind_is_understood_by_its_other_names() -> None:
    assert parse_query("is:rule is:Tasks").filters.kinds == ("preference", "task")
    assert parse_query("kind:rule kind:summary").filters.kinds == ("rule", "preference", "summary")  # a book's own name


@pytest.mark.parametrize(
    "text",
    ["since:yesterday", "until:x", "is:nothing", "since:9999y", "since:2026-13", "since:2026-02-30", "since:0000"],
)
def test_a_filter_that_says_nothing_is_an_error_that_says_what_it_takes(text: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_query(text, NOW)
    assert raised.value.hint


@given(st.text(alphabet=st.sampled_from('ab"-:. _/+is:since:project:日本\0\udcff'), max_size=60) | st.text())
def test_any_text_is_a_query_or_a_clear_error(text: str) -> None:
    try:
        query = parse_query(text, NOW)
    except InvalidInput:
        return
    assert len(query.words) <= MAX_QUERY_WORDS
    assert all(word.strip() and '"' not in word for word in query.words)


def test_endless_queries_are_bounded() -> None:
    for text in ("word%d " * 30_000, "x" * 100_000, '"' * 100_001, "a." * 50_000, "日" * 100_000):
        assert len(parse_query(text, NOW).words) <= MAX_QUERY_WORDS
    assert len(extract_words(" ".join(map(str, range(9999))))) == MAX_QUERY_WORDS


@given(st.text().filter(lambda text: "\u200b" not in text))
def test_segments_join_to_the_text(text: str) -> None:
    assert remove_separators(segment(text)) == text


@given(st.lists(st.text(min_size=1, max_size=3000), min_size=1, max_size=8))
def test_passages_hold_every_turn_in_order(texts: list[str]) -> None:
    found = split_turns([TurnText(number, USER, text) for number, text in enumerate(texts, 1)])
    assert "".join("".join(p.text for p in found).split()) == "".join("".join(texts).split())
    assert (found[0].first, found[-1].last) == (1, len(texts))
    assert all(p.first <= p.last and len(p.text) <= 2 * 1200 for p in found)
    assert [p.first for p in found] == sorted(p.first for p in found)


def test_a_text_without_turns_has_passages_without_numbers() -> None:
    assert split_text("  short  ") == (Passage("short"),)
    assert split_text("") == ()
    assert len(split_text("word " * 1000)) > 3


def mistype(word: str, place: int) -> list[str]:
    """Return the word with a letter missing, doubled, wrong, and swapped with the next one."""
    start, letter, rest = word[:place], word[place], word[place + 1 :]
    return [start + rest, start + letter + letter + rest, start + "x" + rest, start + rest[:1] + letter + rest[1:]]


@given(st.text("abcdef", min_size=5, max_size=12), st.data())
def test_one_mistake_in_a_word_or_before_its_ending_finds_the_term(term: str, data: st.DataObject) -> None:
    others = ["x" * 9, "zzzz", term[0] + "yyyyyyyy"]
    for word in mistype(term, data.draw(st.integers(1, len(term) - 2))):
        assert spelling.find_nearest(word, [*others, term]) == ([term] if len(word) >= 4 else [])
        if len(word) >= 6:
            assert spelling.find_nearest(word + "ing", [*others, term]) == [term]


@pytest.mark.parametrize("word", ["", "abc", "utf8", "x-y-z-w"])
def test_a_word_that_may_have_no_mistake_is_near_nothing(word: str) -> None:
    assert spelling.find_nearest(word, ["abcd", "utf9", "x-y-z-v"]) == []


def test_three_terms_at_most_are_near_by_length_and_letters() -> None:
    """Fails if a term with more mistakes is taken along, or the order is the index's."""
    assert spelling.find_nearest("conuter", ["country", "counter", "conifer"]) == ["counter"]
    assert spelling.find_nearest("bater", ["water", "rater", "later", "batter", "hater"]) == ["hater", "later", "rater"]


@given(st.text(), st.sampled_from([None, "en", "de", "fr", "pt", "es"]))
def test_forms_are_few_and_others(word: str, tongue: str | None) -> None:
    found = language.find_forms(word, tongue)
    assert len(found) <= 8
    assert word not in found
