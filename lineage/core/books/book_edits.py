"""What can be done to a book, as pure functions: each gives another book, the same one where nothing is to be done.

A book that a person edits meanwhile is brought together with the result by `merging`. (format: Books)
"""

from collections.abc import Callable, Set

from lineage.core.books.book import (
    Book,
    BookPart,
    append_parts,
    can_supersede,
    make_entry_part,
    make_tombstone_part,
    with_parts,
)
from lineage.core.books.entry import CONFIRMED, Entry, compute_entry_id, replace_body, set_done
from lineage.errors import InvalidInput, NotFoundError

BookEdit = Callable[[Book], Book]


def find_part(book: Book, identifier: str) -> BookPart:
    """The part that holds an entry. Raises NotFoundError for none, InvalidInput where its end marker is missing."""
    part = next((part for part in book.parts if part.entry and part.entry.id == identifier), None)
    if part is None:
        raise NotFoundError(
            f"no entry {identifier[:40]!r} in {book.kind} of {book.scope}",
            hint="run `lineage book show` for the entries and their ids",
        )
    if not part.is_complete:
        raise InvalidInput(
            f"entry {identifier} has lost its end: what belongs to it can't be told",
            hint=f"write `<!-- lineage:end {identifier} -->` below it, or delete it by hand",
        )
    return part


def find_entry(book: Book, identifier: str) -> Entry:
    """The entry itself; raises as `found` does."""
    entry = find_part(book, identifier).entry
    assert entry is not None
    return entry


def add(book: Book, entry: Entry, known_ids: Set[str] = frozenset()) -> Book:
    """Adds an entry at the end, unless its id is in the book already, was forgotten, or is among `known`: those of the
    archive and the pending book. A text that resembles another is added: it may be a change of mind.

    Raises InvalidInput for a derived entry that would supersede a user-stated one.
    """
    if entry.id in book.all_ids or entry.id in known_ids:
        return book
    _check_supersession(book, entry)
    return append_parts(book, make_entry_part(book, entry))


def supersede(book: Book, old: str, entry: Entry) -> Book:
    """Adds an entry that takes the place of another one, which stays. Raises as `add` and `found` do."""
    find_part(book, old)
    return add(book, entry._replace(supersedes=tuple(dict.fromkeys((*entry.supersedes, old)))))


def edit(book: Book, identifier: str, body: str, now: str) -> Book:
    """Gives an entry another body in the user's words; all else stays."""
    return _update_entry(book, identifier, lambda entry: replace_body(entry, body), now)


def tag(book: Book, identifier: str, tags: tuple[str, ...], now: str) -> Book:
    return _update_entry(book, identifier, lambda entry: entry._replace(tags=tags), now)


def mark_done(book: Book, identifier: str, now: str, *, is_done: bool = True) -> Book:
    """Ticks a task's box, or clears it. Raises InvalidInput for an entry without a box."""
    return _update_entry(book, identifier, lambda entry: set_done(entry, is_done), now)


def pin(book: Book, identifier: str, now: str, *, is_pinned: bool = True) -> Book:
    """A pinned entry never rolls over."""
    return _update_entry(book, identifier, lambda entry: entry._replace(pinned=is_pinned), now)


def forget(book: Book, identifier: str) -> Book:
    """Takes an entry out, with each copy of it, and leaves its id: it can't come back. Nothing happens where it is
    forgotten already. Raises as `found` does."""
    is_there = any(entry.id == identifier for entry in book.entries)
    if not is_there and identifier in book.forgotten_ids:
        return book
    find_part(book, identifier)
    mark = [] if identifier in book.forgotten_ids else [make_tombstone_part(book, identifier)]
    parts: list[BookPart] = []
    for part in book.parts:
        is_it = part.is_complete and part.entry is not None and part.entry.id == identifier
        parts += [part] if not is_it else [mark.pop()] if mark else []
    return with_parts(book, parts)


def confirm(pending: Book, book: Book, identifier: str, now: str) -> tuple[Book, Book]:
    """Moves what waits into the book, as confirmed by the user. Both books, the pending one first."""
    entry = find_entry(pending, identifier)._replace(source=CONFIRMED, updated=now)
    return remove_entry(pending, identifier), add(book, entry)


def demote(book: Book, target: Book, identifier: str, now: str) -> tuple[Book, Book]:
    """Moves an entry into the book of another scope, and keeps it from coming back to this one. Both, this first."""
    entry = find_entry(book, identifier)
    fresh = compute_entry_id(target.scope, target.kind, entry.body, entry.origin)
    moved = entry._replace(id=fresh, pinned=False, updated=now)
    if fresh == identifier:
        return book, target
    return forget(book, identifier), add(target, moved)


def remove_entry(book: Book, identifier: str) -> Book:
    """The book without an entry that lies elsewhere by now; the empty lines below it go too."""
    parts: list[BookPart] = []
    is_dropped = False
    for part in book.parts:
        is_gap = is_dropped and part.is_free_text and not part.raw.strip()
        is_dropped = part.is_complete and part.entry is not None and part.entry.id == identifier
        parts += [] if is_dropped or is_gap else [part]
    return with_parts(book, parts)


def _update_entry(book: Book, identifier: str, change: Callable[[Entry], Entry], now: str) -> Book:
    part, entry = find_part(book, identifier), find_entry(book, identifier)
    changed = change(entry)
    if changed == entry:
        return book
    fresh = make_entry_part(book, changed._replace(updated=now))
    return with_parts(book, (fresh if known is part else known for known in book.parts))


def _check_supersession(book: Book, entry: Entry) -> None:
    for old in book.entries:
        if old.id in entry.supersedes and not can_supersede(entry.trust, old.trust):
            raise InvalidInput(
                f"a derived entry can't take the place of {old.id}, which the user stated",
                hint="add it without `supersedes`; the user can confirm it",
            )
