"""Consecutive texts: a secret that one begins and the next one ends is redacted in both.

Fails without the windows around the seams, without the open block of a private key, and when a whole secret takes the
next text's first word with it.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.sanitizer import MARKER, Sanitizer
from tests.support.cases import each
from tests.support.materials import texts
from tests.unit.core.sanitizer_engine.material import NOISE, OWN, TOKEN

ANY = st.lists(texts(*NOISE, TOKEN, TOKEN[:12], TOKEN[12:], OWN.rules[1].example[:60]), max_size=6)


@each("at", range(3, len(TOKEN) - 3))
def test_a_split_secret_is_redacted_in_both(at: int) -> None:
    marker = "[REDACTED:probe-token]"
    assert Sanitizer(OWN).texts([f"it is {TOKEN[:at]}", f"{TOKEN[at:]}, yes", "more"]) == [
        f"it is {marker}",
        f"{marker}, yes",
        "more",
    ]


def test_a_secret_in_many_small_chunks_is_redacted_in_all_of_them() -> None:
    chunks = ["say ", *(TOKEN[at : at + 4] for at in range(0, len(TOKEN), 4)), " now"]
    shown = Sanitizer(OWN).texts(chunks)
    assert shown[0] == "say "
    assert shown[-1] == " now"
    assert all(MARKER.fullmatch(text) for text in shown[1:-1])


def test_a_private_key_goes_on_in_the_next_text() -> None:
    key = OWN.rules[1].example
    for at in range(50, len(key) - 20, 9):
        assert Sanitizer(OWN).texts([f"cat it\n{key[:at]}", f"{key[at:]}\ndone"]) == [
            "cat it\n[REDACTED:probe-block]",
            "[REDACTED:probe-block]\ndone",
        ]


@pytest.mark.parametrize("following", ["Thanks!", "and then", " it works", "\nx", "", "OK", "https://example.org"])
def test_a_whole_secret_takes_nothing_of_the_next_text(following: str) -> None:
    assert Sanitizer(OWN).texts([f"it is {TOKEN}", following])[1] == following


def test_white_space_between_them_keeps_texts_apart() -> None:
    halves = [f"it is {TOKEN[:12]} ", TOKEN[12:]]
    assert Sanitizer(OWN).texts(halves) == halves


@given(ANY)
def test_texts_twice_is_texts_once(given_texts: list[str]) -> None:
    once = Sanitizer(OWN).texts(given_texts)
    again = Sanitizer(OWN)
    assert again.texts(once) == once
    assert not again.redactions
    assert len(once) == len(given_texts)


@given(ANY)
def test_nothing_is_left_that_a_text_alone_would_have_lost(given_texts: list[str]) -> None:
    for shown in Sanitizer(OWN).texts(given_texts):
        assert Sanitizer(OWN).text(shown) == shown
