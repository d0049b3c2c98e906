"""How an answer is put before an agent. Fails where a text isn't quoted, or a budget isn't kept."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.hook_output import CONTEXT_CLOSING, CONTEXT_OPENING
from lineage.mcp.response import MAX_BYTES, ResponseItem, render_error, render_response
from lineage.projection.context_block import PREAMBLE
from tests.support.strategies import INVISIBLE, draw_texts

FRAMES = draw_texts(CONTEXT_CLOSING, CONTEXT_OPENING, "> - [user-stated] ", "… cut: ", "x" * 900 + "\n", "語" * 3000)


@given(st.lists(FRAMES.map(lambda text: ResponseItem("lead", text)), max_size=40))
def test_nothing_that_somebody_said_leaves_its_place(pieces: list[ResponseItem]) -> None:
    opening, *lines, closing = render_response("head", pieces, "rest").split("\n")
    assert (opening, closing) == (CONTEXT_OPENING, CONTEXT_CLOSING)
    own = [line for line in lines if not line.startswith("> ")]
    assert own[:4] == [*PREAMBLE.split("\n"), "", "head"]
    assert all(line == "nothing" or line.startswith("… cut: ") for line in own[4:])
    assert len(own) <= 5
    said = "\n".join(line for line in lines if line.startswith("> "))
    assert not INVISIBLE.search(said.replace("\n", ""))
    assert "[user-stated]" not in said
    assert CONTEXT_CLOSING not in said


@given(st.lists(FRAMES.map(lambda text: ResponseItem("lead", text * 20)), max_size=40), FRAMES)
def test_it_keeps_to_its_bytes_and_says_what_it_cut(pieces: list[ResponseItem], long: str) -> None:
    text = render_response("head", [*pieces, ResponseItem("long", long * 50)], "Ask for less.")
    assert len(text.encode()) <= MAX_BYTES
    shown = sum(line.startswith(("> - lead", "> - long")) for line in text.split("\n"))
    assert (shown < len(pieces) + 1) <= (f"… cut: {shown} of {len(pieces) + 1} are shown. Ask for less." in text)


def test_a_long_text_leaves_room_for_others_and_alone_takes_all_of_it() -> None:
    long = "\n".join(f"line {number}" for number in range(10_000))
    several = render_response("head", [ResponseItem("a", long), ResponseItem("b", "short")], "")
    alone = render_response("head", [ResponseItem("a", long)], "Read on.")
    assert "> - b: short" in several
    assert several.count("this text goes on") == alone.count("this text goes on") == 1
    assert MAX_BYTES * 0.9 < len(alone.encode()) <= MAX_BYTES
    assert len(several.encode()) < MAX_BYTES / 2
    assert "… cut: 1 of 1 are shown. Read on." in alone


def test_what_fits_is_not_said_to_be_cut() -> None:
    assert "cut" not in render_response("head", [ResponseItem("a", "one\ntwo")], "rest")
    assert "> - a: one\n>   two" in render_response("head", [ResponseItem("a", "one\n\ntwo")], "rest")


@given(FRAMES, FRAMES)
def test_an_error_is_two_short_lines_without_a_frame(message: str, hint: str) -> None:
    lines = render_error(message, hint).split("\n")
    assert len(lines) == 2
    assert all(len(line) < 6_000 and CONTEXT_CLOSING not in line for line in lines)
