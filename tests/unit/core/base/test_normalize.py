"""Forms of a text for comparison. Fails if a sign that is spared the slow forms is changed by them, or is in a word."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.normalize import fold_text, tokenize_folded

SIGNS = st.sampled_from("§°·×–—•→│═■★✅➤🔥")
LATIN = st.text(st.characters(codec="ascii"), max_size=6)


@given(st.lists(st.one_of(SIGNS, LATIN), max_size=12).map("".join))
def test_signs_are_folded_and_cut_as_by_the_slow_forms(text: str) -> None:
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    assert fold_text(text) == folded
    assert tokenize_folded(folded) == re.findall(r"[^\W_]+", folded)


@given(st.text("かカーハ、「国한가ㅏ\u11a8\u3099\u309a\u0301ｶﾞ，éß a", max_size=12))
def test_letters_that_nothing_changes_are_folded_as_by_the_slow_forms(text: str) -> None:
    apart = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    assert fold_text(text) == unicodedata.normalize("NFC", re.sub(r"[\u0300-\u036f]", "", apart))


@given(st.characters(), SIGNS)
def test_a_letter_beside_a_sign_is_folded_as_alone(letter: str, sign: str) -> None:
    assert fold_text(f"a {letter} b {sign}") == f"{fold_text(f'a {letter} b ')}{sign}"
