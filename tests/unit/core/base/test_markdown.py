"""Prose as Markdown: formatted, with nothing live in it, and given back byte for byte.

Fails if a mark loses its escape (each row of LIVE stands for one), if code is taken for prose or prose for code, or if
two texts share one Markdown. What two parsers of other authors see of it is tried in `scenarios/test_markdown_readers`.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.markdown import (
    choose_language,
    escape_code,
    escape_line,
    escape_prose,
    restore_invisible,
    restore_prose,
)
from tests.support.markdown import FRAGMENTS
from tests.support.strategies import draw_texts

TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join) | draw_texts(*FRAGMENTS)


@given(TEXTS)
def test_every_text_comes_back_and_loses_nothing_to_an_editor(text: str) -> None:
    shown = escape_prose(text)
    assert restore_prose(shown) == text
    assert restore_invisible(escape_code(text)) == text
    for form in (shown, escape_code(text)):
        lines = form.split("\n")
        assert not any(line.endswith((" ", "\t")) for line in lines)
        assert form == "" or (lines[0] and lines[-1])
        assert not set(form) & {"\r", "\x00", "\x85", "\u2028", "\u202e", "\ufeff", "\ud800"}


@given(TEXTS)
def test_a_line_comes_back_from_a_place_in_a_line_of_ours(text: str) -> None:
    line = escape_line(text.replace("\n", " "))
    assert "\n" not in line
    assert restore_prose(line) == text.replace("\n", " ") or line.startswith(("```", "~~~"))


# Vectors of the escape: a text, and how it stands in a transcript.
LIVE = {
    "[[note]] ![[image.png]]": "\\[\\[note]] !\\[\\[image.png]]",
    "[a](b) [a]: b [^1]": "\\[a](b) \\[a]: b \\[^1]",
    "#tag C# #12 #12a": "\\#tag C# #12 \\#12a",
    "# Heading": "\\# Heading",
    "- ## Heading": "- \\## Heading",
    "text\n---": "text\n\\---",
    "text\n> ===": "text\n> \\==\\=",
    "- [x] done": "- `[x]` done",
    "$x$ and $$y$$": "\\$x\\$ and \\$\\$y\\$\\$",
    "<b> <%* tp %>": "\\<b> \\<\\%* tp %>",
    "%%hidden%%": "%\\%hidden%\\%",
    "key:: value": "key:\\: value",
    "a == b == c": "a =\\= b =\\= c",
    "see https://example.org/a, or www.example.org": "see `https://example.org/a`, or `www.example.org`",
    "ada@example.org": "`ada@example.org`",
    "`https://example.org`": "``https://example.org``",
    "the end ^id": "the end \\^id",
    "a ` b": "a \\` b",
    "\\[ \\d C:\\a": "\\\\\\[ \\d C:\\a",
    "`= this.file` `$= dv` `INPUT[x]`": "`⟦U+003D⟧ this.file` `⟦U+0024⟧= dv` `⟦U+0049⟧NPUT[x]`",
    "~~~~": "~~~~",
    "- ~~~ x": "- \\~~~ x",
    "&lt;": "\\&lt;",
    "a \r\nb\u2028": "a ⟦U+000D⟧\nb⟦U+2028⟧",
    "end ": "end⟦U+0020⟧",
    "\n\nx\n": "⟦U+000A⟧⟦U+000A⟧x⟦U+000A⟧",
    "⟦U+000D⟧ ⟦x⟧": "⟦U+27E6⟧U+000D⟧ ⟦x⟧",
    "```dataviewjs\nx": "```text:dataviewjs\nx",
    "```js\n[[x]] #tag $a$\n```\n[[y]]": "```js\n[[x]] #tag $a$\n```\n\\[\\[y]]",
    "1. a\n\n   ```sh\n   [[ -f x ]]\n   ```": "1. a\n\n   ```sh\n   [[ -f x ]]\n   ```",
    "- ```js\n[[x]]": "- \\`\\`\\`js\n\\[\\[x]]",
    "| a | `b|c` |\n|---|---|": "| a | \\`b|c\\` |\n|---|---|",
    "`a|b`": "`a|b`",
    "my key is [REDACTED:jwt], yes": "my key is [REDACTED:jwt], yes",
    "[REDACTED:jwt](x) [[REDACTED:jwt]]": "\\[REDACTED:jwt](x) \\[\\[REDACTED:jwt]]",
}


@pytest.mark.parametrize(("text", "shown"), LIVE.items())
def test_each_mark_is_escaped_as_the_format_says(text: str, shown: str) -> None:
    assert escape_prose(text) == shown
    assert restore_prose(shown) == text


def test_a_language_is_shown_only_if_nothing_runs_it() -> None:
    shown = ("python", "Rust", "")
    assert tuple(map(choose_language, shown)) == shown
    assert {choose_language(name) for name in ("dataviewjs", "mermaid", "query", "run-python")} == {""}
