"""What a command prints: text, never anything that moves a cursor."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from lineage.cli import output
from lineage.cli.output import fold, strip_controls


@given(st.text("aé \n\t\r\x00\x1b\x85\u200e\u202e\u2066\ud800\u3000"))
def test_what_moves_a_cursor_is_left_out_and_nothing_else(text: str) -> None:
    assert strip_controls(text) == re.sub("[\r\x00\x1b\x85\u200e\u202e\u2066\ud800]", "", text)


@given(st.lists(st.text("aé日 \u0301-", max_size=30), min_size=1, max_size=8).map(" ".join), st.integers(20, 60))
def test_a_folded_line_keeps_its_words_in_order_and_fits(text: str, width: int) -> None:
    folded = fold(text, width)
    assert folded.split() == text.split()
    for line in folded.split("\n"):
        assert cell_len(line) <= width or len(line.split()) <= 1 or " " not in line.strip(), line


@pytest.mark.parametrize(
    "line",
    ["  its words won't come back either; to take that back: `lineage memory restore 6043d46f d18eda21 0a1b2c3d`",
     "waiting: a session of claude-code that ended today without a hook → lineage admin sweep --idle 0"],
)  # fmt: skip
def test_a_command_that_is_to_be_copied_stays_on_one_line(line: str) -> None:
    (command,) = re.findall(r"lineage [^`]*", line)
    folded = fold(line, 40)
    assert "\n" in folded and command in folded
    assert " ".join(folded.split()) == " ".join(line.split())


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_a_line_is_cut_on_the_narrowest_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert output.cut_line("“abcdef”").endswith("…”")
