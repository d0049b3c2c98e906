"""Books over a store: every write is a compare-and-swap that merges concurrent changes (format: Books)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby

from lineage.core.base.book_paths import BOOKS, CURATED, CURATED_PATH, GLOBAL, PENDING, BookRef, parse_book_path
from lineage.core.base.times import to_date
from lineage.core.books import book_edits
from lineage.core.books.book import Book, BookPart, append_parts, check_writable, new_book, parse_book, serialize_book
from lineage.core.books.book_edits import BookEdit, Cap, CapFinder, default_cap, roll_over
from lineage.core.books.entry import Entry
from lineage.core.books.merge import merge_books
from lineage.core.format.body import normalize_body
from lineage.errors import NotFoundError
from lineage.store import Store, read_or_none, update


@dataclass(frozen=True, slots=True)
class Books:
    """The books of a workspace: those in use, pending ones, and archives by year."""

    store: Store
    find_cap: CapFinder = default_cap

    def get(self, scope: str, kind: str, shelf: str = "") -> Book:
        """Return a book, empty without a file. A damaged file is read as far as possible: see `Book.problems`."""
        return self.read(BookRef(scope, kind, shelf))

    def read(self, ref: BookRef) -> Book:
        """Return the book of a reference, as `get` does."""
        blob = read_or_none(self.store, ref.path)
        return _parse_book(blob.data if blob else None, ref)

    def list(self) -> Iterator[BookRef]:
        """Return the books that have a file, of every shelf, sorted."""
        refs = [ref for entry in self.store.list(BOOKS) if (ref := parse_book_path(entry.key))]
        has_curated = read_or_none(self.store, CURATED_PATH) is not None
        return iter(sorted([*refs, *([BookRef(GLOBAL, CURATED)] if has_curated else [])]))

    def update(self, scope: str, kind: str, change: BookEdit, shelf: str = "") -> bool:
        """Apply an edit, called once and merged with concurrent writes. Return whether the file changed."""
        ref = BookRef(scope, kind, shelf)
        base = self.read(ref)
        return self.write_merged(ref, base, change(base))

    def merge_edit(self, ref: BookRef, known: bytes | None, data: bytes) -> bool:
        """Merge an edit, from the bytes `known` to `data`, into the present file. Return whether that changed."""
        return self.write_merged(ref, _parse_book(known, ref), _parse_book(data, ref))

    def write_merged(self, ref: BookRef, base: Book, changed: Book) -> bool:
        """Write `changed`, an edit of `base`, merged with all changes since `base` was read.

        Raises FormatError for a book of a newer format.
        """
        if changed == base:
            return False

        def change(data: bytes | None) -> bytes:
            present = _parse_book(data, ref)
            check_writable(present)
            return serialize_book(merge_books(base, changed, present))

        return update(self.store, ref.path, change)

    def add(self, scope: str, kind: str, entry: Entry, shelf: str = "") -> bool:
        """Add an entry. Return False if any shelf has it: in use, pending, archived or forgotten."""
        known = frozenset[str]().union(*(self.read(ref).all_ids for ref in self.list_shelves(scope, kind)))
        return self.update(scope, kind, lambda book: book_edits.add(book, entry, known), shelf)

    def confirm(self, scope: str, kind: str, identifier: str, now: str) -> None:
        """Move a pending entry into the book. Raises NotFoundError if there is none."""
        source, target = BookRef(scope, kind, PENDING), BookRef(scope, kind)
        pending, book = self.read(source), self.read(target)
        left_pending, grown_book = book_edits.confirm(pending, book, identifier, now)
        # The target first, here and in `move`: a crash between the two leaves the entry twice, never lost.
        self.write_merged(target, book, grown_book)
        self.write_merged(source, pending, left_pending)

    def move(self, source: BookRef, target: BookRef, identifier: str, now: str) -> None:
        """Move an entry into a book of another scope, and forget it in its own. Raises NotFoundError."""
        book, other = self.read(source), self.read(target)
        left_book, grown_book = book_edits.move(book, other, identifier, now)
        self.write_merged(target, other, grown_book)
        self.write_merged(source, book, left_book)

    def bring_back(self, archive: BookRef, identifier: str) -> None:
        """Move an archived entry into the book in use, unless it is there, or gone from the archive."""
        target = BookRef(archive.scope, archive.kind)
        archived, book = self.read(archive), self.read(target)
        left, grown = book_edits.bring_back(archived, book, identifier)
        self.write_merged(target, book, grown)
        self.write_merged(archive, archived, left)

    def forget(self, scope: str, kind: str, identifier: str) -> None:
        """Forget an entry on all shelves. Raises NotFoundError for none, InvalidInput without its end marker."""
        shelves = {ref: self.read(ref) for ref in self.list_shelves(scope, kind)}
        every = [entry for book in shelves.values() for entry in book.entries]
        entries = [book_edits.select_overruled(entry, every) for entry in every if entry.id == identifier]
        for ref, book in shelves.items():
            if identifier in book.forgotten_ids or any(entry.id == identifier for entry in book.entries):
                self.write_merged(ref, book, book_edits.forget(book, identifier, others=every))
            else:
                self.write_merged(ref, book, reduce(book_edits.inherit, entries, book))
        if not (entries or any(identifier in book.forgotten_ids for book in shelves.values())):
            hint = f"`lineage memory show {scope} {kind}` prints its entries with ids"
            raise NotFoundError(f"no entry {identifier[:40]!r} in {kind} of {scope}", hint=hint)

    def roll_over(self, scope: str, kind: str, cap: Cap | None = None) -> int:
        """Bring a book within its cap. Return the number of entries that went into archives."""
        ref = BookRef(scope, kind)
        base = self.read(ref)
        rest, rolled = roll_over(base, cap or self.find_cap(scope, kind))
        self.archive(scope, kind, rolled)  # first, so that a crash between the two loses nothing
        self.write_merged(ref, base, rest)
        return len(rolled)

    def archive(self, scope: str, kind: str, parts: Iterable[BookPart]) -> None:
        """Append entries, word for word, to the archives of their years, unless they are there already."""
        entries = sorted((part for part in parts if part.entry), key=_year_of)
        for year, group in groupby(entries, _year_of):
            self.update(scope, kind, partial(_append_missing, parts=tuple(group)), year)

    def list_shelves(self, scope: str, kind: str) -> tuple[BookRef, ...]:
        """Return the references of a book, of its pending book, with or without files, and of its archives."""
        book, pending = BookRef(scope, kind), BookRef(scope, kind, PENDING)
        folder = BookRef(scope, kind, "0000").path.rpartition("/")[0] + "/"
        refs = {ref for entry in self.store.list(folder) if (ref := parse_book_path(entry.key))}
        archives = sorted(ref for ref in refs if (ref.scope, ref.kind) == (scope, kind) and ref != book)
        return (book, pending, *archives)


def _parse_book(data: bytes | None, ref: BookRef) -> Book:
    return new_book(ref.scope, ref.kind) if data is None else parse_book(data, ref.scope, ref.kind)


def _append_missing(book: Book, parts: tuple[BookPart, ...]) -> Book:
    present = {normalize_body(part.raw) for part in book.parts}
    return append_parts(book, *(part for part in parts if normalize_body(part.raw) not in present))


def _year_of(part: BookPart) -> str:
    return to_date(part.entry.at)[:4] if part.entry else ""
