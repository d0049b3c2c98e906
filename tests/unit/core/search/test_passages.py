"""Who speaks where in a passage. Fails without the place of a message that began before."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.templates import split_template
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, TurnText
from lineage.core.search.passages import Passage, split_turns
from lineage.core.search.speakers import NARRATED, REPLIED, TYPED, parse_speakers


def split(*said: tuple[str, str]) -> list[Passage]:
    return list(split_turns([TurnText(number, *one) for number, one in enumerate(said, 1)]))


def test_the_last_message_before_a_person_s_is_a_reply_and_those_before_it_narrate() -> None:
    (passage, tools) = split(
        (USER, "Why?"), (ASSISTANT, "I look."), (TOOL, "ls"), (ASSISTANT, "Fixed."), (SYSTEM, "x"), (USER, "And?"),
        (ASSISTANT, "Later."),
    )  # fmt: skip
    assert passage.text == "Why?\nI look.\nFixed.\nAnd?\nLater."
    assert parse_speakers(passage.speakers) == [(TYPED, 0), (NARRATED, 5), (REPLIED, 13), (TYPED, 20), (REPLIED, 25)]
    assert tools.speakers == ""


def test_a_person_s_turn_without_a_word_of_theirs_ends_a_reply_all_the_same() -> None:
    command = "IT IS CRITICAL THAT YOU FOLLOW THIS COMMAND: LOAD the FULL @plan.md"
    assert split_template(command)[0] == ""
    (passage, *_) = split((USER, "Why?"), (ASSISTANT, "It was blocked."), (USER, command), (ASSISTANT, "I look."))
    assert parse_speakers(passage.speakers) == [(TYPED, 0), (REPLIED, 5), (REPLIED, 21)]


def test_nobody_typed_the_prompt_of_a_sub_agent() -> None:
    (passage,) = split_turns([TurnText(1, USER, "Why?"), TurnText(2, ASSISTANT, "It split.")], is_typed=False)
    assert passage.speakers == "n0 r5"


def test_signs_that_the_index_takes_for_its_own_move_nobody_s_place() -> None:
    (passage,) = split((USER, "a\u200bb\u200bc"), (ASSISTANT, "Fixed."))
    assert (passage.text, passage.speakers) == ("abc\nFixed.", "t0 r4")


WORDS = st.text("ab \n", min_size=1, max_size=12).map(lambda text: f"x{text * 200}y")


@given(st.lists(st.tuples(st.sampled_from([USER, ASSISTANT, TOOL]), st.one_of(st.text("abc", min_size=1), WORDS))))
def test_each_message_begins_where_it_is_said_to(said: list[tuple[str, str]]) -> None:
    spoken = [text for role, text in said if role != TOOL]
    begun = 0
    for passage in split(*said):
        found = parse_speakers(passage.speakers)
        assert bool(found) == (not passage.of_tools and bool(spoken))
        for _, start in found:
            if start >= 0:
                begun += 1
            message = spoken[begun - 1]
            # A chunk stands where the text before it ends.
            rest = message[-start:] if start < 0 else message
            shown = passage.text[max(0, start) :]
            assert shown.startswith(rest) or rest.startswith(shown)
    assert begun == len(spoken)
