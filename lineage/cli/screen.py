"""Output for a person at a terminal: tables, markdown and a pager. A pipe never comes here.

It obeys NO_COLOR, TERM=dumb, COLUMNS, PAGER and `--no-pager`. Texts of others have no control characters, and no
markup of theirs is obeyed.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import click
from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text

from lineage.cli.output import format_when, print_raw, strip_controls

TABLE_WIDTH = 70
"""A terminal of at least so many columns gets tables, a narrower one a few lines for each row."""
_PROSE_WIDTH = 100
_NO_PAGERS = ("", "cat")
_CALLOUT = re.compile(r"^> \[!([\w-]+)\] ?(.*)$", re.MULTILINE)
_BLANK_END = re.compile(r"(?:⟦U\+(?:0020|0009)⟧)+$", re.MULTILINE)
_BLOCK_ID = re.compile(r"^\^[tcn]-[0-9a-f]+\n?", re.MULTILINE)
_WIKILINK = re.compile(r"\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]")
_NAVIGATION = re.compile(r"\A(?:\[\[[^\]\n]*\]\] ?)+\n+")


def print_page(draw: Callable[[Console], None], *, is_prose: bool = False) -> None:
    """Print what `draw` prints on a console; through the pager if it is longer than the terminal is high."""
    console = Console(highlight=False, markup=False, emoji=False)
    height = console.height
    if is_prose:
        console.width = min(console.width, _PROSE_WIDTH)
    with console.capture() as captured:
        draw(console)
    text = captured.get()
    if text.count("\n") < height or not _wants_pager():
        print_raw(text)
        return
    os.environ.setdefault("LESS", "FRX")  # as git does: colours, and no page of its own for what fits
    click.echo_via_pager(text.rstrip("\n"), color=console.color_system is not None and not console.no_color)


def _wants_pager() -> bool:
    chosen = (click.get_current_context().find_root().obj or {}).get("pager", True)
    return bool(chosen) and sys.stdin.isatty() and os.environ.get("PAGER", "less") not in _NO_PAGERS


def clean(text: str, style: str = "") -> Text:
    """Return somebody's text as one line without markup, colours and controls."""
    return Text(" ".join(strip_controls(text).split()), style=style)


def join_line(parts: Iterable[str | Text], separator: str = " · ") -> Text:
    """Return the parts that say something as one line."""
    kept = [part if isinstance(part, Text) else clean(part) for part in parts]
    return Text(separator, style="dim").join([part for part in kept if part.plain])


def build_synopsis(title: str, outcome: str, remarks: Sequence[str] = ()) -> Text:
    """Return a session's title, its outcome if that says more, and remarks, a line each."""
    lines = [clean(title or "(no title)", "bold")]
    if outcome not in ("", title):
        lines.append(Text("→ ", style="green").append_text(clean(outcome)))
    lines += [clean(remark, "dim") for remark in remarks]
    return Text("\n").join(lines)


def format_moment(time: str) -> Text:
    """Return a canonical time as people say it."""
    return Text(format_when(time), style="cyan")


class _PlainHeading(Heading):
    """A heading at the left, without a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield self.text


class _Page(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _PlainHeading}

    def __init__(self, text: str, *, keeps_lines: bool) -> None:
        super().__init__("", hyperlinks=False, code_theme="ansi_dark")
        # HTML is text here: nothing that a session said may vanish from its page
        self.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text)
        for child in (child for token in self.parsed for child in token.children or ()):
            if keeps_lines and child.type == "softbreak":
                child.type = "hardbreak"


def build_markdown(text: str, *, keeps_lines: bool = False) -> RenderableType:
    """Return a page of markdown for a terminal: links as their labels, callouts as quotes, HTML as it is written.

    With `keeps_lines` each line of the page begins one on the screen; else paragraphs are filled.
    """
    text = _NAVIGATION.sub("", _BLOCK_ID.sub("", _BLANK_END.sub("", strip_controls(text))))
    text = _WIKILINK.sub(r"\1", _CALLOUT.sub(lambda found: f"> **{found[1]}** {found[2]}\n>", text))
    return _Page(text, keeps_lines=keeps_lines)
