"""Shelving: the index's rows of books are those of their files. (format: Books; law 3)

Whoever changed a book shelves it; what a hand or a sync client changed is found by the next reindex.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from lineage.core.book_paths import BOOKS, CURATED, CURATED_PATH, GLOBAL, BookRef, ref_of
from lineage.core.privacy import session_scope
from lineage.errors import IndexAway, WorkspaceError
from lineage.index import Shelf, Shelves
from lineage.pipeline.house import House
from lineage.store import read_or_none

_BATCH = 100


class Comparison:
    """What a look at all books found: how many files came, went or have other rows now; `buried` files of removed
    sessions; `problems` by path, what is wrong: those files have no rows."""

    def __init__(self) -> None:
        self.changed = 0
        self.buried: list[str] = []
        self.problems: dict[str, str] = {}


def shelve(house: House, refs: Iterable[BookRef]) -> None:
    """Makes the index's rows those of these books, each with all of its shelves, in one transaction.

    A file that is gone takes its rows with it; what a removed session said has none. The files are read when nobody
    else can write rows any more: of two who shelve a book at once, the later one has read what the earlier one wrote.
    While the index is away the rows wait. Raises WorkspaceError where a file can't be read.
    """
    books = sorted({(ref.scope, ref.kind) for ref in refs})
    if books:
        try:
            house.index.shelve(read_books(house, (house.canon.books.shelves(*book) for book in books)))
        except IndexAway as error:
            from lineage.pipeline.behind import fall_behind  # noqa: PLC0415  (servers are there as a rule)

            fall_behind(house, error)


def shelve_all(house: House) -> Comparison:
    """`shelve` for each book with a file that came, went or changed since it was shelved; the others aren't read, but
    for the curated one. A file that can't be read is a problem and no failure."""
    result = Comparison()
    removed = house.canon.tombstones.tokens()
    there = _stamps(house, removed, result)
    known = {item.path: item.stamp for item in house.index.books()}
    stale = {path for path in there.keys() | known.keys() if there.get(path) != known.get(path)}
    buried = set(house.index.books_of(removed))
    due = [
        shelves
        for book, shelves in by_book(there.keys() | known.keys()).items()
        if book in buried or any(ref.path in stale for ref in shelves)
    ]
    for start in range(0, len(due), _BATCH):
        house.index.shelve(read_books(house, due[start : start + _BATCH], result.problems))
    if buried:
        house.index.scrub()
    result.changed = len(stale - result.problems.keys())
    return result


def by_book(paths: Iterable[str]) -> dict[tuple[str, str], list[BookRef]]:
    """The shelves of books by (scope, kind), in order. What one of them says bears on the entries of the others."""
    refs = sorted(ref for path in paths if (ref := ref_of(path)))
    return {book: list(shelves) for book, shelves in groupby(refs, key=lambda ref: (ref.scope, ref.kind))}


def read_books(
    house: House, books: Iterable[Sequence[BookRef]], problems: dict[str, str] | None = None
) -> Iterator[Shelves]:
    """The files of books, read book by book; each is given by its shelves. Files that can't be read go to `problems`;
    raises WorkspaceError where there is none."""
    removed = house.canon.tombstones.tokens()
    for shelves in books:
        found = (_shelf(house, ref, problems) for ref in shelves)
        yield Shelves(shelves[0].scope, shelves[0].kind, tuple(filter(None, found)), removed)


def _stamps(house: House, removed: Collection[str], result: Comparison) -> dict[str, str]:
    """The stamps of the files that are to have rows."""
    scopes = {session_scope(token) for token in removed}
    stamps: dict[str, str] = {}
    for entry in house.canon.store.list(BOOKS):
        ref = ref_of(entry.key)
        if ref and ref.scope in scopes:
            result.buried.append(entry.key)
        elif ref:
            stamps[entry.key] = entry.stamp
    curated = _shelf(house, BookRef(GLOBAL, CURATED), result.problems)
    return stamps | ({CURATED_PATH: curated.stamp} if curated else {})


def _shelf(house: House, ref: BookRef, problems: dict[str, str] | None) -> Shelf | None:
    try:
        blob = read_or_none(house.canon.store, ref.path)
    except WorkspaceError as error:
        if problems is None:
            raise
        problems[ref.path] = error.message
        return None
    return Shelf(ref, blob.data, blob.stamp) if blob else None
