"""The body hash: what `body-normalized-v1` forgives, and what it does not."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.body import StreamedText, hash_body, normalize_body, replace_surrogates
from tests.support.parametrize import each
from tests.support.strategies import draw_texts


@given(draw_texts("  \r\n", "\t\n\n", "\f", "\x1c"))
def test_normalizing_twice_changes_nothing_and_keeps_the_hash(body: str) -> None:
    once = normalize_body(body)
    assert normalize_body(once) == once
    assert hash_body(once) == hash_body(body)


@given(draw_texts("  \r\n", "\t\n\n", " ", "\t", "\r", "\n"))
def test_a_body_that_needs_no_change_is_told_from_one_that_does(body: str) -> None:
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert normalize_body(body) == "\n".join(line.rstrip(" \t") for line in lines).rstrip("\n")


@given(draw_texts())
def test_line_ends_and_trailing_space_do_not_count(body: str) -> None:
    unix = body.replace("\r\n", "\n").replace("\r", "\n")
    assert hash_body(unix.replace("\n", "\r\n")) == hash_body(unix)
    assert hash_body(unix.replace("\n", " \t\n") + "\n\n") == hash_body(unix)


@each("other", [" one", "\none", "one\xa0", "one\u0085", "one\u2028", "one\f", "onе", "\ufeffone"])
def test_everything_else_counts(other: str) -> None:
    assert hash_body(other) != hash_body("one")


@given(draw_texts())
def test_a_lone_surrogate_counts_as_the_replacement_character(body: str) -> None:
    assert len(replace_surrogates(body).encode()) >= len(body)
    assert hash_body(replace_surrogates(body)) == hash_body(body)


@given(st.lists(draw_texts("  \r\n", "\t\n\n", " ", "\t", "\r", "\n", "\f"), max_size=8))
def test_a_body_in_pieces_has_the_hash_of_the_whole(pieces: list[str]) -> None:
    """Wherever it is cut. Fails where the white space at a piece's end isn't kept for the next one."""
    body = StreamedText(lambda: pieces)
    assert str(body) == "".join(pieces)
    assert hash_body(body) == hash_body("".join(pieces))
