"""Caps: they bound what is active in a book. What is older goes into an archive, word for word. (format: Books)"""

from typing import NamedTuple

from lineage.core.base.privacy import GLOBAL
from lineage.core.books.book import Book, BookPart, find_superseded, with_parts
from lineage.core.books.entry import TASK, USER_STATED, Entry


class Cap(NamedTuple):
    """More than `most` entries are brought down to `keep`."""

    max_entries: int
    keep: int


FINDINGS_CAP = Cap(100, 100)
CAPS = {"global": Cap(100, 100), "session": Cap(50, 50), "agent": Cap(30, 20)}
DEFAULT_CAP = Cap(100, 100)


def default_cap(scope: str, kind: str) -> Cap:
    """The default cap of a book.

    >>> default_cap("agent/ann", "decision"), default_cap("session/x", "finding")
    (Cap(max_entries=30, keep=20), Cap(max_entries=100, keep=100))
    """
    return FINDINGS_CAP if kind == "finding" else CAPS.get(scope.partition("/")[0], DEFAULT_CAP)


def roll_over(book: Book, cap: Cap) -> tuple[Book, tuple[BookPart, ...]]:
    """The book within its cap, and what rolled out of it, oldest first, each as it stood.

    Superseded entries go first, then the oldest. The human's free text, entries that lost their end, and whatever
    `stays` says never go, even where that leaves more than the cap.
    """
    count = len(book.entries)
    if count <= cap.max_entries:
        return book, ()
    gone = find_superseded(book.entries)
    able = [
        part
        for part in book.parts
        if part.entry and part.is_complete and not is_exempt(part.entry, book.scope, book.kind)
    ]
    able.sort(key=lambda part: (part.entry.id not in gone, part.entry.at) if part.entry else (False, ""))
    rolled = able[: max(0, count - cap.keep)]
    leaving = {id(part) for part in rolled}
    parts: list[BookPart] = []
    for part, before in zip(book.parts, (None, *book.parts), strict=False):
        is_gap = id(before) in leaving and part.is_free_text and not part.raw.strip()
        parts += [] if id(part) in leaving or is_gap else [part]
    oldest_first = sorted(rolled, key=lambda part: part.entry.at if part.entry else "")
    return (with_parts(book, parts), tuple(oldest_first)) if rolled else (book, ())


def is_exempt(entry: Entry, scope: str, kind: str) -> bool:
    """Whether an entry never rolls over: open tasks, pinned ones, and in global books what the user stated."""
    is_open = entry.done is False or (kind == TASK and entry.done is None)
    return is_open or entry.pinned or (scope == GLOBAL and entry.trust == USER_STATED)
