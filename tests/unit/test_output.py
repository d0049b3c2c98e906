"""What a command prints: text, never anything that moves a cursor."""

import re

from hypothesis import given
from hypothesis import strategies as st

from lineage.cli.output import strip_controls


@given(st.text("aé \n\t\r\x00\x1b\x85\u200e\u202e\u2066\ud800\u3000"))
def test_what_moves_a_cursor_is_left_out_and_nothing_else(text: str) -> None:
    assert strip_controls(text) == re.sub("[\r\x00\x1b\x85\u200e\u202e\u2066\ud800]", "", text)
