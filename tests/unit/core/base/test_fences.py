"""Fences that hold any text, and unfenced text in which nothing runs or embeds."""

import re

import pytest
from hypothesis import given

from lineage.core.base.fences import fence_text, neutralize_markdown, parse_fence_opening, unmark_code
from tests.support.parametrize import each
from tests.support.strategies import draw_texts


@given(draw_texts("~~~", "\n~~~~\n", "\n`````"))
def test_a_fence_ends_where_its_text_ends(text: str) -> None:
    first, *inside, last = fence_text(text, "note").split("\n")
    opened = parse_fence_opening(first)
    assert opened == (last, "note")
    assert "\n".join(inside) == text
    assert not any(line.lstrip().startswith(last) for line in inside)


@given(draw_texts("dataviewjs\n", "> ```dataview\n", "- ", "1. ", "![[", "---\n"))
def test_defusing_twice_changes_nothing_more(text: str) -> None:
    assert neutralize_markdown(neutralize_markdown(text)) == neutralize_markdown(text)


@each("before", ["", "\\", "\\\\", "text ", "> ", "- ", "é"])
@each(
    "live",
    [
        "![[secret]]",
        "<script>x</script>",
        "</STYLE>",
        "<% tp %>",
        "<iframe src=x>",
        "`= x`",
        "`$= x`",
        "` = x`",
        "`\u00a0$= x`",
        "`\u3000= x`",
        "`\n$= x`",
        "`\ufeff= x`",
    ],
)
def test_nothing_embeds_or_runs_whatever_stands_before_it(before: str, live: str) -> None:
    shown = neutralize_markdown(before + live)
    assert not re.search(r"!\[\[|<(?:%|/?script|/?style|iframe)|`[\s\ufeff]*\$?=", shown, re.IGNORECASE)


@each("text", ["write `=` and `$= x`, not ` = y`", "a `b` and `c = d`"])
def test_a_reader_that_runs_nothing_gets_the_code_as_it_was(text: str) -> None:
    assert unmark_code(neutralize_markdown(text)) == text
    assert unmark_code("an older version wrote &#96;=` for it") == "an older version wrote `=` for it"


@each("mark", ["```", "~~~~", "> ```", "- ```", "> 1. ~~~", "  * ```", "-   ```"])
@each("language", ["dataview", "dataviewjs", " DataviewJS", "templater", "query", "button"])
def test_a_block_that_a_plug_in_would_run_is_plain_text(mark: str, language: str) -> None:
    assert neutralize_markdown(f"before\n{mark}{language}\nx\n```") == f"before\n{mark}text {language.strip()}\nx\n```"


def test_a_frontmatter_delimiter_is_no_delimiter() -> None:
    assert neutralize_markdown("a\n---\nkind: x\n---  \n") == "a\n\\---\nkind: x\n\\---  \n"


def test_ordinary_markdown_stays_as_it_is() -> None:
    text = "# Done\n\n- `reader.py` [[note]] a < b, a -- b\n\n```python\nx = 1\n```\n| a | b |\n|---|---|\n"
    assert neutralize_markdown(text) == text


@pytest.mark.parametrize("line", ["", "```python", "~~ no", " ~~~", "text ~~~"])
def test_other_lines_open_no_fence(line: str) -> None:
    assert parse_fence_opening(line) is None
