"""Books over a store: curated knowledge that people edit while lineage writes. (format: Books)

Every write is a compare-and-swap on the file; what was changed meanwhile is brought together entry by entry.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from lineage.core import book_changes
from lineage.core.body import normalized
from lineage.core.book import Book, Part, appended, new_book, parsed_book, serialized_book
from lineage.core.book_changes import Change
from lineage.core.book_paths import BOOKS, CURATED, CURATED_PATH, GLOBAL, PENDING, BookRef, ref_of
from lineage.core.entry import Entry
from lineage.core.times import day
from lineage.errors import NotFoundError
from lineage.store import Store, read_or_none, update

if TYPE_CHECKING:  # who reads neither merges nor archives
    from lineage.core.rollover import Cap


class Books(NamedTuple):
    """The books of a workspace: those in use, those that wait for confirmation, and archives by year."""

    store: Store

    def get(self, scope: str, kind: str, shelf: str = "") -> Book:
        """The book, an empty one where there is no file. A damaged file is read as far as it can be: see `problems`."""
        return self.read(BookRef(scope, kind, shelf))

    def read(self, ref: BookRef) -> Book:
        blob = read_or_none(self.store, ref.path)
        return _parsed(blob.data if blob else None, ref)

    def list(self) -> Iterator[BookRef]:
        """All books that have a file, of every shelf, sorted. Other files below `books/` are none of ours."""
        found = [ref for entry in self.store.list(BOOKS) if (ref := ref_of(entry.key))]
        has_curated = read_or_none(self.store, CURATED_PATH) is not None
        return iter(sorted([*found, *([BookRef(GLOBAL, CURATED)] if has_curated else [])]))

    def update(self, scope: str, kind: str, change: Change, shelf: str = "") -> bool:
        """Changes a book, see `book_changes`. `change` is called once and may take its time: what somebody else wrote
        meanwhile is merged. True where the file changed; raises what `change` raises."""
        ref = BookRef(scope, kind, shelf)
        base = self.read(ref)
        return self.settle(ref, base, change(base))

    def settle(self, ref: BookRef, base: Book, wanted: Book) -> bool:
        """Writes what was made of `base`, together with what was written since `base` was read."""
        if wanted == base:
            return False
        from lineage.core.merging import merged  # noqa: PLC0415

        def change(data: bytes | None) -> bytes:
            return serialized_book(merged(base, wanted, _parsed(data, ref)))

        return update(self.store, ref.path, change)

    def add(self, scope: str, kind: str, entry: Entry) -> bool:
        """Adds an entry. False where it is known: in use, waiting, archived, or forgotten on any of these shelves."""
        known = self._known(scope, kind)
        return self.update(scope, kind, lambda book: book_changes.add(book, entry, known))

    def propose(self, scope: str, kind: str, entry: Entry) -> bool:
        """Adds an entry to what waits for the user's confirmation; False where it is known."""
        known = self._known(scope, kind)
        return self.update(scope, kind, lambda book: book_changes.add(book, entry, known), PENDING)

    def confirm(self, scope: str, kind: str, identifier: str, now: str) -> None:
        """Moves what waits into the book. Raises NotFoundError where it doesn't wait."""
        source, target = BookRef(scope, kind, PENDING), BookRef(scope, kind)
        pending, book = self.read(source), self.read(target)
        left, grown = book_changes.confirm(pending, book, identifier, now)
        self.settle(target, book, grown)
        self.settle(source, pending, left)

    def demote(self, source: BookRef, target: BookRef, identifier: str, now: str) -> None:
        """Moves an entry into a book of another scope; it doesn't come back to its own. Raises NotFoundError."""
        book, other = self.read(source), self.read(target)
        left, grown = book_changes.demote(book, other, identifier, now)
        self.settle(target, other, grown)
        self.settle(source, book, left)

    def forget(self, scope: str, kind: str, identifier: str) -> None:
        """Forgets an entry on every shelf that has it. Raises NotFoundError where none has or had it, InvalidInput
        where it has lost its end."""
        has_it = False
        for ref in self.shelves(scope, kind):
            book = self.read(ref)
            if identifier in book.forgotten or any(entry.id == identifier for entry in book.entries):
                self.settle(ref, book, book_changes.forget(book, identifier))
                has_it = True
        if not has_it:
            raise NotFoundError(f"no entry {identifier[:40]!r} in {kind} of {scope}", hint="run `lineage book show`")

    def roll_over(self, scope: str, kind: str, cap: "Cap | None" = None) -> int:
        """Brings a book within its cap; how many entries went into the archives. They are there before they leave."""
        from lineage.core.rollover import cap_of, roll_over  # noqa: PLC0415

        ref = BookRef(scope, kind)
        base = self.read(ref)
        kept, rolled = roll_over(base, cap or cap_of(scope, kind))
        self.archive(scope, kind, rolled)
        self.settle(ref, base, kept)
        return len(rolled)

    def archive(self, scope: str, kind: str, parts: Iterable[Part]) -> None:
        """Appends entries, each as it stands, to the archive of its year; what stands there already isn't repeated."""
        found = sorted((part for part in parts if part.entry), key=_year)
        for year, group in groupby(found, _year):
            self.update(scope, kind, partial(_archived, parts=tuple(group)), year)

    def shelves(self, scope: str, kind: str) -> tuple[BookRef, ...]:
        """A book, what waits for it, whether or not there is a file, and its archives."""
        here, waiting = BookRef(scope, kind), BookRef(scope, kind, PENDING)
        folder = BookRef(scope, kind, "0000").path.rpartition("/")[0] + "/"
        refs = {ref for entry in self.store.list(folder) if (ref := ref_of(entry.key))}
        archives = sorted(ref for ref in refs if (ref.scope, ref.kind) == (scope, kind) and ref != here)
        return (here, waiting, *archives)

    def _known(self, scope: str, kind: str) -> frozenset[str]:
        return frozenset[str]().union(*(self.read(ref).known for ref in self.shelves(scope, kind)))


def _parsed(data: bytes | None, ref: BookRef) -> Book:
    return new_book(ref.scope, ref.kind) if data is None else parsed_book(data, ref.scope, ref.kind)


def _archived(book: Book, parts: tuple[Part, ...]) -> Book:
    held = {normalized(part.raw) for part in book.parts}
    return appended(book, *(part for part in parts if normalized(part.raw) not in held))


def _year(part: Part) -> str:
    return day(part.entry.at)[:4] if part.entry else ""
