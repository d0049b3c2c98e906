"""Panels of memory: entries grouped by their scope."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, session_scope
from lineage.pipeline.memory.books import BookOverview, EntryLocation, list_books, read_contents
from lineage.workspace.workspace import Workspace

USED, UNUSED, UNTOLD = USES = ("used", "told, not used", "never told")
PER_PANEL = 12
PER_PAGE = 50

_FINDING = "finding"
_SESSION = "session/"


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """The filter of a page: words of an entry, its trust in brackets, its state, its use; "" for any.

    `uses` says how many sessions were given an entry, and how many used it.
    """

    words: str = ""
    trust: str = ""
    state: str = ""
    use: str = ""
    uses: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def matches(self, place: EntryLocation) -> bool:
        """Return whether an entry passes the filter."""
        said = " ".join((place.entry.body, place.ref.kind, place.ref.scope, *place.entry.tags)).lower()
        return (
            all(word in said for word in self.words.lower().split())
            and self.trust in ("", place.entry.trust)
            and self.state in ("", place.state)
            and self.use in ("", self._find_use(place.entry.id))
        )

    def _find_use(self, name: str) -> str:
        given, used = self.uses.get(name, (0, 0))
        return USED if used else UNUSED if given else UNTOLD


@dataclass(frozen=True, slots=True)
class Panel:
    """Entries under one name, some of `total`."""

    name: str
    title: str
    about: str
    places: tuple[EntryLocation, ...]
    total: int


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """Entries under one name, in the order of a panel: pinned ones first, then the newest."""

    name: str
    title: str
    about: str
    places: Sequence[EntryLocation]

    @property
    def total(self) -> int:
        """The number of entries."""
        return len(self.places)

    def cut(self, page: int, count: int) -> Panel:
        """Return a page of so many entries."""
        shown = self.places[(page - 1) * count : page * count]
        return Panel(self.name, self.title, self.about, tuple(shown), self.total)


_GROUPS = (
    ("pending", "Waits for you", "Proposed by an agent: in force once you confirm it."),
    ("global", "Everywhere", "What every session is told."),
    ("scoped", "Projects, agents and people", "What holds there."),
    ("session", "Sessions", "What stays in its session."),
    ("findings", "Findings", "What was found in data."),
)
GROUPS = tuple(name for name, _, _ in _GROUPS)


def build_workspace_panels(ws: Workspace, entry_filter: EntryFilter, group: str = "", page: int = 1) -> list[Panel]:
    """Return the beginning of each panel, or one page of one of them."""
    books = list_books(ws)
    places = (*(place for book in books for place in book.waiting), *_load_entries(ws, books))
    groups = list_groups([place for place in places if entry_filter.matches(place)])
    return [one.cut(page, PER_PAGE if group else PER_PANEL) for one in groups if group in ("", one.name)]


def list_groups(places: Iterable[EntryLocation]) -> list[EntryGroup]:
    """Return the groups of memory with these entries."""
    by_name: dict[str, list[EntryLocation]] = {name: [] for name, _, _ in _GROUPS}
    for place in places:
        by_name[_find_group(place)].append(place)
    return [_build_group(name, title, about, by_name[name]) for name, title, about in _GROUPS]


def _find_group(place: EntryLocation) -> str:
    if place.ref.shelf == PENDING:
        return "pending"
    if place.ref.kind == _FINDING:
        return "findings"
    if place.ref.scope == GLOBAL:
        return "global"
    return "session" if place.ref.scope.startswith(_SESSION) else "scoped"


def build_session_panels(ws: Workspace, token: str) -> list[Panel]:
    """Return the panels of one session: what was learned from it, in any book, and its own books."""
    own = session_scope(token)
    learned = frozenset(ws.index.find_entries_of_session(token))
    books = {*ws.index.find_books_of_sessions([token]), *((one.ref.scope, one.ref.kind) for one in list_books(ws, own))}
    refs = (BookRef(*book, shelf) for book in sorted(books) for shelf in (PENDING, ""))
    found = (place for ref in refs for place in read_contents(ws, ref).entries)
    return list_session_panels([place for place in found if place.entry.id in learned or place.ref.scope == own])


def list_session_panels(places: Sequence[EntryLocation]) -> list[Panel]:
    """Return the beginnings of the panels of one session with these entries."""
    findings = [place for place in places if place.ref.kind == _FINDING]
    others = [place for place in places if place.ref.kind != _FINDING]
    groups = (
        _build_group("session", "Learned here", "What memory keeps of this session.", others),
        _build_group("findings", "Findings", "What was found in its data.", findings),
    )
    return [group.cut(1, PER_PANEL) for group in groups]


def list_scopes(ws: Workspace) -> list[str]:
    """Return the scopes with books but those of sessions, and `global`: the targets for moving an entry."""
    scopes = {ref.scope for ref in ws.documents.books.list()}
    return sorted({GLOBAL, *(scope for scope in scopes if not scope.startswith(_SESSION))})


def _load_entries(ws: Workspace, books: Iterable[BookOverview]) -> list[EntryLocation]:
    refs = (BookRef(book.ref.scope, book.ref.kind) for book in books)
    return [place for ref in refs for place in read_contents(ws, ref).entries]


def _build_group(name: str, title: str, about: str, places: Iterable[EntryLocation]) -> EntryGroup:
    newest = sorted(places, key=lambda place: (place.entry.pinned, place.entry.updated or place.entry.at), reverse=True)
    return EntryGroup(name, title, about, newest)
