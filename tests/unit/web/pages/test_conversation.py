"""A page of turns: which are chosen, what of them is shown, and that the page stays small.

Fails without the cut, for a cut that doesn't count what escaping adds, and for a filter that lets other turns through.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, InputPart, Turn
from lineage.web.pages.conversation import (
    EDITED,
    SAID,
    choose_turns,
    count_edits,
    list_requests,
    show_turns,
)

EDIT = InputPart("new line\n", old="old line\n")
TURNS = [
    Turn(USER, "Please mend **reader.py**.", id="t-0000000001", number=1),
    Turn(ASSISTANT, "Let me think.", thinking=True, number=2),
    Turn(ASSISTANT, "", name="Edit", input="/a/reader.py", parts=(EDIT,), number=3),
    Turn(TOOL, "done", name="Edit", number=4, call=3),
    Turn(ASSISTANT, "", name="Bash", input="pytest -q", parts=(InputPart("pytest -q", "bash"),), number=5),
    Turn(TOOL, "1 passed", name="Bash", number=6, call=5),
    Turn(SYSTEM, "a reminder of the harness", number=7),
    Turn(ASSISTANT, "It is mended.", number=8),
]


@pytest.mark.parametrize(
    ("only", "words", "numbers"),
    [
        ("", "", [1, 2, 3, 4, 5, 6, 7, 8]), (SAID, "", [1, 8]), (EDITED, "", [3]), ("", "READER", [1, 3]),
        (SAID, "reader mend", [1]), ("", "old line", [3]), ("", "absent", []), ("", "1 passed", [6]),
    ],
)  # fmt: skip
def test_turns_are_chosen(only: str, words: str, numbers: list[int]) -> None:
    assert [turn.number for turn in choose_turns(TURNS, only, words)] == numbers


def test_what_is_said_is_rendered_and_the_rest_is_folded() -> None:
    shown = {one.turn.number: one.texts for top in show_turns(TURNS) for one in (top, *top.results)}
    assert "<strong>reader.py</strong>" in shown[1][0].html
    assert not shown[1][0].label
    assert [text.label for number in (2, 4, 6, 7) for text in shown[number]] == [
        "Thinking, 1 line", "Result, 1 line", "Result, 1 line", "Added by the harness, 1 line",
    ]  # fmt: skip
    assert (shown[3][0].label, shown[3][0].is_open) == ("Edit", True)
    assert "<del>-old line</del>" in shown[3][0].html
    assert shown[5] == ()  # the line of the call says it


def test_a_result_stands_below_its_call_if_both_are_on_the_page() -> None:
    below = {one.turn.number: [result.turn.number for result in one.results] for one in show_turns(TURNS)}
    assert below == {1: [], 2: [], 3: [4], 5: [6], 7: [], 8: []}
    assert [one.turn.number for one in show_turns(TURNS[3:])] == [4, 5, 7, 8]


def test_no_text_turns_around_what_follows() -> None:
    turned = "a \u202eb\u202c \u2067c"
    edit = InputPart(turned, old=f"{turned} d")
    turns = [
        Turn(USER, turned, id="t-0000000001", number=1),
        Turn(ASSISTANT, "", name="Edit", input="x", parts=(edit,), number=2),
        Turn(TOOL, turned, call=2, number=3),
    ]
    shown = [text.html for top in show_turns(turns) for one in (top, *top.results) for text in one.texts]
    assert len(shown) == 3
    assert all("U+202E" in html and "\u202e" not in html and "\u2067" not in html for html in shown)
    assert "\u202e" not in list_requests(turns)[0].text


def test_requests_and_edited_files_are_listed() -> None:
    assert [(one.turn_id, one.text) for one in list_requests(TURNS)] == [("t-0000000001", "Please mend **reader.py**.")]
    assert len(list_requests(TURNS * 200)) == 40
    assert count_edits(TURNS * 2) == {"/a/reader.py": 2}


texts = st.sampled_from(("word ", "<b>", "'&\"", "日本", "😀", "`x` ", "\n", "a+b=c;")).flatmap(
    lambda piece: st.integers(0, 40_000).map(lambda count: piece * (count // len(piece)))
)


@pytest.mark.slow
@given(st.lists(st.tuples(texts, texts, st.sampled_from(("said", "tool", "edit", "code"))), max_size=50))
def test_a_page_stays_small_and_says_what_it_left_out(made: list[tuple[str, str, str]]) -> None:
    kinds = {
        "said": lambda one, two: Turn(ASSISTANT, one),
        "tool": lambda one, two: Turn(TOOL, one, call=1),
        "edit": lambda one, two: Turn(ASSISTANT, "", name="Edit", input="a", parts=(InputPart(two, old=one),)),
        "code": lambda one, two: Turn(ASSISTANT, "", name="Write", input="a", parts=(InputPart(one, "python"),)),
    }
    turns = [kinds[kind](one, two) for one, two, kind in made]
    shown = show_turns(turns)
    assert sum(len(text.html.encode()) for turn in shown for text in turn.texts) < 90_000
    for (one, two, kind), turn in zip(made, shown, strict=True):
        if turn.texts and kind == "tool":
            (text,) = turn.texts
            assert len(text.html.unescape()) + text.rest == len(one)
        if turn.texts and kind == "edit":
            assert turn.texts[0].rest <= len(InputPart(two, old=one).as_text())  # as plain text its lines have signs
