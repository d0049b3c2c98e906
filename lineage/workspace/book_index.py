"""The index's rows of books: writers index at once, reindex finds other changes (format: Books; law 3)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from lineage.core.base.book_paths import BOOKS, CURATED, CURATED_PATH, GLOBAL, BookRef, parse_book_path, session_scope
from lineage.core.books.entry import ENTRY_ID
from lineage.errors import WorkspaceError
from lineage.index import BookFile, BookFiles
from lineage.store import read_or_none
from lineage.workspace.session_notes import publish_project_notes
from lineage.workspace.workspace import Workspace, tolerate_outage

_BATCH = 100  # books a transaction: a reindex must not lock out writers for long


@dataclass(slots=True)
class BookIndexReport:
    """The counts of `index_changed_books`: changed files, those of removed sessions, problems by path."""

    changed: int = 0
    tombstoned: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)


def index_books(ws: Workspace, refs: Iterable[BookRef]) -> None:
    """Replace the rows of all shelves of books, and the notes of their projects; without an index they wait.

    Raise WorkspaceError for an unreadable book.
    """
    books = sorted({(ref.scope, ref.kind) for ref in refs})
    if books:
        with tolerate_outage(ws, mark_stale=True):
            # Lazily: the files are read inside the transaction, so of two writers the later reads the earlier's text.
            ws.index.index_books(read_books(ws, (ws.documents.books.list_shelves(*book) for book in books)))
        publish_project_notes(ws, {scope for scope, _ in books})


def index_changed_books(ws: Workspace) -> BookIndexReport:
    """Index the books with a new, deleted or changed file, and report files that can't be read."""
    report = BookIndexReport()
    removed = ws.documents.tombstones.list_tokens()
    current = _list_stamps(ws, removed, report)
    indexed = {item.path: item.stamp for item in ws.index.iter_book_files()}
    paths = current.keys() | indexed.keys()
    changed = {path for path in paths if current.get(path) != indexed.get(path)}
    with_removed = set(ws.index.find_books_of_sessions(removed))
    due = [
        shelves
        for book, shelves in group_by_book(paths).items()
        if book in with_removed or any(ref.path in changed for ref in shelves)
    ]
    for start in range(0, len(due), _BATCH):
        ws.index.index_books(read_books(ws, due[start : start + _BATCH], report.problems))
    if with_removed:  # deleted rows stay readable in the database file until it is scrubbed
        ws.index.scrub()
    report.changed = len(changed - report.problems.keys())
    return report


def list_shelves_of_entry(ws: Workspace, entry_id: str) -> list[BookRef]:
    """Return all shelves of the books with an entry of this whole id, and of those that changed since they got rows.

    Empty where the index knows no such book.
    """
    books: set[tuple[str, str]] = set()
    with tolerate_outage(ws):
        if found := ws.index.find_books_of_entry(entry_id) if ENTRY_ID.fullmatch(entry_id) else ():
            indexed = {item.path: item.stamp for item in ws.index.iter_book_files()}
            listed = ws.documents.store.list(BOOKS)
            books = {*found, *group_by_book(one.key for one in listed if indexed.get(one.key) != one.stamp)}
    return [ref for book in sorted(books) for ref in ws.documents.books.list_shelves(*book)]


def group_by_book(paths: Iterable[str]) -> dict[tuple[str, str], list[BookRef]]:
    """Return the shelves of books by (scope, kind), in order; one shelf may supersede entries of another."""
    refs = sorted(ref for path in paths if (ref := parse_book_path(path)))
    return {book: list(shelves) for book, shelves in groupby(refs, key=lambda ref: (ref.scope, ref.kind))}


def read_books(
    ws: Workspace, books: Iterable[Sequence[BookRef]], problems: dict[str, str] | None = None
) -> Iterator[BookFiles]:
    """Yield the files of each book's shelves. Without `problems` for unreadable ones raise WorkspaceError."""
    removed = ws.documents.tombstones.list_tokens()
    for shelves in books:
        files = (_read_shelf(ws, ref, problems) for ref in shelves)
        yield BookFiles(shelves[0].scope, shelves[0].kind, tuple(filter(None, files)), removed)


def _list_stamps(ws: Workspace, removed: Collection[str], report: BookIndexReport) -> dict[str, str]:
    """Return the stamps of the files that should have rows."""
    scopes = {session_scope(token) for token in removed}
    stamps: dict[str, str] = {}
    for entry in ws.documents.store.list(BOOKS):
        ref = parse_book_path(entry.key)
        if ref and ref.scope in scopes:
            report.tombstoned.append(entry.key)
        elif ref:
            stamps[entry.key] = entry.stamp
    curated = _read_shelf(ws, BookRef(GLOBAL, CURATED), report.problems)
    return stamps | ({CURATED_PATH: curated.stamp} if curated else {})


def _read_shelf(ws: Workspace, ref: BookRef, problems: dict[str, str] | None) -> BookFile | None:
    try:
        blob = read_or_none(ws.documents.store, ref.path)
    except WorkspaceError as error:
        if problems is None:
            raise
        problems[ref.path] = error.message
        return None
    return BookFile(ref, blob.data, blob.stamp) if blob else None
