"""Books over a store: curated knowledge that people edit while lineage writes. (format: Books)

Every write is a compare-and-swap on the file; what was changed meanwhile is brought together entry by entry.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.base.book_paths import BOOKS, CURATED, CURATED_PATH, GLOBAL, PENDING, BookRef, parse_book_path
from lineage.core.base.times import to_date
from lineage.core.books import book_edits
from lineage.core.books.book import Book, BookPart, append_parts, new_book, parse_book, serialize_book
from lineage.core.books.book_edits import BookEdit
from lineage.core.books.entry import Entry
from lineage.core.format.body import normalize_body
from lineage.errors import NotFoundError
from lineage.store import Store, read_or_none, update

if TYPE_CHECKING:  # who reads neither merges nor archives
    from lineage.core.books.rollover import Cap


class Books(NamedTuple):
    """The books of a workspace: those in use, those that wait for confirmation, and archives by year."""

    store: Store

    def get(self, scope: str, kind: str, shelf: str = "") -> Book:
        """The book, an empty one where there is no file. A damaged file is read as far as it can be: see `problems`."""
        return self.read(BookRef(scope, kind, shelf))

    def read(self, ref: BookRef) -> Book:
        blob = read_or_none(self.store, ref.path)
        return _parse_book(blob.data if blob else None, ref)

    def list(self) -> Iterator[BookRef]:
        """All books that have a file, of every shelf, sorted. Other files below `books/` are none of ours."""
        found = [ref for entry in self.store.list(BOOKS) if (ref := parse_book_path(entry.key))]
        has_curated = read_or_none(self.store, CURATED_PATH) is not None
        return iter(sorted([*found, *([BookRef(GLOBAL, CURATED)] if has_curated else [])]))

    def update(self, scope: str, kind: str, change: BookEdit, shelf: str = "") -> bool:
        """Changes a book, see `book_changes`. `change` is called once and may take its time: what somebody else wrote
        meanwhile is merged. True where the file changed; raises what `change` raises."""
        ref = BookRef(scope, kind, shelf)
        base = self.read(ref)
        return self.write_merged(ref, base, change(base))

    def write_merged(self, ref: BookRef, base: Book, changed: Book) -> bool:
        """Writes what was made of `base`, together with what was written since `base` was read."""
        if changed == base:
            return False
        from lineage.core.books.merge import merge_books  # noqa: PLC0415

        def change(data: bytes | None) -> bytes:
            return serialize_book(merge_books(base, changed, _parse_book(data, ref)))

        return update(self.store, ref.path, change)

    def add(self, scope: str, kind: str, entry: Entry) -> bool:
        """Adds an entry. False where it is known: in use, waiting, archived, or forgotten on any of these shelves."""
        known = self._read_known_ids(scope, kind)
        return self.update(scope, kind, lambda book: book_edits.add(book, entry, known))

    def propose(self, scope: str, kind: str, entry: Entry) -> bool:
        """Adds an entry to what waits for the user's confirmation; False where it is known."""
        known = self._read_known_ids(scope, kind)
        return self.update(scope, kind, lambda book: book_edits.add(book, entry, known), PENDING)

    def confirm(self, scope: str, kind: str, identifier: str, now: str) -> None:
        """Moves what waits into the book. Raises NotFoundError where it doesn't wait."""
        source, target = BookRef(scope, kind, PENDING), BookRef(scope, kind)
        pending, book = self.read(source), self.read(target)
        left, grown = book_edits.confirm(pending, book, identifier, now)
        self.write_merged(target, book, grown)
        self.write_merged(source, pending, left)

    def demote(self, source: BookRef, target: BookRef, identifier: str, now: str) -> None:
        """Moves an entry into a book of another scope; it doesn't come back to its own. Raises NotFoundError."""
        book, other = self.read(source), self.read(target)
        left, grown = book_edits.demote(book, other, identifier, now)
        self.write_merged(target, other, grown)
        self.write_merged(source, book, left)

    def forget(self, scope: str, kind: str, identifier: str) -> None:
        """Forgets an entry on every shelf that has it. Raises NotFoundError where none has or had it, InvalidInput
        where it has lost its end."""
        has_it = False
        for ref in self.list_shelves(scope, kind):
            book = self.read(ref)
            if identifier in book.forgotten_ids or any(entry.id == identifier for entry in book.entries):
                self.write_merged(ref, book, book_edits.forget(book, identifier))
                has_it = True
        if not has_it:
            raise NotFoundError(f"no entry {identifier[:40]!r} in {kind} of {scope}", hint="run `lineage book show`")

    def roll_over(self, scope: str, kind: str, cap: "Cap | None" = None) -> int:
        """Brings a book within its cap; how many entries went into the archives. They are there before they leave."""
        from lineage.core.books.rollover import default_cap, roll_over  # noqa: PLC0415

        ref = BookRef(scope, kind)
        base = self.read(ref)
        kept, rolled = roll_over(base, cap or default_cap(scope, kind))
        self.archive(scope, kind, rolled)
        self.write_merged(ref, base, kept)
        return len(rolled)

    def archive(self, scope: str, kind: str, parts: Iterable[BookPart]) -> None:
        """Appends entries, each as it stands, to the archive of its year; what stands there already isn't repeated."""
        found = sorted((part for part in parts if part.entry), key=_year_of)
        for year, group in groupby(found, _year_of):
            self.update(scope, kind, partial(_append_missing, parts=tuple(group)), year)

    def list_shelves(self, scope: str, kind: str) -> tuple[BookRef, ...]:
        """A book, what waits for it, whether or not there is a file, and its archives."""
        here, waiting = BookRef(scope, kind), BookRef(scope, kind, PENDING)
        folder = BookRef(scope, kind, "0000").path.rpartition("/")[0] + "/"
        refs = {ref for entry in self.store.list(folder) if (ref := parse_book_path(entry.key))}
        archives = sorted(ref for ref in refs if (ref.scope, ref.kind) == (scope, kind) and ref != here)
        return (here, waiting, *archives)

    def _read_known_ids(self, scope: str, kind: str) -> frozenset[str]:
        return frozenset[str]().union(*(self.read(ref).all_ids for ref in self.list_shelves(scope, kind)))


def _parse_book(data: bytes | None, ref: BookRef) -> Book:
    return new_book(ref.scope, ref.kind) if data is None else parse_book(data, ref.scope, ref.kind)


def _append_missing(book: Book, parts: tuple[BookPart, ...]) -> Book:
    held = {normalize_body(part.raw) for part in book.parts}
    return append_parts(book, *(part for part in parts if normalize_body(part.raw) not in held))


def _year_of(part: BookPart) -> str:
    return to_date(part.entry.at)[:4] if part.entry else ""
