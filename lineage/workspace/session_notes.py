"""The notes of projects and days: one block in each is lineage's, rendered from the index and the books.

A note is a pure function of its path and the rows, whoever writes it: a capture those of its session, `render` all of
them. It is rendered after the rows are committed and between the read of the file and its swap, so the last of two
writers has seen the rows of both.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lineage.core.base import naming, note_paths
from lineage.core.base.book_paths import BookRef
from lineage.core.base.links import find_target
from lineage.core.base.project import build_project_key, is_repository
from lineage.core.base.times import to_date
from lineage.core.books.entry import TASK
from lineage.core.capture.ledger import NotedCapture, find_parent, is_visible
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.manifest import SessionLinks
from lineage.errors import WorkspaceError
from lineage.projection import session_notes as rendering
from lineage.projection.memory_item import MemoryItem
from lineage.store import update
from lineage.workspace.book_folders import BookFolders
from lineage.workspace.book_reader import BookEntry, BookReader, list_open_tasks
from lineage.workspace.folder_names import list_names
from lineage.workspace.memory_items import build_item
from lineage.workspace.projects import KnownProjects
from lineage.workspace.workspace import Workspace, tolerate_outage

_SECTIONS = (("Rules", ("preference", "note")), ("Decisions", ("decision",)), ("Lessons", ("lesson",)))
_BY_TIME = ("Decisions", "Lessons")  # people ask for what was decided last week
_OPEN_TASKS = "Open tasks"
_MAX_EARLIER = 50  # captures in which a session looks for its files
_MAX_RELATED = 5
_MAX_PLACES = 62  # days of a session whose notes a capture of it writes
_MONTH_LENGTH = len("2026-11")
_SCOPE = "project/"


def find_session_links(
    ws: Workspace, document: Artifact | Manifest, stem: str, files: Iterable[str] = (), *, claim: bool = True
) -> SessionLinks:
    """Return the links of the manifest at `stem`: its project's note, the session before, others with the same files.

    `files` are those that it edited beside the indexed ones. A private session, a sub-agent and a test have none.
    """
    is_noted = is_visible(document) and not document.private and find_parent(document) is None
    path = document.project if is_noted else None
    name = BookFolders(ws).resolve(path, document.repository, claim=claim) if path else None
    links = SessionLinks(name or "")
    with tolerate_outage(ws):
        token = document.identity.token
        earlier = SessionNotes(ws).list_earlier(name, naming.parse_captured_at(stem), token) if name else {}
        edited = ws.index.load_edited_files([token, *earlier])
        own = edited.pop(token, set()).union(files)
        counts = Counter(file for names in edited.values() for file in names & own)
        # A file that every session edits says little.
        scores = {other: sum(1 / counts[file] for file in names & own) for other, names in edited.items()}
        related = sorted(
            filter(scores.__getitem__, scores), key=lambda other: (-scores[other], [*earlier].index(other))
        )
        stems = [earlier[other] for other in related[:_MAX_RELATED]]
        return links._replace(previous=list(earlier.values())[:1], related=stems)
    return links  # the index is away


class SessionNotes:
    """The notes as the rows have them now. Projects and their names are read once."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        pairs = ws.index.list_projects()
        self._known = KnownProjects(ws, pairs)
        self._keys = {path: key for key, path in pairs}
        self._folders = BookFolders(ws)
        self._names: dict[str, str | None] = {"": None}

    def find_name(self, path: str, *, claim: bool = False) -> str | None:
        """Return the name of the project with a path, None without one."""
        if path not in self._names:
            key = self._known.find_by_path(path)
            self._names[path] = self._folders.resolve(path, key if is_repository(key) else None, claim=claim)
        return self._names[path]

    def render(self, key: str) -> str | None:
        """Return the text of lineage's block in a note, None if nothing belongs there."""
        if day := note_paths.parse_day_note(key):
            captures = self._ws.index.list_noted_captures(since=day, until=f"{day}~", limit=rendering.MAX_SESSIONS)
            return rendering.render_day_note(day, captures, self.find_name) if captures else None
        name, month = note_paths.parse_project_note(key) or ("", "")
        paths = self._list_paths(name)
        if month:
            limit = rendering.MAX_SESSIONS
            captures = self._list_captures(paths, since=month, until=f"{month}~", limit=limit + 1)
            last, cut = (
                (to_date(one.membership) for one in captures[limit - 1 : limit + 1])
                if captures[limit:]
                else (month, "")
            )
            older_days = [last] * (last == cut) + [
                *self._list_periods(paths, len("2026-11-01"), since=month, until=last)
            ]
            return rendering.render_month_note(name, month, captures[:limit], older_days) if captures else None
        captures = self._list_captures(paths, limit=2 * rendering.NEWEST_SESSIONS)
        if not captures:
            return None
        months = [*self._list_periods(paths, _MONTH_LENGTH, limit=rendering.MAX_MONTHS)]
        return rendering.render_project_note(name, captures, months, self._load_sections(name, captures[0].membership))

    def list_earlier(self, name: str, until: str, token: str) -> dict[str, str]:
        """Return the stems of the manifests of the project's sessions before a time, by token, newest first."""
        captures = self._list_captures(self._list_paths(name), until=until, limit=_MAX_EARLIER)
        names = {one.token: naming.parse_path(one.manifest_path) for one in captures if one.token != token}
        return {other: parsed.stem for other, parsed in names.items() if parsed}

    def list_keys(self) -> Iterator[str]:
        """Yield the path of every note that the rows ask for."""
        for name in sorted({name for path in self._keys if (name := self.find_name(path))}):
            months = [*self._list_periods(self._list_paths(name), _MONTH_LENGTH)]
            if months:
                yield note_paths.project_note_path(name)
                yield from (note_paths.project_note_path(name, month) for month in months)
        yield from map(note_paths.day_note_path, self._list_periods([None], len("2026-11-01")))

    def _list_paths(self, name: str) -> list[str]:
        """Return the paths of the project with a name, looking at no more projects than may have it."""
        paths = (path for path, key in self._keys.items() if name in (*list_names(key), *list_names(_key(path))))
        keys = {self._known.join(self._keys[path]) for path in paths}
        same = (path for path, key in self._keys.items() if self._known.join(key) in keys)
        found = {path for path in same if self.find_name(path) == name}
        return sorted(found | {path for path, known in self._names.items() if known == name})

    def _list_captures(
        self, paths: Sequence[str | None], *, since: str = "", until: str = "~", limit: int
    ) -> list[NotedCapture]:
        index = self._ws.index
        found = [
            one for path in paths for one in index.list_noted_captures(path, since=since, until=until, limit=limit)
        ]
        return sorted(found, key=lambda one: (one.membership, one.stem), reverse=True)[:limit]

    def _list_periods(
        self, paths: Sequence[str | None], length: int, *, since: str = "", until: str = "~", limit: int = 100_000
    ) -> Iterator[str]:
        """Yield the months or days with captures, newest first, each found by one step in the index."""
        while limit and (newest := self._list_captures(paths, since=since, until=until, limit=1)):
            until, limit = newest[0].membership[:length], limit - 1
            yield until

    def _load_sections(self, name: str, now: str) -> dict[str, list[MemoryItem]]:
        """Return what the project's books say, for people: the entries of all agents."""
        reader, scope = BookReader(self._ws, None), f"{_SCOPE}{name}"
        reader.prefetch(BookRef(scope, kind) for _, kinds in (*_SECTIONS, ("", (TASK,))) for kind in kinds)
        entries = {heading: [(one, one.text) for one in reader.entries(scope, *kinds)] for heading, kinds in _SECTIONS}
        for heading in _BY_TIME:
            entries[heading].sort(key=lambda item: item[0].updated_at, reverse=True)
        entries[_OPEN_TASKS] = list_open_tasks(reader, [scope], now)
        return {heading: [_build_item(*one) for one in found] for heading, found in entries.items()}


def publish_session_notes(ws: Workspace, token: str) -> None:
    """Write the notes of the days and projects of one session. Its rows are committed."""
    places = ws.index.list_noted_places(token, _MAX_PLACES)
    if places:
        notes = SessionNotes(ws)
        named = {(name, day[:_MONTH_LENGTH]) for day, path in places if (name := notes.find_name(path, claim=True))}
        keys = {note_paths.day_note_path(day) for day, _ in places}
        keys |= {note_paths.project_note_path(name, month) for name, day in named for month in ("", day)}
        _write_notes(ws, notes, keys)


def publish_project_notes(ws: Workspace, scopes: Iterable[str]) -> None:
    """Write the notes of the projects whose books changed."""
    names = {scope.removeprefix(_SCOPE) for scope in scopes if scope.startswith(_SCOPE)}
    with tolerate_outage(ws):
        if names:
            _write_notes(ws, SessionNotes(ws), map(note_paths.project_note_path, names))


def publish_all_notes(ws: Workspace) -> None:
    """Write every note, and take lineage's block out of those that nothing belongs in any more."""
    notes = SessionNotes(ws)
    _write_notes(ws, notes, {*notes.list_keys(), *list_notes(ws)})


def list_notes(ws: Workspace) -> list[str]:
    """Return the paths of the files that have the name of a note, a person's own included."""
    keys = (entry.key for folder in note_paths.FOLDERS for entry in ws.documents.store.list(folder))
    return [key for key in keys if note_paths.parse_day_note(key) or note_paths.parse_project_note(key)]


def _write_notes(ws: Workspace, notes: SessionNotes, keys: Iterable[str]) -> None:
    for key in sorted(keys):
        try:
            _write_note(ws, notes, key)
        except WorkspaceError as error:
            if type(error) is not WorkspaceError:  # the disk is full, or the server away
                raise
            # a folder where the note belongs, or a file in place of its folder: `verify` names it


def _write_note(ws: Workspace, notes: SessionNotes, key: str) -> None:
    """Write a note; delete it in one step if nothing would stay in it, so a crash leaves no empty file."""
    store, is_empty = ws.documents.store, False

    def change(data: bytes | None) -> bytes | None:
        nonlocal is_empty
        changed = note_paths.replace_block(data, notes.render(key))
        is_empty = changed is not None and not changed.strip()
        return None if is_empty else changed

    update(store, key, change)
    if is_empty:
        store.delete(key)
        # A capture may have put its session there meanwhile, and believes that the note stands.
        update(store, key, change)


def _key(path: str) -> str:
    return build_project_key(path)


def _build_item(entry: BookEntry, text: str) -> MemoryItem:
    """Return the item of an entry with a link to what was said, of a handwritten one to its book."""
    target = find_target(entry.entry.origin or "")
    is_artifact = naming.parse_path(target.partition("#")[0]) is not None
    return replace(build_item(entry, text), link=target if is_artifact else entry.ref.path)
