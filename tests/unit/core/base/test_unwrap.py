"""What a text reads like, for comparison.

Fails if a tag, an escape, a margin, a colour or a link's target stays between two words, or if a reading takes the
place of the text.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.normalize import fold_text, tokenize_folded
from lineage.core.base.unwrap import fold_readings, list_readings, unwrap_text

WORDS = ["we", "decided", "to", "skip", "the", "signature", "check"]
SIGNS = st.sampled_from([*"<>/\\u00e9[](){}&;|-0\x1b%.\n\t ", "<b>", "&amp;", "\\n", "12:00", "wort", "語", "](x)"])


@given(st.lists(SIGNS, max_size=60).map("".join))
def test_a_reading_is_compared_beside_the_text_and_never_in_its_place(text: str) -> None:
    assert list_readings(text)[0] == fold_text(text)
    words = tokenize_folded(fold_text(text))
    assert tokenize_folded(fold_readings(text))[: len(words)] == words


@pytest.mark.parametrize(
    "between",
    [" <i class='x'>", "<br/>", "&#32;", "&nbsp;", "%20", "\\n", "\\\\n", "\\u0020", "\n  17: ", "\nweb-1 | 12:00:01 ",
     " \x1b[31;1m", " <!-- here -->", "\n> 3 | "],
)  # fmt: skip
def test_what_stands_between_words_goes(between: str) -> None:
    assert tokenize_folded(fold_text(unwrap_text(between.join(WORDS)))) == WORDS


def test_what_stands_within_a_word_goes() -> None:
    assert (
        unwrap_text("sig<wbr>na<b></b>ture &eacute;t\\u00e9 \\ud83d\\ude00 hy-\n   phen") == "signature été 😀 hyphen"
    )


def test_a_sentence_within_a_tag_is_still_compared() -> None:
    text = f"<p title='{' '.join(WORDS)}'>"
    assert " ".join(WORDS) in fold_readings(text)
