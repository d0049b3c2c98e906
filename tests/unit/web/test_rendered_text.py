"""What sessions said is shown as markdown, code and diffs, and nothing of it links, loads, runs or has a style.

Fails with HTML or links on in the parser, with attributes passed on, and for a diff that drops a line.
"""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.web.rendered_text import render_code, render_diff, render_markdown

MARKS = st.lists(
    st.sampled_from(
        ("[", "](", ")", "![", "<", ">", "javascript:", "https://a.b", "`", "```", "\n", "|", "-", "*", "# ", "> ",
         "1. ", "<script>", "\\", "&lt;", "onload=x", "\"", "'", "word ", "\t", "[x]: y ", "~~", ":--")
    ),
    max_size=40,
).map("".join)  # fmt: skip


class Seen(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(str(html))  # not as markup, which would escape what is added to it
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(MARKS)
def test_only_harmless_elements_are_made(text: str) -> None:
    allowed = {"class", "start"}
    for tag, attributes in Seen(render_markdown(text)).elements:
        assert tag not in ("a", "img", "script", "iframe", "style", "form", "svg", "input", "h1", "h2"), tag
        assert attributes.keys() <= allowed, attributes


def test_it_reads_as_it_was_meant() -> None:
    seen = Seen(render_markdown("# Plan\n\n- use `csv`\n\n| a |\n|---|\n| 1 |\n\n```python\nx = 1\n```\n**now**"))
    assert {"p", "ul", "li", "code", "table", "pre", "strong"} <= {tag for tag, _ in seen.elements}
    assert ("p", {"class": "heading"}) in seen.elements


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see [the page](https://a.b/c)", "see the page (https://a.b/c)"),
        ("see <https://a.b/c>", "see https://a.b/c"),
        ("![a cat](cat.png)", "a cat (cat.png)"),
        ("![](cat.png)", "(cat.png)"),
        ("<b>bold</b>", "<b>bold</b>"),
    ],
)
def test_an_address_is_text(text: str, shown: str) -> None:
    assert Seen(render_markdown(text)).text.strip() == shown


def test_a_long_text_stands_as_it_is() -> None:
    text = "**a** " * 5_000
    assert Seen(render_markdown(text)).text == text


def test_code_has_colours_where_its_language_is_known() -> None:
    assert "<span" in render_code("def f(): pass", "python")
    assert render_code("a < b", "no such language") == render_code("a < b") == "a &lt; b"
    assert Seen(render_code("  x = '<&>'\n\n", "python")).text == "  x = '<&>'\n\n"


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_a_diff_has_every_changed_line(old: list[str], new: list[str]) -> None:
    elements = Seen(render_diff("\n".join(old), "\n".join(new)))
    removed, added = (sum(tag == name for tag, _ in elements.elements) for name in ("del", "ins"))
    assert len(old) - removed == len(new) - added


def test_a_large_diff_is_both_texts() -> None:
    html = render_diff("a\n" * 1_000, "b\n" * 1_000)
    assert (html.count("<del>"), html.count("<ins>")) == (1_000, 1_000)
