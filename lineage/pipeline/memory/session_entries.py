"""What a session taught goes with it: its own books whole, its entries elsewhere one by one. (format: Removal)

An entry is the session's where its `from` names it, on whatever shelf and in whatever book it lies by now, also where
the user has confirmed it or changed its words. Its id stays behind as forgotten. An entry that lost its end may hold
words of somebody else's: it is left, and its book is named.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS, PENDING, BookRef, parse_book_path
from lineage.core.base.privacy import session_scope
from lineage.core.books import book_edits
from lineage.core.books.book import Book, BookPart, parse_book, serialize_book
from lineage.store import read_or_none
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SessionEntries:
    """What books hold of a session: how many entries, and the books that keep one which lost its end."""

    count: int
    damaged_paths: tuple[str, ...]


def find_session_entries(ws: Workspace, token: str) -> SessionEntries:
    """What the books hold of a session, its own and others."""
    own = [ref for path in list_session_books(ws, token) if (ref := parse_book_path(path))]
    held = list(_other_books(ws, token))
    entries = sum(len(ws.documents.books.read(ref).entries) for ref in own)
    damaged = tuple(
        ref.path
        for ref, book in held
        if any(_is_from_session(part, token) for part in remove_session(book, token).parts)
    )
    return SessionEntries(entries + sum(len(_removable_ids(book, token)) for _, book in held), damaged)


def list_session_books(ws: Workspace, token: str) -> list[str]:
    """The files of a session's own books, a sync client's copies too."""
    places = (f"{BOOKS}{session_scope(token)}/", f"{BOOKS}{PENDING}/{session_scope(token)}/")
    return [entry.key for place in places for entry in ws.documents.store.list(place)]


def forget_session_entries(ws: Workspace, token: str) -> None:
    """Forgets what a session taught in books that aren't its own, and makes the index's rows those of all books that
    had something of it."""
    refs = {BookRef(scope, kind) for scope, kind in ws.index.find_books_of_sessions([token])}
    for ref, _ in _other_books(ws, token):
        ws.documents.books.update(ref.scope, ref.kind, lambda book: remove_session(book, token), ref.shelf)
        refs.add(ref)
    index_books(ws, sorted(refs))


def remove_session(book: Book, token: str) -> Book:
    """The book with what a session taught forgotten."""
    return reduce(book_edits.forget, _removable_ids(book, token), book)


def serialize_without_session(data: bytes, ref: BookRef, token: str) -> bytes:
    """A book's file as it is when what a session taught is forgotten."""
    return serialize_book(remove_session(parse_book(data, ref.scope, ref.kind), token))


def _other_books(ws: Workspace, token: str) -> Iterator[tuple[BookRef, Book]]:
    """The books of others that hold an entry of the session."""
    for ref in ws.documents.books.list():
        blob = read_or_none(ws.documents.store, ref.path) if ref.scope != session_scope(token) else None
        if blob and token.encode() in blob.data:
            book = parse_book(blob.data, ref.scope, ref.kind)
            if any(_is_from_session(part, token) for part in book.parts):
                yield ref, book


def _removable_ids(book: Book, token: str) -> list[str]:
    """The ids of the session's entries that can be taken out: the first part of that id has its end."""
    firsts = {part.entry.id: part for part in reversed(book.parts) if part.entry}
    return [identifier for identifier, part in firsts.items() if part.is_complete and _is_from_session(part, token)]


def _is_from_session(part: BookPart, token: str) -> bool:
    return part.entry is not None and token in naming.find_tokens(part.entry.origin or "")
