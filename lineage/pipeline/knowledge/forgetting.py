"""What a session taught goes with it: its own books whole, its entries elsewhere one by one. (format: Removal)

An entry is the session's where its `from` names it, on whatever shelf and in whatever book it lies by now, also where
the user has confirmed it or changed its words. Its id stays behind as forgotten. An entry that lost its end may hold
words of somebody else's: it is left, and its book is named.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from lineage.core import book_changes, naming
from lineage.core.book import Book, Part, parsed_book, serialized_book
from lineage.core.book_paths import BOOKS, PENDING, BookRef, ref_of
from lineage.core.privacy import session_scope
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.store import read_or_none


@dataclass(frozen=True, slots=True)
class Taught:
    """What books hold of a session: how many entries, and the books that keep one which lost its end."""

    entries: int
    damaged: tuple[str, ...]


def taught(house: House, token: str) -> Taught:
    """What the books hold of a session, its own and others."""
    own = [ref for path in own_books(house, token) if (ref := ref_of(path))]
    held = list(_elsewhere(house, token))
    entries = sum(len(house.canon.books.read(ref).entries) for ref in own)
    damaged = tuple(ref.path for ref, book in held if any(_names(part, token) for part in without(book, token).parts))
    return Taught(entries + sum(len(_ids(book, token)) for _, book in held), damaged)


def own_books(house: House, token: str) -> list[str]:
    """The files of a session's own books, a sync client's copies too."""
    places = (f"{BOOKS}{session_scope(token)}/", f"{BOOKS}{PENDING}/{session_scope(token)}/")
    return [entry.key for place in places for entry in house.canon.store.list(place)]


def forget_taught(house: House, token: str) -> None:
    """Forgets what a session taught in books that aren't its own, and makes the index's rows those of all books that
    had something of it."""
    refs = {BookRef(scope, kind) for scope, kind in house.index.books_of([token])}
    for ref, _ in _elsewhere(house, token):
        house.canon.books.update(ref.scope, ref.kind, lambda book: without(book, token), ref.shelf)
        refs.add(ref)
    shelve(house, sorted(refs))


def without(book: Book, token: str) -> Book:
    """The book with what a session taught forgotten."""
    return reduce(book_changes.forget, _ids(book, token), book)


def text_without(data: bytes, ref: BookRef, token: str) -> bytes:
    """A book's file as it is when what a session taught is forgotten."""
    return serialized_book(without(parsed_book(data, ref.scope, ref.kind), token))


def _elsewhere(house: House, token: str) -> Iterator[tuple[BookRef, Book]]:
    """The books of others that hold an entry of the session."""
    for ref in house.canon.books.list():
        blob = read_or_none(house.canon.store, ref.path) if ref.scope != session_scope(token) else None
        if blob and token.encode() in blob.data:
            book = parsed_book(blob.data, ref.scope, ref.kind)
            if any(_names(part, token) for part in book.parts):
                yield ref, book


def _ids(book: Book, token: str) -> list[str]:
    """The ids of the session's entries that can be taken out: the first part of that id has its end."""
    firsts = {part.entry.id: part for part in reversed(book.parts) if part.entry}
    return [identifier for identifier, part in firsts.items() if part.sound and _names(part, token)]


def _names(part: Part, token: str) -> bool:
    return part.entry is not None and token in naming.tokens_in(part.entry.origin or "")
