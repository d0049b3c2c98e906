"""What sessions said as HTML: markdown, code in colours, diffs. Nothing of it links, loads or runs.

The text is anybody's. markdown-it makes the elements, without HTML and without links and pictures: these show their
address as text. Pygments only puts classes on spans. What is too long for either stands there as it is.
"""

import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from lineage.web.display import clip_to_bytes, show_overrides

_MAX_MARKDOWN = 20_000
_MAX_CODE = 20_000
_MAX_DIFF_LINES = 1_500  # of both sides; the comparison may take their product
_CONTEXT_LINES = 3


def render_markdown(text: str) -> Markup:
    r"""Return a text that a person or an agent wrote, as markdown shows it.

    >>> render_markdown("Use **csv**, see [it](https://example.org).")
    Markup('<p>Use <strong>csv</strong>, see it <span class="target">(https://example.org)</span>.</p>\n')
    """
    text = show_overrides(text)
    if len(text) > _MAX_MARKDOWN:
        return render_plain(text)
    return Markup(_build_parser().render(text))


def render_within(text: str, max_bytes: int) -> Markup:
    """Return what `render_markdown` does, or a text's beginning as it stands if that has more bytes."""
    html = render_markdown(text)
    if len(html.encode("utf-8", "replace")) <= max_bytes:
        return html
    return render_plain(clip_to_bytes(text, max_bytes))


def render_plain(text: str) -> Markup:
    """Return a text as it stands, with its lines."""
    return Markup('<p class="plain-text">{}</p>').format(text)


def render_code(text: str, language: str = "") -> Markup:
    """Return code with the spans of its language; plain where the language is unknown or the text is long."""
    if len(text) > _MAX_CODE or not language:
        return escape(text)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(text)
    return Markup(highlight(text, lexer, HtmlFormatter(nowrap=True, classprefix="c-")))


def render_diff(old: str, new: str) -> Markup:
    r"""Return an edit as a unified diff, a span for each line that isn't the same in both.

    >>> render_diff("a\nb\n", "a\nc\n")
    Markup(' a\n<del>-b</del>\n<ins>+c</ins>')
    """
    return Markup("\n").join(_mark_line(line) for line in _compare(old, new))


def _compare(old: str, new: str) -> Iterator[str]:
    before, after = _split_lines(old), _split_lines(new)
    if len(before) + len(after) > _MAX_DIFF_LINES:
        return iter((*(f"-{line}" for line in before), *(f"+{line}" for line in after)))
    hunks = difflib.unified_diff(before, after, lineterm="", n=_CONTEXT_LINES)
    # the first three lines name files and the place of the first hunk in them: an edit knows neither
    return islice(hunks, 3, None)


def _split_lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _mark_line(line: str) -> Markup:
    if line.startswith("@@"):
        return Markup('<span class="hunk">…</span>')
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    return Markup("<{0}>{1}</{0}>").format(Markup(tag), line) if tag else escape(line)


@cache
def _build_parser() -> MarkdownIt:
    options = {"html": False, "linkify": False, "typographer": False, "breaks": True}
    return MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable(["table", "strikethrough"])


class _Renderer(RendererHTML):
    """The elements of a turn: no address can be followed, no heading breaks the page's outline, nothing has a style."""

    def link_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """Begin a link: its text alone."""
        return ""

    def link_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """End a link with its address, unless its text is that already."""
        opened = max(
            at for at in range(index) if tokens[at].type == "link_open" and tokens[at].level == tokens[index].level
        )
        words = "".join(token.content for token in tokens[opened + 1 : index])
        return _show_target(str(tokens[opened].attrs.get("href", "")), words)

    def image(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """Show a picture's description and address."""
        token = tokens[index]
        return str(escape(token.content)) + _show_target(str(token.attrs.get("src", "")), token.content)

    def heading_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """Begin a heading as a paragraph of its own."""
        return '<p class="heading">'

    def heading_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """End a heading."""
        return "</p>\n"

    def fence(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """Show a block of code in the colours of the language that it names."""
        token = tokens[index]
        return Markup("<pre><code>{}</code></pre>\n").format(
            render_code(token.content, (token.info.split() or [""])[0])
        )

    @staticmethod
    def renderAttrs(token: Token) -> str:  # noqa: N802 (the library's name)
        """Return the attributes of an element: a list's first number alone, no style and no class of the text."""
        start = token.attrs.get("start") if token.type == "ordered_list_open" else None
        return f' start="{int(start)}"' if start is not None else ""


def _show_target(target: str, words: str) -> str:
    return str(Markup(' <span class="target">({})</span>').format(target)) if target and target != words else ""
