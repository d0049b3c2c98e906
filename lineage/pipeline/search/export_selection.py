"""What an export may hold: sessions that are neither private, removed nor trials, and entries of these alone.

The index says which sessions there are. Each manifest is asked again, for a session may have been marked private by
hand since.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, session_scope
from lineage.core.base.naming import derive_session_token
from lineage.core.books.entry import Entry
from lineage.core.format.documents import Artifact, Manifest
from lineage.errors import NotFoundError
from lineage.index import SessionFilter, SessionRow
from lineage.pipeline.memory.books import EntryLocation, locate_entries
from lineage.pipeline.search.session_view import MAX_RELATIVES, RelatedSession
from lineage.workspace.book_reader import BookReader
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.projects import locate_filter
from lineage.workspace.session_notes import SessionNotes
from lineage.workspace.workspace import Workspace

PRIVATE, TRIAL, UNREADABLE = "private", "trial", "unreadable"
_MAX_SESSIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """Sessions by token, newest first, each before its sub-agents, and entries by book.

    `as_of` is the newest time of these sessions: what depends on the day is told as of then, so the same state gives
    the same export. `children` are sessions by the token of the one that started them or that they were forked from,
    each with its tie. `left_out` counts the others.
    """

    sessions: Mapping[str, SessionRow]
    entries: Sequence[EntryLocation]
    as_of: str
    children: Mapping[str, Sequence[RelatedSession]]
    left_out: Mapping[str, int]

    def find_relatives(self, manifest: Manifest) -> Iterator[RelatedSession]:
        """Yield the related sessions that are exported, too."""
        for tie, session_id in (("forked from", manifest.forked_from), ("started by", manifest.parent_session)):
            row = self.sessions.get(derive_session_token(manifest.agent_id, session_id)) if session_id else None
            if row:
                yield RelatedSession(tie, row.session_id, row)
        yield from self.children.get(manifest.identity.token, ())[:MAX_RELATIVES]


def select_export(ws: Workspace, agent_id: str | None, wanted: SessionFilter) -> ExportSelection:
    """Return what an export of these sessions may hold, of all agents if `agent_id` is None.

    Raises NotFoundError if no session is left.
    """
    sessions, hidden = dict[str, SessionRow](), dict[str, str]()
    children: dict[str, list[RelatedSession]] = {}
    for row in _iter_rows(ws, agent_id, locate_filter(ws, wanted)):
        manifest = load_readable_document(ws, row.manifest_path)
        if why := _find_reason(row, manifest) or hidden.get(row.parent_token or "", ""):
            hidden[row.session_token] = why
        elif manifest:
            sessions[row.session_token] = row
            for tie, token in _list_origins(row, manifest.forked_from):
                children.setdefault(token, []).append(RelatedSession(tie, row.session_id, row))
    if not sessions:
        raise NotFoundError("no session is left to export", hint="`lineage list --agent all` lists what there is")
    for token, row in sessions.items():
        started = sum(one.tie == "started" for one in children.get(token, ()))
        sessions[token] = replace(row, sub_agents=started)
    as_of = max(row.membership_ts for row in sessions.values())
    entries = list(_iter_entries(ws, agent_id, wanted, sessions, as_of))
    return ExportSelection(sessions, _cut_links(entries), as_of, children, Counter(hidden.values()))


def _list_origins(row: SessionRow, forked_from: str | None) -> list[tuple[str, str]]:
    """Return the tie and the token of each session that this one came from."""
    found = [("started", row.parent_token)] if row.parent_token else []
    return found + ([("fork", derive_session_token(row.agent_id, forked_from))] if forked_from else [])


def _find_reason(row: SessionRow, manifest: Artifact | Manifest | None) -> str:
    """Return why a session stays behind, "" for one that may leave."""
    if row.private or (manifest and manifest.private):
        return PRIVATE
    if row.is_trial:
        return TRIAL
    return "" if isinstance(manifest, Manifest) else UNREADABLE


def _iter_rows(ws: Workspace, agent_id: str | None, wanted: SessionFilter) -> Iterator[SessionRow]:
    """Yield sessions, newest first, each before its sub-agents; none that was removed, or of another agent."""
    removed = ws.documents.tombstones.list_tokens()
    seen = set(removed)
    waiting = ws.index.list_sessions(agent_id, limit=_MAX_SESSIONS, wanted=wanted)[::-1]
    while waiting:
        row = waiting.pop()
        if row.session_token in seen or row.parent_token in removed or agent_id not in (None, row.agent_id):
            continue
        seen.add(row.session_token)
        yield row
        if row.sub_agents:
            waiting += ws.index.list_sessions(None, parent=row.session_token, limit=_MAX_SESSIONS)[::-1]


def _iter_entries(
    ws: Workspace, agent_id: str | None, wanted: SessionFilter, sessions: Mapping[str, SessionRow], as_of: str
) -> Iterator[EntryLocation]:
    """Yield entries by book, each once: those in force and what they superseded, none that waits or was forgotten."""
    reader, seen = BookReader(ws, None), set[str]()
    scopes = _Scopes(ws, agent_id, wanted, sessions)
    refs = sorted(ref for ref in ws.documents.books.list() if ref.shelf != PENDING and scopes.may_hold(ref))
    for ref in refs:
        forgotten = reader.read_book(BookRef(ref.scope, ref.kind)).forgotten_ids
        for place in locate_entries(ref, reader.read_book(ref), as_of):
            if not (place.entry.id in seen or place.entry.id in forgotten) and scopes.may_show(ref, place.entry):
                seen.add(place.entry.id)
                yield place


class _Scopes:
    """Decides which books and entries belong to the exported sessions."""

    def __init__(
        self, ws: Workspace, agent_id: str | None, wanted: SessionFilter, sessions: Mapping[str, SessionRow]
    ) -> None:
        self._agent_id, self._wanted, self._sessions = agent_id, wanted, sessions
        notes = SessionNotes(ws)
        names = {notes.find_name(path) for path in {row.project for row in sessions.values()} if path}
        self._projects = {f"project/{name}" for name in names}

    def may_hold(self, ref: BookRef) -> bool:
        """Return whether a book may have entries of the export."""
        kind, _, name = ref.scope.partition("/")
        if kind == "session":
            return name in self._sessions
        if kind == "agent" and self._agent_id not in (None, name):
            return False
        return not (self._wanted.project or self._wanted.path) or ref.scope in (GLOBAL, *self._projects)

    def may_show(self, ref: BookRef, entry: Entry) -> bool:
        """Return whether an entry's session is exported; of one without a session, whether the filters let it pass."""
        if tokens := naming.find_tokens(entry.origin or ""):
            return all(token in self._sessions for token in tokens)
        if ref.scope.startswith(session_scope("")):
            return True
        wanted, day = self._wanted, entry.at[:10]
        if wanted.harness or (ref.scope == GLOBAL and (wanted.project or wanted.path)):
            return False
        return not (wanted.since or wanted.until) or (bool(day) and wanted.since <= day <= (wanted.until or day))


def _cut_links(places: Sequence[EntryLocation]) -> list[EntryLocation]:
    """Return the entries without successors that stay behind."""
    ids = {place.entry.id for place in places}
    return [
        place if place.successor is None or place.successor.id in ids else replace(place, successor=None)
        for place in places
    ]


def group_by_session(places: Sequence[EntryLocation]) -> dict[str, list[EntryLocation]]:
    """Return entries by the token of the session that they came from, or whose own they are."""
    found = dict[str, list[EntryLocation]]()
    own = session_scope("")
    for place in places:
        tokens = naming.find_tokens(place.entry.origin or "")
        for token in dict.fromkeys((*tokens, *[place.ref.scope.removeprefix(own)] * place.ref.scope.startswith(own))):
            found.setdefault(token, []).append(place)
    return found


def group_by_book(places: Sequence[EntryLocation]) -> dict[tuple[str, str], list[EntryLocation]]:
    """Return entries by scope and kind."""

    def book(place: EntryLocation) -> tuple[str, str]:
        return place.ref.scope, place.ref.kind

    return {name: list(group) for name, group in groupby(sorted(places, key=book), key=book)}
