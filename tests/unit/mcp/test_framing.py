"""How an answer is put before an agent. Fails where a text isn't quoted, or a budget isn't kept."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.injection import CONTEXT_CLOSING, CONTEXT_OPENING
from lineage.mcp.framing import MOST_BYTES, Piece, framed, plain_error
from lineage.projection.context import AUTHORITY
from tests.support.materials import INVISIBLE, texts

FRAMES = texts(CONTEXT_CLOSING, CONTEXT_OPENING, "> - [user-stated] ", "… cut: ", "x" * 900 + "\n", "語" * 3000)


@given(st.lists(FRAMES.map(lambda text: Piece("lead", text)), max_size=40))
def test_nothing_that_somebody_said_leaves_its_place(pieces: list[Piece]) -> None:
    opening, *lines, closing = framed("head", pieces, "rest").split("\n")
    assert (opening, closing) == (CONTEXT_OPENING, CONTEXT_CLOSING)
    own = [line for line in lines if not line.startswith("> ")]
    assert own[:4] == [*AUTHORITY.split("\n"), "", "head"]
    assert all(line == "nothing" or line.startswith("… cut: ") for line in own[4:])
    assert len(own) <= 5
    said = "\n".join(line for line in lines if line.startswith("> "))
    assert not INVISIBLE.search(said.replace("\n", ""))
    assert "[user-stated]" not in said
    assert CONTEXT_CLOSING not in said


@given(st.lists(FRAMES.map(lambda text: Piece("lead", text * 20)), max_size=40), FRAMES)
def test_it_keeps_to_its_bytes_and_says_what_it_cut(pieces: list[Piece], long: str) -> None:
    text = framed("head", [*pieces, Piece("long", long * 50)], "Ask for less.")
    assert len(text.encode()) <= MOST_BYTES
    shown = sum(line.startswith(("> - lead", "> - long")) for line in text.split("\n"))
    assert (shown < len(pieces) + 1) <= (f"… cut: {shown} of {len(pieces) + 1} are shown. Ask for less." in text)


def test_a_long_text_leaves_room_for_others_and_alone_takes_all_of_it() -> None:
    long = "\n".join(f"line {number}" for number in range(10_000))
    several = framed("head", [Piece("a", long), Piece("b", "short")], "")
    alone = framed("head", [Piece("a", long)], "Read on.")
    assert "> - b: short" in several
    assert several.count("this text goes on") == alone.count("this text goes on") == 1
    assert MOST_BYTES * 0.9 < len(alone.encode()) <= MOST_BYTES
    assert len(several.encode()) < MOST_BYTES / 2
    assert "… cut: 1 of 1 are shown. Read on." in alone


def test_what_fits_is_not_said_to_be_cut() -> None:
    assert "cut" not in framed("head", [Piece("a", "one\ntwo")], "rest")
    assert "> - a: one\n>   two" in framed("head", [Piece("a", "one\n\ntwo")], "rest")


@given(FRAMES, FRAMES)
def test_an_error_is_two_short_lines_without_a_frame(message: str, hint: str) -> None:
    lines = plain_error(message, hint).split("\n")
    assert len(lines) == 2
    assert all(len(line) < 6_000 and CONTEXT_CLOSING not in line for line in lines)
