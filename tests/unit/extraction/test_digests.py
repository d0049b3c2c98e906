"""Digests: what was asked, touched, run, decided, learnt and left open."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage.core.format.clipping import ClipLimits, clip_turn
from lineage.core.format.transcript import parse_turns, render_turns
from lineage.core.format.turns import ASSISTANT, ROLES, SYSTEM, TOOL, USER, Turn, assign_ids
from lineage.extraction.digests import build_digest
from tests.support.strategies import draw_named_tuples, draw_well_formed

TURNS = st.lists(
    draw_named_tuples(
        Turn,
        role=st.sampled_from(ROLES),
        text=draw_well_formed("We decided to keep it as it is here.\n", "TODO: write the other half of it.\n"),
        name=st.sampled_from(["", "Bash", "Edit", "Read"]),
        input=draw_well_formed("src/app.py"),
        error=st.booleans(),
    ),
    max_size=6,
)


def said(role: str, text: str) -> Turn:
    return Turn(role, text)


def test_a_session_is_condensed_to_what_happened() -> None:
    found = build_digest(
        [
            said(USER, "Why does reader.py\nfail?"),
            Turn(ASSISTANT, "", name="Bash", input="pytest -q"),
            Turn(TOOL, "1 failed", name="Bash", error=True),
            Turn(ASSISTANT, "", name="Edit", input="src/reader.py"),
            Turn(ASSISTANT, "", name="Edit", input="src/reader.py"),
            Turn(ASSISTANT, "", name="Read", input="src/other.py"),
            said(
                ASSISTANT,
                "The root cause is that it splits.\n\nWe decided to keep the newline. Next steps: release it.",
            ),
        ]
    )
    assert (found.turns, found.replies, found.errors) == (7, 1, 1)
    assert found.requests == ("Why does reader.py fail?",)
    assert (found.edited_files, found.read_files, found.commands) == (
        ("src/reader.py",),
        ("src/other.py",),
        ("pytest -q",),
    )
    assert found.tools == (("Edit", 2), ("Bash", 1), ("Read", 1))
    assert found.last_reply.startswith("The root cause is that it splits. We decided")
    assert found.lessons == ("The root cause is that it splits.",)
    assert found.decisions == ("We decided to keep the newline.",)
    assert found.open_items == ("Next steps: release it.",)
    assert found.names == ("reader.py",)


@pytest.mark.parametrize("name", ["#12", "AB-12", "a_b", "fooBar", "FooBar", "x.py"])
def test_a_name_is_found_where_it_stands_alone(name: str) -> None:
    assert build_digest([said(USER, f"it is {name} here")]).names == (name,)


@given(st.text(alphabet="aA1#_.- eizbZ\né"))
@example("see ABC-12, fooBar and e.g. x.py")
def test_a_name_is_found_whatever_else_is_there(text: str) -> None:
    assert build_digest([said(USER, f"{text} #7")]).names == tuple(
        dict.fromkeys((*build_digest([said(USER, text)]).names, "#7"))
    )


@given(TURNS)
def test_a_digest_of_the_written_transcript_is_the_digest_of_the_turns(raw: list[Turn]) -> None:
    turns = tuple(assign_ids([clip_turn(turn, ClipLimits()) for turn in raw], "token"))
    assert build_digest(parse_turns(render_turns("[[x]]", turns))) == build_digest(turns)


@given(TURNS)
def test_whatever_is_extracted_is_one_line(turns: list[Turn]) -> None:
    found = build_digest([clip_turn(turn, ClipLimits()) for turn in turns])
    lines = (
        *found.requests,
        found.last_reply,
        *found.edited_files,
        *found.commands,
        *found.decisions,
        *found.open_items,
    )
    assert all(len(line.splitlines()) <= 1 for line in lines)


@pytest.mark.parametrize(
    ("last", "ending"),
    [
        (said(ASSISTANT, "done"), "reply"),
        (said(USER, "and?"), "request"),
        (Turn(ASSISTANT, "", name="Bash", input="ls"), "call"),
        (Turn(TOOL, "x", name="Bash"), "result"),
        (said(SYSTEM, "x"), "reply"),
    ],
)
def test_the_last_turn_says_how_it_ended(last: Turn, ending: str) -> None:
    assert build_digest([said(USER, "x"), last]).ending == ending


def test_an_empty_session_has_a_digest() -> None:
    assert (build_digest([]).turns, build_digest([]).ending) == (0, "reply")


def test_thinking_and_code_are_no_source_of_decisions() -> None:
    text = "We decided to keep the newline."
    assert build_digest([Turn(ASSISTANT, text, thinking=True)]).decisions == ()
    assert build_digest([Turn(ASSISTANT, f"```\n{text}\n```\nok")]).decisions == ()


def test_lesson_11_words_are_no_names_and_identifiers_are() -> None:
    text = "The issue was, e.g. in the session, i.e. there: #12 ABC-7 snake_case camelCase PascalCase src/app.py."
    assert build_digest([said(USER, text)]).names == ("#12", "ABC-7", "snake_case", "camelCase", "PascalCase", "app.py")


@pytest.mark.parametrize("unit", ["a-", "a_", "aB", "A1", "a.", "```\n", "- "])
def test_a_long_hostile_text_has_a_digest(unit: str) -> None:
    assert build_digest([said(USER, unit * 50_000)]).turns == 1


def test_decisions_lessons_and_open_points_are_found_in_other_languages_and_not_in_tables() -> None:
    table = "| a | We decided to keep it |"
    text = f"Decidimos manter o Postgres.\n{table}\nDie Ursache war der Puffer.\n残タスクはテストです。"
    found = build_digest([said(ASSISTANT, text)])
    assert found.decisions == ("Decidimos manter o Postgres.",)
    assert found.lessons == ("Die Ursache war der Puffer.",)
    assert found.open_items == ("残タスクはテストです。",)


def test_what_was_open_long_ago_is_not_open() -> None:
    turns = [said(USER, "TODO: write the reader's tests."), *(said(ASSISTANT, "Fine, go on.") for _ in range(4))]
    assert build_digest(turns[:4]).open_items == ("TODO: write the reader's tests.",)
    assert build_digest(turns).open_items == ()


NAMES = re.compile(
    r"#\d{1,6}\b|\b[A-Z][A-Z0-9]{1,9}-\d{1,6}\b|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+"
    r"|\b(?!e\.g\b|i\.e\b)[\w-]{1,64}\.[a-z]{1,4}\b"
)
"""What is a name, without regard to how long it takes to find one."""


PIECES = ["A", "AB09ZZ", "-12", "-", "_", ".py", "e.g", "i.e", "camel", "Case", "#7", " ", "é", "\n", "0", "a" * 70]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("AB09ZZ-12")
def test_names_are_found_however_the_words_are_gone_through(text: str) -> None:
    assert build_digest([Turn(USER, text)]).names == tuple(dict.fromkeys(NAMES.findall(text)))[:64]
