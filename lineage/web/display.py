"""Formatting for people: days, times, links, and the few marks of a summary's markdown."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.links import unescape_markdown
from lineage.core.books.entry import Entry

_LINK = re.compile(r"\[\[([^\]|#]+)(?:#\^(t-[0-9a-f]{10}))?(?:\|[^\]]*)?\]\]")
_HEADING = re.compile(r"(#{1,6}) +(.+)")
_ITEM = re.compile(r"[-*] +(.+)")


class SummaryBlock(NamedTuple):
    """A piece of a text: `kind` is `heading` (one line), `list` or `text`."""

    kind: str
    lines: tuple[str, ...]


def format_clock(time: str | None) -> str:
    """Return hours and minutes of a canonical time.

    >>> format_clock("2026-03-28T22:34:06.792Z")
    '22:34'
    """
    return time[11:16] if time else ""


def format_day(time: str) -> str:
    """Return the day of a canonical time or a date, written out.

    >>> format_day("2026-03-28T22:34:06.792Z")
    'Saturday, 28 March 2026'
    """
    when = date.fromisoformat(time[:10])
    return f"{_WEEKDAYS[when.weekday()]}, {when.day} {_MONTHS[when.month - 1]} {when.year}"


def find_source(entry: Entry) -> str | None:
    """Return the address of the turn that an entry came from; None if its link names no file of a session."""
    match = _LINK.fullmatch(entry.origin or "")
    name = naming.parse_path(match[1]) if match else None
    if match is None or name is None:
        return None
    return f"/sessions/{name.token}" + (f"?turn={match[2]}#{match[2]}" if match[2] else "")


def parse_blocks(body: str) -> list[SummaryBlock]:
    """Return headings, lists and paragraphs of a summary's body, without its line of links and its title."""
    blocks: list[SummaryBlock] = []
    for kind, line in _classify_lines(body.partition("\n")[2]):
        if blocks and kind != "heading" and blocks[-1].kind == kind:
            blocks[-1] = SummaryBlock(kind, (*blocks[-1].lines, line))
        else:
            blocks.append(SummaryBlock(kind, (line,)))
    return [block for block in blocks if block.kind != "gap"]


def _classify_lines(text: str) -> Iterator[tuple[str, str]]:
    for raw in text.strip("\n").split("\n"):
        heading, item = _HEADING.fullmatch(raw), _ITEM.fullmatch(raw)
        if heading:
            if heading[1] != "#":
                yield "heading", unescape_markdown(heading[2])
        elif item:
            yield "list", unescape_markdown(item[1])
        else:
            yield "text" if raw.strip() else "gap", unescape_markdown(raw)


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
