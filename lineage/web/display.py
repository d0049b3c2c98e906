"""Formatting for people: days, times, links, the beginnings of texts."""

import re
from datetime import date

from markupsafe import escape

from lineage.core.base import naming
from lineage.core.base.links import to_one_line
from lineage.core.books.entry import Entry

_LINK = re.compile(r"\[\[([^\]|#]+)(?:#\^(t-[0-9a-f]{10}))?(?:\|[^\]]*)?\]\]")
_TITLE = re.compile(r"^# .*\n", re.MULTILINE)
_CALLOUT = re.compile(r"^(> )*> \[!\w+\].*\n", re.MULTILINE)
_BLANK_END = re.compile(r"(?:⟦U\+(?:0020|0009)⟧)+$", re.MULTILINE)
_QUOTED_HEADING = re.compile(r"^((?:> )+)\\(#{1,6} )", re.MULTILINE)
_MARKUP = re.compile(r"(?<!\S)(?:#{1,6}|>+|```\w*|-{3,}|\[!\w+\]|\^t-[0-9a-f]{10})(?!\S)|`|\*\*|\\(?=[^\w\s])")
_OVERRIDES = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_SPACES = re.compile(r" {2,}")
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)")
_SHORT = 600
_NAME_LENGTH = 180


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


def show_overrides(text: str) -> str:
    r"""Return a text with visible escapes for signs that turn around the order of what follows, as files show them.

    >>> show_overrides("pay \u202eeman\u202c")
    'pay ⟦U+202E⟧eman⟦U+202C⟧'
    """
    return _OVERRIDES.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)


def shorten(text: str) -> str:
    """Return the beginning of a long text, to its last whole sentence or word; the page of the entry has all of it.

    >>> shorten("Use uv. " + "word " * 200)[:9], shorten("Use uv.")
    ('Use uv. …', 'Use uv.')
    """
    if len(text) <= _SHORT:
        return text
    head = text[:_SHORT]
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    return f"{head[: ends[-1]] if ends else head.rpartition(' ')[0] or head} …"


def name_entry(text: str) -> str:
    """Return what to call an entry in a list: its words on one line, up to a whole word.

    >>> name_entry("**Use** `uv`, not pip.")
    'Use uv, not pip.'
    """
    words = strip_markup(to_one_line(text)).strip()
    if len(words) <= _NAME_LENGTH:
        return words
    head = words[:_NAME_LENGTH]
    return f"{head.rpartition(' ')[0] or head} …"


def cut_to_bytes(text: str, max_bytes: int) -> str:
    """Return the beginning of a text that has at most so many bytes when it is escaped.

    >>> cut_to_bytes("a<b>c", 6)
    'a<b'
    """
    if measure(text[: max_bytes + 1]) <= max_bytes and len(text) <= max_bytes:
        return text
    low, high = 0, min(len(text), max_bytes)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure(text[:middle]) <= max_bytes else (low, middle - 1)
    return text[:low]


def clip_to_bytes(text: str, max_bytes: int) -> str:
    """Return a text, with an ellipsis at its end if it has more bytes than that when it is escaped."""
    text = show_overrides(text)
    cut = cut_to_bytes(text, max_bytes)
    return text if cut == text else f"{cut} …"


def measure(text: str) -> int:
    """Return the bytes of a text when it is escaped."""
    return len(escape(text).encode("utf-8", "replace"))


def find_source(entry: Entry) -> tuple[str, str]:
    """Return the session's token and the id of the turn that an entry came from, "" for what its link doesn't name."""
    match = _LINK.fullmatch(entry.origin or "")
    name = naming.parse_path(match[1]) if match else None
    return (name.token, match[2] or "") if match and name else ("", "")


def cut_summary(body: str) -> str:
    """Return a summary's markdown without its line of links, its title and the marks of callouts.

    Headings that somebody wrote are headings again: a page shows them, and its outline goes without.
    """
    text = _CALLOUT.sub("", _TITLE.sub("", body.partition("\n")[2], count=1))
    return _QUOTED_HEADING.sub(r"\1\2", _BLANK_END.sub("", text))


def strip_markup(text: str) -> str:
    """Return words of a document, on one line, without the marks of markdown around them.

    >>> strip_markup("- `uv run` ## Decisions - **Use** uv, not C#")
    '- uv run Decisions - Use uv, not C#'
    """
    return _SPACES.sub(" ", _MARKUP.sub("", text))


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
