"""Removal of a session's entries: its own books whole, its entries in other books one by one (format: Removal).

An entry belongs to the session in its `from`, on any shelf of any book, even if the user has confirmed or changed it.
Its id stays behind as forgotten. An entry without its end marker may hold somebody else's words: it stays, and the
result names its book.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS, PENDING, BookRef, parse_book_path, session_scope
from lineage.core.books import book_edits
from lineage.core.books.book import Book, BookPart, append_parts, make_entry_part, parse_book, serialize_book
from lineage.core.books.entry import Entry
from lineage.core.books.sightings import CLOSED, MENTIONED, read_sightings, take_over
from lineage.store import read_or_none
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SessionEntries:
    """A session's entries with their books, and the paths of books that keep a damaged one."""

    places: tuple[tuple[BookRef, Entry], ...]
    damaged_paths: tuple[str, ...]


def find_session_entries(ws: Workspace, token: str) -> SessionEntries:
    """Return a session's entries, in its own books and in others."""
    own_books = [ref for path in list_session_books(ws, token) if (ref := parse_book_path(path))]
    places = [(ref, entry) for ref in own_books for entry in ws.documents.books.read(ref).entries]
    damaged_paths = []
    for ref, book in _other_books(ws, token):
        places += [(ref, entry) for entry in _list_removable(book, token)]
        if any(_is_from_session(part, token) for part in remove_session(book, token).parts):
            damaged_paths.append(ref.path)
    return SessionEntries(tuple(places), tuple(damaged_paths))


def select_removed(found: Mapping[str, SessionEntries]) -> list[tuple[BookRef, Entry]]:
    """Return the entries, by session, that go where these sessions are removed together.

    What another session said, too, stays that one's.
    """
    own_scopes = set(map(session_scope, found))
    places = {(ref, entry.id): entry for one in found.values() for ref, entry in one.places}
    return [
        (ref, entry)
        for (ref, _), entry in places.items()
        if ref.scope in own_scopes or not _is_said_elsewhere(entry, found)
    ]


def _is_said_elsewhere(entry: Entry, tokens: Iterable[str]) -> bool:
    left: Entry | None = entry
    for token in tokens:
        left = take_over(left, token) if left else None
    return left is not None


def list_session_books(ws: Workspace, token: str) -> list[str]:
    """Return the paths of all files in a session's own books, a sync client's copies too."""
    folders = (f"{BOOKS}{session_scope(token)}/", f"{BOOKS}{PENDING}/{session_scope(token)}/")
    return [entry.key for folder in folders for entry in ws.documents.store.list(folder)]


def forget_session_entries(ws: Workspace, token: str) -> None:
    """Forget a session's entries in other books, and index all books that held one."""
    refs = {BookRef(scope, kind) for scope, kind in ws.index.find_books_of_sessions([token])}
    for ref, book in _other_books(ws, token):
        # First: a run that is cut off finds the entries, and does it again.
        others = _keep_overruled(ws, ref, book, token)
        remove = partial(remove_session, token=token, others=others)
        ws.documents.books.update(ref.scope, ref.kind, remove, ref.shelf)
        refs.add(ref)
    index_books(ws, sorted(refs))


def _keep_overruled(ws: Workspace, ref: BookRef, book: Book, token: str) -> list[Entry]:
    """Let the other shelves of a book supersede what a session's entries in it did, and what becomes another's.

    Return the entries of all shelves, if any of the session's superseded something.
    """
    removable = [(entry, take_over(entry, token)) for entry in _list_removable(book, token)]
    renamed = {entry.id: left.id for entry, left in removable if left and left.id != entry.id}
    gone = [entry for entry, left in removable if not left and entry.supersedes]
    if not (renamed or gone):
        return []
    shelves = {shelf: ws.documents.books.read(shelf) for shelf in ws.documents.books.list_shelves(ref.scope, ref.kind)}
    every = [entry for one in shelves.values() for entry in one.entries]
    overruling = [book_edits.select_overruled(entry, every) for entry in gone]
    for shelf, known in shelves.items():
        changed = book_edits.add_successors(reduce(book_edits.inherit, overruling, known), renamed)
        ws.documents.books.write_merged(shelf, known, changed)
    return every


def remove_session(book: Book, token: str, others: Iterable[Entry] = ()) -> Book:
    """Return the book with the session's entries forgotten; those that others said too are theirs, under their ids.

    `others` are the entries of the book's other shelves.
    """
    taken_over = {entry.id: take_over(entry, token) for entry in _list_removable(book, token)}
    for name, left in taken_over.items():
        if left and left.id == name:
            book = book_edits.replace_entry(book, left)
            continue
        book = book_edits.add_successors(book, {name: left.id}) if left else book
        book = book_edits.forget(book, name, others=others)
        book = append_parts(book, make_entry_part(book, left)) if left else book
    return book


def serialize_without_session(data: bytes, ref: BookRef, token: str) -> bytes:
    """Return a book's file with the session's entries forgotten."""
    return serialize_book(remove_session(parse_book(data, ref.scope, ref.kind), token))


def _other_books(ws: Workspace, token: str) -> Iterator[tuple[BookRef, Book]]:
    """Yield the books of other scopes with an entry of the session."""
    for ref in ws.documents.books.list():
        blob = read_or_none(ws.documents.store, ref.path) if ref.scope != session_scope(token) else None
        # The raw bytes first: most books have nothing of a session, and parsing all of them is slow.
        if blob and token.encode() in blob.data:
            book = parse_book(blob.data, ref.scope, ref.kind)
            if any(_is_from_session(part, token) for part in book.parts):
                yield ref, book


def _list_removable(book: Book, token: str) -> list[Entry]:
    return [book_edits.find_entry(book, name) for name in _removable_ids(book, token)]


def _removable_ids(book: Book, token: str) -> list[str]:
    """Return the ids of the session's entries with a complete first part."""
    first = {part.entry.id: part for part in reversed(book.parts) if part.entry}
    return [name for name, part in first.items() if part.is_complete and _is_from_session(part, token)]


def _is_from_session(part: BookPart, token: str) -> bool:
    if part.entry is None:
        return False
    links = [part.entry.origin or "", *(dict(part.entry.more).get(key, "") for key in (CLOSED, MENTIONED))]
    links += [one.origin for one in read_sightings(part.entry)]
    return any(token in naming.find_tokens(link) for link in links)
