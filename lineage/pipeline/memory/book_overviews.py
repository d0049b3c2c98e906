"""The books of a workspace with the counts of what they hold (`lineage memory list`)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.books.entry import CONFIRMED, compute_entry_id, parse_before
from lineage.pipeline.memory.books import DONE, STALE, SUPERSEDED, BookContents, EntryLocation, read_contents
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BookOverview:
    """Counts of a book with all its shelves. `waiting` are the pending entries, `stale` tasks are told to nobody.

    `entries` are all of the current file, stale, superseded and done ones too; `forgotten` are the ids that stay away,
    `forgettings` the entries that a person forgot: not one that was edited or moved.
    """

    ref: BookRef
    entries: int
    waiting: tuple[EntryLocation, ...]
    archived: int
    forgotten: int
    problems: tuple[str, ...]
    stale: int = 0
    superseded: int = 0
    done: int = 0
    forgettings: int = 0

    @property
    def in_use(self) -> int:
        """The entries that stand or are pinned."""
        return self.entries - self.stale - self.superseded - self.done

    def as_json(self) -> dict[str, Any]:
        """Return the book's name and counts as JSON."""
        counts = {"entries": self.entries, "waiting": len(self.waiting), "archived": self.archived}
        named = {"scope": self.ref.scope, "kind": self.ref.kind, "path": self.ref.path}
        states = {"in_use": self.in_use, "stale": self.stale, "superseded": self.superseded, "done": self.done}
        whole = {"forgotten": self.forgotten, "problems": list(self.problems)}
        return {**named, **counts, **whole, **states, "forgettings": self.forgettings}


def list_books(ws: Workspace, scope: str | None = None) -> list[BookOverview]:
    """Return all books, or those of one scope, sorted by name."""
    every = list(ws.documents.books.list())
    names = sorted({(ref.scope, ref.kind) for ref in every if scope in (None, ref.scope)})
    found = {name: [read_contents(ws, ref) for ref in ws.documents.books.list_shelves(*name)] for name in names}
    kinds = {kind for (_, kind), files in found.items() if any(file.forgotten for file in files)}
    others = (ref for ref in every if ref.kind in kinds and (ref.scope, ref.kind) not in found)
    read = [file for files in found.values() for file in files if file.ref.kind in kinds]
    changed = [
        place
        for file in (*read, *(read_contents(ws, ref) for ref in others))
        for place in file.entries
        if place.entry.updated
    ]
    return [_build_overview(BookRef(*name), files, changed) for name, files in found.items()]


def _build_overview(ref: BookRef, files: Sequence[BookContents], changed: Sequence[EntryLocation]) -> BookOverview:
    """Return the counts of a book. `changed` are the entries of its kind in all scopes that were changed once."""
    states = Counter(place.state for file in files if not file.ref.shelf for place in file.entries)
    own = {name for file in files for name, forgotten_with in file.tombstones if not forgotten_with}
    archives = [file for file in files if file.ref.is_archive]
    return BookOverview(
        ref,
        entries=states.total(),
        waiting=tuple(location for file in files if file.ref.shelf == PENDING for location in file.entries),
        archived=sum(len(file.entries) for file in archives),
        forgotten=len(frozenset[str]().union(*(file.forgotten for file in files))),
        problems=tuple(f"{file.ref.path}: {problem}" for file in files for problem in file.problems),
        stale=states[STALE],
        superseded=states[SUPERSEDED],
        done=states[DONE],
        forgettings=len(own - _find_moved_ids(ref, changed) if own else own),
    )


def _find_moved_ids(ref: BookRef, changed: Sequence[EntryLocation]) -> set[str]:
    """Return the ids that entries of other scopes had in this book, by their words, today's and those before.

    Earlier versions left the tombstone of a moved entry without its new id. A confirmed global entry is a copy.
    """
    return {
        compute_entry_id(ref.scope, ref.kind, words, place.entry.origin)
        for place in changed
        if (place.ref.kind, place.ref.scope != ref.scope) == (ref.kind, True)
        and (place.ref.scope, place.entry.source) != (GLOBAL, CONFIRMED)
        for words in (place.entry.body, parse_before(place.entry))
        if words
    }
