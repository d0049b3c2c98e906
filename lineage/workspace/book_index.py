"""Shelving: the index's rows of books are those of their files. (format: Books; law 3)

Whoever changed a book shelves it; what a hand or a sync client changed is found by the next reindex.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from lineage.core.base.book_paths import BOOKS, CURATED, CURATED_PATH, BookRef, parse_book_path
from lineage.core.base.privacy import GLOBAL, session_scope
from lineage.errors import WorkspaceError
from lineage.index import BookFile, BookFiles
from lineage.store import read_or_none
from lineage.workspace.stale_index import tolerate_outage
from lineage.workspace.workspace import Workspace

_BATCH = 100


class BookIndexReport:
    """What a look at all books found: how many files came, went or have other rows now; `buried` files of removed
    sessions; `problems` by path, what is wrong: those files have no rows."""

    def __init__(self) -> None:
        self.changed = 0
        self.tombstoned: list[str] = []
        self.problems: dict[str, str] = {}


def index_books(ws: Workspace, refs: Iterable[BookRef]) -> None:
    """Makes the index's rows those of these books, each with all of its shelves, in one transaction.

    A file that is gone takes its rows with it; what a removed session said has none. The files are read when nobody
    else can write rows any more: of two who shelve a book at once, the later one has read what the earlier one wrote.
    While the index is away the rows wait. Raises WorkspaceError where a file can't be read.
    """
    books = sorted({(ref.scope, ref.kind) for ref in refs})
    if books:
        with tolerate_outage(ws, mark_stale=True):
            ws.index.index_books(read_books(ws, (ws.documents.books.list_shelves(*book) for book in books)))


def index_changed_books(ws: Workspace) -> BookIndexReport:
    """`shelve` for each book with a file that came, went or changed since it was shelved; the others aren't read, but
    for the curated one. A file that can't be read is a problem and no failure."""
    result = BookIndexReport()
    removed = ws.documents.tombstones.list_tokens()
    there = _list_stamps(ws, removed, result)
    known = {item.path: item.stamp for item in ws.index.iter_book_files()}
    stale = {path for path in there.keys() | known.keys() if there.get(path) != known.get(path)}
    buried = set(ws.index.find_books_of_sessions(removed))
    due = [
        shelves
        for book, shelves in group_by_book(there.keys() | known.keys()).items()
        if book in buried or any(ref.path in stale for ref in shelves)
    ]
    for start in range(0, len(due), _BATCH):
        ws.index.index_books(read_books(ws, due[start : start + _BATCH], result.problems))
    if buried:
        ws.index.scrub()
    result.changed = len(stale - result.problems.keys())
    return result


def group_by_book(paths: Iterable[str]) -> dict[tuple[str, str], list[BookRef]]:
    """The shelves of books by (scope, kind), in order. What one of them says bears on the entries of the others."""
    refs = sorted(ref for path in paths if (ref := parse_book_path(path)))
    return {book: list(shelves) for book, shelves in groupby(refs, key=lambda ref: (ref.scope, ref.kind))}


def read_books(
    ws: Workspace, books: Iterable[Sequence[BookRef]], problems: dict[str, str] | None = None
) -> Iterator[BookFiles]:
    """The files of books, read book by book; each is given by its shelves. Files that can't be read go to `problems`;
    raises WorkspaceError where there is none."""
    removed = ws.documents.tombstones.list_tokens()
    for shelves in books:
        found = (_read_shelf(ws, ref, problems) for ref in shelves)
        yield BookFiles(shelves[0].scope, shelves[0].kind, tuple(filter(None, found)), removed)


def _list_stamps(ws: Workspace, removed: Collection[str], result: BookIndexReport) -> dict[str, str]:
    """The stamps of the files that are to have rows."""
    scopes = {session_scope(token) for token in removed}
    stamps: dict[str, str] = {}
    for entry in ws.documents.store.list(BOOKS):
        ref = parse_book_path(entry.key)
        if ref and ref.scope in scopes:
            result.tombstoned.append(entry.key)
        elif ref:
            stamps[entry.key] = entry.stamp
    curated = _read_shelf(ws, BookRef(GLOBAL, CURATED), result.problems)
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
