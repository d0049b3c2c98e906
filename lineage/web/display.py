"""How what the files say is put before a person: days, times, links, and the few marks of a summary's markdown."""

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
    """A piece of a text: `kind` is `heading`, `list` or `text`; of a heading the one line, else its lines."""

    kind: str
    lines: tuple[str, ...]


def format_clock(time: str | None) -> str:
    """
    >>> format_clock("2026-03-28T22:34:06.792Z")
    '22:34'
    """
    return time[11:16] if time else ""


def format_day(time: str) -> str:
    """A canonical time's day, or a date, as it is said.

    >>> format_day("2026-03-28T22:34:06.792Z")
    'Saturday, 28 March 2026'
    """
    when = date.fromisoformat(time[:10])
    return f"{_WEEKDAYS[when.weekday()]}, {when.day} {_MONTHS[when.month - 1]} {when.year}"


def shorten_project(project: str | None) -> str:
    """
    >>> shorten_project("/home/ada/code/reader"), shorten_project("C:\\\\code\\\\reader"), shorten_project(None)
    ('reader', 'reader', '')
    """
    return (project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]


def find_source(entry: Entry) -> str | None:
    """Where an entry came from, as an address here; None where its link names no file of a session."""
    match = _LINK.fullmatch(entry.origin or "")
    name = naming.parse_path(match[1]) if match else None
    if match is None or name is None:
        return None
    return f"/sessions/{name.token}" + (f"?turn={match[2]}#{match[2]}" if match[2] else "")


def parse_blocks(body: str) -> list[SummaryBlock]:
    """A summary's body, without its line of links and its title: headings, lists and paragraphs, in order."""
    found: list[SummaryBlock] = []
    for kind, line in _classify_lines(body.partition("\n")[2]):
        if found and kind != "heading" and found[-1].kind == kind:
            found[-1] = SummaryBlock(kind, (*found[-1].lines, line))
        else:
            found.append(SummaryBlock(kind, (line,)))
    return [block for block in found if block.kind != "gap"]


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
