"""Fails if a run of eight words that was cut out is not found again, or if fingerprints grow with their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.normalize import tokenize
from lineage.core.base.word_runs import hash_runs
from lineage.core.format.fingerprints import compute_fingerprints, decode_fingerprints, encode_fingerprints

WORDS = st.lists(st.text("abcdé", min_size=1, max_size=3), max_size=30)


@given(WORDS, st.lists(st.text("xyzÄ", min_size=1, max_size=3), min_size=8, max_size=12), WORDS)
def test_eight_words_in_a_row_are_found_in_any_text(before: list[str], run: list[str], after: list[str]) -> None:
    cut_out = compute_fingerprints(" ".join([*before, *run, *after]))
    assert cut_out.intersection(hash_runs(tokenize("-".join(run).upper())))


def test_words_of_another_text_are_not_found() -> None:
    cut_out = compute_fingerprints(" ".join(f"w{number}" for number in range(1000)))
    assert cut_out.isdisjoint(hash_runs(tokenize(" ".join(f"v{number}" for number in range(1000)))))
    assert len(cut_out) < 500
    assert compute_fingerprints("no more than seven words stand here") == frozenset()


@given(st.frozensets(st.integers(0, 2**32 - 1), max_size=20))
def test_fingerprints_read_back(fingerprints: frozenset[int]) -> None:
    assert decode_fingerprints(encode_fingerprints(fingerprints)) == fingerprints


@pytest.mark.parametrize("text", ["AA==", "not base64!", "AAAAA"])
def test_what_is_no_fingerprints_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_fingerprints(text)
