"""Caps of books: entries beyond them roll over into an archive, word for word (format: Books)."""

from dataclasses import dataclass

from lineage.core.base.book_paths import GLOBAL
from lineage.core.books.book import Book, BookPart, find_superseded, with_parts
from lineage.core.books.entry import TASK, USER_STATED, Entry


@dataclass(frozen=True, slots=True)
class Cap:
    """The cap of a book: more than `max_entries` roll over until `keep` are left."""

    max_entries: int
    keep: int


CAPS = {"global": Cap(100, 100), "session": Cap(50, 50), "agent": Cap(30, 20)}
DEFAULT_CAP = Cap(100, 100)


def default_cap(scope: str, kind: str) -> Cap:
    """Return the default cap of a book.

    >>> default_cap("agent/ann", "decision"), default_cap("session/x", "finding")
    (Cap(max_entries=30, keep=20), Cap(max_entries=100, keep=100))
    """
    return DEFAULT_CAP if kind == "finding" else CAPS.get(scope.partition("/")[0], DEFAULT_CAP)


def roll_over(book: Book, cap: Cap) -> tuple[Book, tuple[BookPart, ...]]:
    """Return the book within its cap, and the parts that rolled over, oldest first.

    Superseded ones go before old ones; free text, unclosed and exempt entries never go, even beyond the cap.
    """
    count = len(book.entries)
    if count <= cap.max_entries:
        return book, ()
    superseded = find_superseded(book.entries)
    candidates = [
        (entry.id not in superseded, entry.at, position)
        for position, part in enumerate(book.parts)
        if (entry := part.entry) and part.is_complete and not is_exempt(entry, book.scope, book.kind)
    ]
    chosen = sorted(candidates)[: max(0, count - cap.keep)]
    if not chosen:
        return book, ()
    leaving = {position for _, _, position in chosen}
    rest = [
        part
        for position, part in enumerate(book.parts)
        # The empty lines below an entry leave with it.
        if position not in leaving and not (position - 1 in leaving and part.is_free_text and not part.raw.strip())
    ]
    oldest_first = sorted(chosen, key=lambda choice: choice[1])
    return with_parts(book, rest), tuple(book.parts[position] for _, _, position in oldest_first)


def is_exempt(entry: Entry, scope: str, kind: str) -> bool:
    """Return whether an entry never rolls over: open tasks, pinned ones, and in global books the user's words."""
    is_open = entry.done is False or (kind == TASK and entry.done is None)
    return is_open or entry.pinned or (scope == GLOBAL and entry.trust == USER_STATED)
