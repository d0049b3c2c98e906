"""Fails if a recall splits a text in other words than a capture does: what a tool printed would be told at a prompt."""

from hypothesis import example, given
from hypothesis import strategies as st

from lineage.core.base.normalize import tokenize, tokenize_folded
from lineage.core.base.unwrap import fold_readings
from lineage.core.base.word_runs import fold_plain, split_folded

SIGNS = st.one_of(st.characters(codec="utf-8"), st.sampled_from("aÉßﬁ ̈が’…ä­\u200b한글日本_-.,1"))


@example("Straße’s ﬁle, Übergabe: 日本語のファイル")
@example("zero\u200bwidth ä")
@given(st.text(SIGNS, max_size=60))
def test_plain_words_are_those_of_a_capture(text: str) -> None:
    folded = fold_plain(text)
    if folded is not None:
        assert split_folded(folded) == tokenize(text)


def test_what_may_be_markup_is_left_to_the_whole_reading() -> None:
    for text in ("skip <b>the</b> check", r"a\nb", "[the](docs) say", "see%20this", "signa-\nture", "app | row"):
        assert fold_plain(text) is None, text
    whole = tokenize_folded(fold_readings("push straight to the mirror"))
    assert split_folded(fold_plain("Push straight to the mirror") or "") == whole
