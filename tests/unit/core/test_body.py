"""The body hash: what `body-normalized-v1` forgives, and what it does not."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.body import LongText, body_sha256, cleaned, normalized
from tests.support.cases import each
from tests.support.materials import texts


@given(texts("  \r\n", "\t\n\n", "\f", "\x1c"))
def test_normalizing_twice_changes_nothing_and_keeps_the_hash(body: str) -> None:
    once = normalized(body)
    assert normalized(once) == once
    assert body_sha256(once) == body_sha256(body)


@given(texts("  \r\n", "\t\n\n", " ", "\t", "\r", "\n"))
def test_a_body_that_needs_no_change_is_told_from_one_that_does(body: str) -> None:
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert normalized(body) == "\n".join(line.rstrip(" \t") for line in lines).rstrip("\n")


@given(texts())
def test_line_ends_and_trailing_space_do_not_count(body: str) -> None:
    unix = body.replace("\r\n", "\n").replace("\r", "\n")
    assert body_sha256(unix.replace("\n", "\r\n")) == body_sha256(unix)
    assert body_sha256(unix.replace("\n", " \t\n") + "\n\n") == body_sha256(unix)


@each("other", [" one", "\none", "one\xa0", "one\u0085", "one\u2028", "one\f", "onе", "\ufeffone"])
def test_everything_else_counts(other: str) -> None:
    assert body_sha256(other) != body_sha256("one")


@given(texts())
def test_a_lone_surrogate_counts_as_the_replacement_character(body: str) -> None:
    assert len(cleaned(body).encode()) >= len(body)
    assert body_sha256(cleaned(body)) == body_sha256(body)


@given(st.lists(texts("  \r\n", "\t\n\n", " ", "\t", "\r", "\n", "\f"), max_size=8))
def test_a_body_in_pieces_has_the_hash_of_the_whole(pieces: list[str]) -> None:
    """Wherever it is cut. Fails where the white space at a piece's end isn't kept for the next one."""
    body = LongText(lambda: pieces)
    assert str(body) == "".join(pieces)
    assert body_sha256(body) == body_sha256("".join(pieces))
