"""Consecutive texts: a secret that one begins and the next one ends is redacted in both.

Fails without the windows around the seams, without the spans of a text that two batches share (`open_spans`), without
the open block of a private key, and when a whole secret takes the next text's first word with it.
"""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.sanitizer import MARKER, Sanitizer, split_secrets
from lineage.core.sanitizer.split_secrets import WINDOW_CHARS
from tests.support.parametrize import each
from tests.support.strategies import draw_texts
from tests.unit.core.sanitizer.material import KEY_BLOCK, NOISE, OWN, TOKEN

ANY = st.lists(draw_texts(*NOISE, TOKEN, TOKEN[:12], TOKEN[12:], KEY_BLOCK[:60]), max_size=6)

BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
PARTS = ("", "word", TOKEN, TOKEN[:12], TOKEN[12:], BEGIN, f"MIIE{TOKEN}", END, "\n")


@each("at", range(3, len(TOKEN) - 3))
def test_a_split_secret_is_redacted_in_both(at: int) -> None:
    marker = "[REDACTED:probe-token]"
    assert Sanitizer(OWN).sanitize_all([f"it is {TOKEN[:at]}", f"{TOKEN[at:]}, yes", "more"]) == [
        f"it is {marker}",
        f"{marker}, yes",
        "more",
    ]


def test_a_secret_in_many_small_chunks_is_redacted_in_all_of_them() -> None:
    chunks = ["say ", *(TOKEN[at : at + 4] for at in range(0, len(TOKEN), 4)), " now"]
    shown = Sanitizer(OWN).sanitize_all(chunks)
    assert shown[0] == "say "
    assert shown[-1] == " now"
    assert all(MARKER.fullmatch(text) for text in shown[1:-1])


def test_a_private_key_continues_in_the_next_text() -> None:
    key = KEY_BLOCK
    for at in range(50, len(key) - 20, 9):
        assert Sanitizer(OWN).sanitize_all([f"cat it\n{key[:at]}", f"{key[at:]}\ndone"]) == [
            "cat it\n[REDACTED:probe-block]",
            "[REDACTED:probe-block]\ndone",
        ]


@pytest.mark.parametrize("following", ["Thanks!", "and then", " it works", "\nx", "", "OK", "https://example.org"])
def test_a_complete_secret_leaves_the_next_text_alone(following: str) -> None:
    assert Sanitizer(OWN).sanitize_all([f"it is {TOKEN}", following])[1] == following


def test_white_space_separates_texts() -> None:
    halves = [f"it is {TOKEN[:12]} ", TOKEN[12:]]
    assert Sanitizer(OWN).sanitize_all(halves) == halves


@given(ANY)
def test_sanitizing_texts_twice_changes_nothing(given_texts: list[str]) -> None:
    once = Sanitizer(OWN).sanitize_all(given_texts)
    again = Sanitizer(OWN)
    assert again.sanitize_all(once) == once
    assert not again.redactions
    assert len(once) == len(given_texts)


@given(ANY)
def test_every_text_is_clean_on_its_own(given_texts: list[str]) -> None:
    for shown in Sanitizer(OWN).sanitize_all(given_texts):
        assert Sanitizer(OWN).sanitize(shown) == shown


LONG = st.sampled_from((0, 0, 0, 2 * WINDOW_CHARS - 20, 2 * WINDOW_CHARS, 2 * WINDOW_CHARS + 20))
PADDED = st.lists(
    st.tuples(st.one_of(draw_texts(*NOISE), st.sampled_from(PARTS)), LONG, st.sampled_from(PARTS)), max_size=9
)


@given(PADDED, st.integers(1, 3 * WINDOW_CHARS))
def test_batches_give_the_same_result_as_all_texts_together(drawn: list[tuple[str, int, str]], batch: int) -> None:
    """The middle is long enough, or not, to keep what is read around a text's beginning apart from its end."""
    given_texts = [f"{head}{'word. ' * (middle // 6)}{tail}" for head, middle, tail in drawn]
    together = Sanitizer(OWN)
    expected = together.sanitize_all(given_texts)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(split_secrets, "BATCH_CHARS", batch)
        apart = Sanitizer(OWN)
        assert list(apart.iter_sanitized(given_texts)) == expected
    assert apart.redactions == together.redactions


def test_few_texts_are_in_memory_even_if_each_continues_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_secrets, "BATCH_CHARS", 1000)
    asked: list[int] = []

    def endless(count: int) -> Iterator[str]:
        for number in range(count):
            asked.append(number)
            yield "word" * (WINDOW_CHARS // 2 + 1)

    first = next(Sanitizer(OWN).iter_sanitized(endless(100)))
    assert first
    assert len(asked) < 10


def test_secrets_that_begin_or_end_in_a_shared_text_are_redacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    halves = TOKEN[:12], TOKEN[12:]
    given_texts = [f"it is {halves[0]}", f"{halves[1]} {'word. ' * 80}{halves[0]}", f"{halves[1]}, yes"]
    monkeypatch.setattr(split_secrets, "BATCH_CHARS", 100)
    assert [len(batch) for batch, _ in split_secrets.iter_batches(given_texts)] == [2, 2]
    marker = "[REDACTED:probe-token]"
    assert Sanitizer(OWN).sanitize_all(given_texts) == [
        f"it is {marker}",
        f"{marker} {'word. ' * 80}{marker}",
        f"{marker}, yes",
    ]
