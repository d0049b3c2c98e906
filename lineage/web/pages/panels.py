"""Panels of memory: entries grouped by their scope."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from lineage.core.base.book_paths import GLOBAL, BookRef
from lineage.pipeline.memory.books import BookOverview, EntryLocation, list_books, read_contents
from lineage.workspace.workspace import Workspace

MAX_ENTRIES = 200

_FINDING = "finding"
_SESSION = "session/"


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """The filter of a page: words of an entry, its trust in brackets, its state; "" for any."""

    words: str = ""
    trust: str = ""
    state: str = ""

    def matches(self, place: EntryLocation) -> bool:
        """Return whether an entry passes the filter."""
        said = " ".join((place.entry.body, place.ref.kind, place.ref.scope, *place.entry.tags)).lower()
        return (
            all(word in said for word in self.words.lower().split())
            and self.trust in ("", place.entry.trust)
            and self.state in ("", place.state)
        )


_NO_FILTER = EntryFilter()


@dataclass(frozen=True, slots=True)
class Panel:
    """Entries under one name; `hidden` counts those beyond the limit of a page."""

    name: str
    title: str
    about: str
    places: tuple[EntryLocation, ...]
    hidden: int


def build_workspace_panels(ws: Workspace, entry_filter: EntryFilter) -> list[Panel]:
    """Return the panels: pending, global, projects, agents and people, sessions, findings."""
    books = list_books(ws)
    waiting = [place for book in books for place in book.waiting]
    in_use = _load_entries(ws, books)
    findings = [place for place in in_use if place.ref.kind == _FINDING]
    others = [place for place in in_use if place.ref.kind != _FINDING]
    everywhere = [place for place in others if place.ref.scope == GLOBAL]
    sessions = [place for place in others if place.ref.scope.startswith(_SESSION)]
    build = partial(_build_panel, entry_filter=entry_filter)
    elsewhere = [place for place in others if place.ref.scope != GLOBAL and place not in sessions]
    return [
        build("pending", "Waits for you", "Proposed by an agent: in force once you confirm it.", waiting),
        build("global", "Everywhere", "What every session is told.", everywhere),
        build("scoped", "Projects, agents and people", "What holds there.", elsewhere),
        build("session", "Sessions", "What stays in its session.", sessions),
        build("findings", "Findings", "What was found in data.", findings),
    ]


def build_session_panels(ws: Workspace, scope: str) -> list[Panel]:
    """Return the panels of one session's own books."""
    books = list_books(ws, scope)
    waiting = [place for book in books for place in book.waiting]
    in_use = _load_entries(ws, books)
    findings = [place for place in in_use if place.ref.kind == _FINDING]
    others = [*waiting, *(place for place in in_use if place.ref.kind != _FINDING)]
    return [
        _build_panel("session", "Session memory", "What stays in this session.", others),
        _build_panel("findings", "Findings", "What was found in its data.", findings),
    ]


def list_scopes(ws: Workspace) -> list[str]:
    """Return the scopes with books, and `global`: the targets for moving an entry."""
    return sorted({GLOBAL, *(book.ref.scope for book in list_books(ws))})


def _load_entries(ws: Workspace, books: Iterable[BookOverview]) -> list[EntryLocation]:
    refs = (BookRef(book.ref.scope, book.ref.kind) for book in books)
    return [place for ref in refs for place in read_contents(ws, ref).entries]


def _build_panel(
    name: str, title: str, about: str, places: Sequence[EntryLocation], entry_filter: EntryFilter = _NO_FILTER
) -> Panel:
    """Return a panel: pinned entries first, then the newest."""
    found = [place for place in places if entry_filter.matches(place)]
    newest = sorted(found, key=lambda place: (place.entry.pinned, place.entry.updated or place.entry.at), reverse=True)
    return Panel(name, title, about, tuple(newest[:MAX_ENTRIES]), max(0, len(newest) - MAX_ENTRIES))
