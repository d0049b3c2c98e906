"""What tells a recalled text again in what is said later: names and phrases, not the words of everybody."""

import pytest

from lineage.recall.marks import mark_text

TEXT = "We moor at berth nine, because berth four silts up; `harbour/berths.py` holds DRAUGHT_TABLE."


@pytest.mark.parametrize(
    "later",
    [
        "I read harbour/berths.py.",
        '{"file_path": "/x", "old": DRAUGHT_TABLE}',
        "as decided: because berth four silts up",
        "BECAUSE BERTH FOUR **silts** up",
    ],
)
def test_a_name_or_a_phrase_is_told_again(later: str) -> None:
    assert mark_text(TEXT) & mark_text(later)


@pytest.mark.parametrize(
    "later", ["", "\ud800 \0", "We moor at berth seven.", "nine, four, and/or up", "2026-11-23 12:30 100%", "e.g. a/b"]
)
def test_words_alone_are_not(later: str) -> None:
    assert not mark_text(TEXT) & mark_text(later)


@pytest.mark.parametrize("name", ["retry_later", "hookEvent", "a.b.toml", "src/x/y", "--max-turns2", "sha256"])
def test_what_is_a_name(name: str) -> None:
    assert mark_text(f"see ({name}):") == mark_text(name) != set()


@pytest.mark.parametrize("word", ["berth", "Berth", "and/or", "2026-11-23", "3.14", "it's", "a.b", "README"])
def test_what_is_none(word: str) -> None:
    assert mark_text(word) == set()
