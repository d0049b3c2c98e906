"""Panels of memory: entries by their scope. The index says which stand on a page, the files what they say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, session_scope
from lineage.core.books.sightings import is_stale_task
from lineage.index import ListedEntry
from lineage.pipeline.memory.books import EntryLocation, find_state, read_contents
from lineage.workspace.book_folders import label_scopes
from lineage.workspace.projects import KnownProjects
from lineage.workspace.workspace import Workspace

USED, UNUSED, UNTOLD = USES = ("used", "told, not used", "never told")
PER_PANEL = 12
PER_PAGE = 40
MAX_SCOPES = 200

_FINDING = "finding"
_SESSION = "session/"


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """The filter of a page: words of an entry, its kind, its trust in brackets, its state, its use; "" for any.

    `uses` says how many sessions were given an entry, and how many used it.
    """

    words: str = ""
    kind: str = ""
    trust: str = ""
    state: str = ""
    use: str = ""
    uses: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def matches(self, entry: ListedEntry, now: str) -> bool:
        """Return whether an entry passes the filter."""
        return (
            self._has_words(entry)
            and self.kind in ("", entry.kind)
            and self.trust in ("", entry.trust)
            and (not self.state or self.state == _find_state(entry, now))
            and self.use in ("", self._find_use(entry.id))
        )

    def _has_words(self, entry: ListedEntry) -> bool:
        words = self.words.lower().split()
        said = " ".join((entry.text, entry.kind, entry.scope, entry.tags)).lower() if words else ""
        return all(word in said for word in words)

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
    found: dict[str, list[ListedEntry]] = {name: [] for name in GROUPS}
    for entry in ws.index.list_entries():
        if entry_filter.matches(entry, ws.now):
            found[_find_group(entry.scope, entry.kind, entry.shelf)].append(entry)
    count = PER_PAGE if group else PER_PANEL
    return [
        Panel(*one, _load_places(ws, found[one[0]][(page - 1) * count : page * count]), len(found[one[0]]))
        for one in _GROUPS
        if group in ("", one[0])
    ]


def list_groups(places: Iterable[EntryLocation]) -> list[EntryGroup]:
    """Return the groups of memory with these entries."""
    by_name: dict[str, list[EntryLocation]] = {name: [] for name, _, _ in _GROUPS}
    for place in places:
        by_name[_find_group(place.ref.scope, place.ref.kind, place.ref.shelf)].append(place)
    return [_build_group(name, title, about, by_name[name]) for name, title, about in _GROUPS]


def _find_group(scope: str, kind: str, shelf: str) -> str:
    if shelf == PENDING:
        return "pending"
    if kind == _FINDING:
        return "findings"
    if scope == GLOBAL:
        return "global"
    return "session" if scope.startswith(_SESSION) else "scoped"


def build_session_panels(ws: Workspace, token: str) -> list[Panel]:
    """Return the panels of one session: what was learned from it, in any book, and its own books."""
    own = session_scope(token)
    learned = frozenset(ws.index.find_entries_of_session(token))
    refs = (BookRef(*book, shelf) for book in ws.index.find_books_of_sessions([token]) for shelf in (PENDING, ""))
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
    """Return scopes with books but those of sessions, and `global`: the targets for moving an entry."""
    scopes = {ref.scope for ref in ws.documents.books.list()}
    named = (scope for scope in sorted(scopes - {GLOBAL}) if not scope.startswith(_SESSION))
    return [GLOBAL, *islice(named, MAX_SCOPES)]


def name_scopes(ws: Workspace) -> dict[str, str]:
    """Return what people call the scopes whose own names have a hash."""
    pairs = ws.index.list_projects()
    return label_scopes(pairs, KnownProjects(ws, pairs).label_paths())


def _find_state(entry: ListedEntry, now: str) -> str:
    is_stale = is_stale_task(entry, now, entry.mentioned_at)
    return find_state(entry, entry.shelf, is_standing=bool(entry.standing), is_stale=is_stale)


def _load_places(ws: Workspace, entries: Iterable[ListedEntry]) -> tuple[EntryLocation, ...]:
    """Return the entries as their files say them; one that a hand took out since has no place."""
    books: dict[BookRef, dict[str, EntryLocation]] = {}
    places = list[EntryLocation | None]()
    for entry in entries:
        ref = BookRef(entry.scope, entry.kind, entry.shelf)
        if ref not in books:
            books[ref] = {place.entry.id: place for place in read_contents(ws, ref).entries}
        places.append(books[ref].get(entry.id))
    return tuple(filter(None, places))


def _build_group(name: str, title: str, about: str, places: Iterable[EntryLocation]) -> EntryGroup:
    newest = sorted(places, key=lambda place: (place.entry.pinned, place.entry.updated or place.entry.at), reverse=True)
    return EntryGroup(name, title, about, newest)
