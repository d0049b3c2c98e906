"""The one escaping function: nothing that it lets through can leave its place in a line."""

import re

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.links import escape_markdown, escape_markdown_line, to_one_line, unescape_markdown, wikilink
from tests.support.strategies import INVISIBLE, draw_texts


@given(draw_texts())
def test_one_line_is_one_printable_line_and_stays_it(text: str) -> None:
    line = to_one_line(text)
    assert len(line.splitlines()) <= 1
    assert not INVISIBLE.search(line)
    assert to_one_line(line) == line


@given(st.text("a \n") | st.text("aé \n\t\x00\u3000"))
def test_one_line_holds_the_words_apart_by_one_space(text: str) -> None:
    assert to_one_line(text) == " ".join(text.replace("\x00", "").split())


@given(draw_texts())
def test_nothing_escaped_can_open_or_close_a_link_cell_span_or_tag(text: str) -> None:
    line = escape_markdown(text)
    assert not re.search(r"[<`]", line)
    assert not INVISIBLE.search(line)
    left = re.sub(r"\\.", " ", line)
    assert not re.search(r"[\[\]|^\\]", left)
    assert not re.search(r"#[^\s\d#]", left)


@given(draw_texts())
def test_unescaping_gives_the_line_back(text: str) -> None:
    line = to_one_line(text)
    assert unescape_markdown(escape_markdown(line)) == line
    assert unescape_markdown(escape_markdown_line(f" {line} ")) == f" {line} "


def test_a_link_is_relative_to_the_workspace() -> None:
    assert wikilink("memory/x--summary.md") == "[[memory/x--summary.md]]"
    assert wikilink("memory/x--summary.md", "summary") == "[[memory/x--summary.md|summary]]"
