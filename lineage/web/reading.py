"""How what the files say is put before a person: days, times, links, and the few marks of a summary's markdown."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from lineage.core import naming
from lineage.core.entry import Entry
from lineage.core.links import unescaped

_LINK = re.compile(r"\[\[([^\]|#]+)(?:#\^(t-[0-9a-f]{10}))?(?:\|[^\]]*)?\]\]")
_HEADING = re.compile(r"(#{1,6}) +(.+)")
_ITEM = re.compile(r"[-*] +(.+)")


class Block(NamedTuple):
    """A piece of a text: `kind` is `heading`, `list` or `text`; of a heading the one line, else its lines."""

    kind: str
    lines: tuple[str, ...]


def clock(time: str | None) -> str:
    """
    >>> clock("2026-03-28T22:34:06.792Z")
    '22:34'
    """
    return time[11:16] if time else ""


def day_name(time: str) -> str:
    """A canonical time's day, or a date, as it is said.

    >>> day_name("2026-03-28T22:34:06.792Z")
    'Saturday, 28 March 2026'
    """
    when = date.fromisoformat(time[:10])
    return f"{_WEEKDAYS[when.weekday()]}, {when.day} {_MONTHS[when.month - 1]} {when.year}"


def short(project: str | None) -> str:
    """
    >>> short("/home/ada/code/reader"), short("C:\\\\code\\\\reader"), short(None)
    ('reader', 'reader', '')
    """
    return (project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]


def source_of(entry: Entry) -> str | None:
    """Where an entry came from, as an address here; None where its link names no file of a session."""
    match = _LINK.fullmatch(entry.origin or "")
    name = naming.parse_path(match[1]) if match else None
    if match is None or name is None:
        return None
    return f"/sessions/{name.token}" + (f"?turn={match[2]}#{match[2]}" if match[2] else "")


def blocks(body: str) -> list[Block]:
    """A summary's body, without its line of links and its title: headings, lists and paragraphs, in order."""
    found: list[Block] = []
    for kind, line in _lines(body.partition("\n")[2]):
        if found and kind != "heading" and found[-1].kind == kind:
            found[-1] = Block(kind, (*found[-1].lines, line))
        else:
            found.append(Block(kind, (line,)))
    return [block for block in found if block.kind != "gap"]


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for raw in text.strip("\n").split("\n"):
        heading, item = _HEADING.fullmatch(raw), _ITEM.fullmatch(raw)
        if heading:
            if heading[1] != "#":
                yield "heading", unescaped(heading[2])
        elif item:
            yield "list", unescaped(item[1])
        else:
            yield "text" if raw.strip() else "gap", unescaped(raw)


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
