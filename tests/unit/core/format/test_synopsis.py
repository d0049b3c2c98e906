"""Ask, outcome and title: a person's own words, and the agent's, as plain text on one line.

What each guard rests on: `_CHATTER`, `_NO_REQUEST` and `_is_pasted` (no request); `_split_paragraphs` (markup);
`to_one_line` (control and bidi characters); `cut_at_word` (whole words); `_RESULT` and `_NO_RESULT` (the outcome).
"""

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.synopsis import (
    MAX_CHARS,
    MAX_TITLE_CHARS,
    Synopsis,
    build_synopsis,
    build_title,
    find_ask,
    find_outcome,
)  # fmt: skip
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, TurnText

LOG = "\n".join(f"2026-11-02 14:03:0{n} [E{n}] 0x7f{n}e: ({n}) != {n}{n}; at=0x{n}" for n in range(9))


@pytest.mark.parametrize(
    ("said", "ask"),
    [
        ("Why does it drop the last line?", "Why does it drop the last line?"),
        ("## Task\n\nPlease **rename** `parse` in [docs](https://x.y/z), too.", "Please rename parse in docs, too."),
        ("it's *really* slow, ~~not~~ **since 2.0**: a * b", "it's really slow, not since 2.0: a * b"),
        ("- [ ] drop the old flag\n- [ ] and its test", "drop the old flag and its test"),
        ("fix\u202e this\x07 parser\nnow", "fix this parser now"),
        ("<system-reminder>read the rules</system-reminder>\nadd a test for it", "add a test for it"),
        (f"make this pass:\n\n```\n{LOG}\n```", "make this pass:"),
        (f"{LOG}\n\nwhy does this fail on Windows?", "why does this fail on Windows?"),
        ("keep f(a*b) and __init__.py, drop **kwargs", "keep f(a*b) and __init__.py, drop **kwargs"),
        ("最后一行丢失了,请修复", "最后一行丢失了,请修复"),
        ("yes", ""), ("ok, go ahead please", ""), ("/clear", ""), ("/model opus", ""), ("/add-dir", ""),
        ("/review the parser", "/review the parser"), ("whoami", ""), ("hi there!", ""), ("continue", ""),
        (LOG, ""), (f"```\n{LOG}\n```", ""), ("[Request interrupted by user]", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_ask_is_what_a_person_asks_for(said: str, ask: str) -> None:
    assert find_ask(said) == ask


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("I looked at it. **Fixed** the `parser`, e.g. for CSV. Shall I push?", "Fixed the parser, e.g. for CSV."),
        ("# Summary\n\n- All 13 comments addressed\n- Let me know", "All 13 comments addressed"),
        ("I will fix it once you agree. It is not done yet. Here is the plan.", "I will fix it once you agree."),
        ("Root cause: two workers share a lock.\nNext I'd add a test.", "Root cause: two workers share a lock."),
        ("```\ndone\n```", ""),
        ("", ""),
    ],
)
def test_the_outcome_is_a_sentence_that_states_a_result_or_the_first(said: str, outcome: str) -> None:
    assert find_outcome(said) == outcome


def test_a_session_s_are_the_first_request_and_the_last_message() -> None:
    said = [
        TurnText(1, USER, "hello"),
        TurnText(2, ASSISTANT, "Done: nothing yet."),
        TurnText(3, TOOL, "please delete everything in it"),
        TurnText(4, USER, "rename the parser"),
        TurnText(5, USER, "and the reader as well"),
        TurnText(6, ASSISTANT, "Renamed the parser in 4 files."),
        TurnText(7, SYSTEM, "Fixed what nobody heard of."),
        TurnText(8, TOOL, "fixed everything"),
    ]
    assert build_synopsis(said) == Synopsis("rename the parser", "Renamed the parser in 4 files.")
    assert build_synopsis([]) == Synopsis()


def test_the_title_is_the_ask_else_the_outcome_else_what_was_known_at_capture() -> None:
    assert build_title("rename it", "Renamed it.", "x") == "rename it"
    assert build_title("", "Renamed it.", "x") == "Renamed it."
    assert build_title("", "", "known\x07 at\ncapture") == "known at capture"
    title = build_title("word " * 40, "")
    assert len(title) <= MAX_TITLE_CHARS
    assert set(title.removesuffix("…").split()) == {"word"}
    assert len(build_title("最" * 200, "")) == MAX_TITLE_CHARS


@given(st.lists(st.text(max_size=400) | st.sampled_from(["fix the parser", "**", "```\n", "\n\n", "<a>", "- "])))
def test_any_text_becomes_a_line_of_whole_words(parts: list[str]) -> None:
    text = " ".join(parts)
    ask, outcome = find_ask(text), find_outcome(text)
    for line, most in ((ask, MAX_CHARS), (outcome, MAX_CHARS), (build_title(ask, outcome, text), MAX_TITLE_CHARS)):
        assert len(line) <= most
        assert line == " ".join(line.split())
        assert not any(category(character) == "Cc" or "\u202a" <= character <= "\u202e" for character in line)


def test_a_huge_text_is_read_at_its_ends_alone() -> None:
    wall = "0x7f; " * 1_000_000
    assert find_ask(f"{wall}\n\nplease shorten this log") == "please shorten this log"
    assert find_ask(f"please shorten this log\n\n{wall}") == "please shorten this log"
    assert find_ask(wall + "and halves of words are none of mine") == ""
