"""What a program prints reaches the terminal as text: whole, in pieces, and never as a command to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.terminal import EscapeFilter

LOUD = (
    "a\x1b[31mred\x1b[0m \x1b]0;title\x07b \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ "
    "\x9b2Jz \x1bPq\x1b\\\x1b(B.\x1b]52;c;aGk=\x07 \r\n\u202eevil\u202c\x08\x7f"
)
NOISE = st.text(alphabet="ab \n\r\x07\x1b\x9b\x9c\x9d[]\\;?0123mJKPX^_(B\u202e", max_size=60)


def cleaned(text: str, size: int, *, colour: bool = False) -> str:
    cleaner = EscapeFilter(colour=colour)
    pieces = (text[place : place + size] for place in range(0, len(text), size))
    return "".join(map(cleaner.clean, pieces)) + cleaner.flush()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_sequences_go_however_they_are_cut(size: int) -> None:
    assert cleaned(LOUD, size) == "ared b link z . \nevil"
    assert cleaned(LOUD, size, colour=True) == "a\x1b[31mred\x1b[0m b link z . \nevil"


@given(NOISE, st.integers(1, 8))
def test_nothing_that_moves_a_cursor_ever_gets_through(text: str, size: int) -> None:
    shown = cleaned(text, size)
    assert all(char in "\t\n" or (char.isprintable() and char != "\u202e") for char in shown)
    coloured = cleaned(text, size, colour=True)
    assert "\x1b" not in coloured.replace("\x1b[", "") or not coloured


@given(st.text(alphabet="abc äß日\n\t", max_size=50), st.integers(1, 5))
def test_text_comes_through_as_it_is(text: str, size: int) -> None:
    assert cleaned(text, size) == text


def test_a_sequence_that_never_ends_holds_back_no_more_than_a_bound() -> None:
    cleaner = EscapeFilter()
    shown = cleaner.clean("\x1b]0;" + "x" * 100_000)
    assert len(shown) > 90_000
    assert "\x1b" not in shown
