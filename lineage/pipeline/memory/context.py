"""What a new session is told: gathered with one query of the index and the files that it names (format: Commands).

"Today" is the UTC day of `house.now`; but for it and the end of a checkpoint's seven days, no clock has part in it.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import CURATED, BookRef
from lineage.core.base.identity import DEFAULT_AGENT, TOKEN, derive_session_token, validate_agent_id
from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope, session_scope
from lineage.core.base.times import shift_time, to_date
from lineage.core.books.book import Book, BookPart
from lineage.core.books.entry import DERIVED, HAND
from lineage.core.format.documents import Artifact
from lineage.harness.projects import resolve_project
from lineage.projection.context_block import ContextBlock, ContextItems, build_context_block
from lineage.projection.memory_item import MemoryItem
from lineage.workspace.book_reader import BookEntry, BookReader, list_open_tasks, rank_entries
from lineage.workspace.load import load_readable_document
from lineage.workspace.project_folders import build_project_key, resolve_project_folder
from lineage.workspace.workspace import Workspace

if TYPE_CHECKING:
    from lineage.index import EntryRow, RecalledSession

_GLOBAL_KINDS = ("preference", "decision", "note", "fact")
_PROJECT_KINDS = ("note", "context", "fact", "project")
_SESSION_KINDS = ("finding", "note", "context", "fact", "decision", "lesson", "preference")
_RELEVANT_KINDS = ("decision", "lesson")
_HANDOFF = "handoff"

_MAX_PROJECT_SESSIONS, _MAX_SESSIONS = 1000, 50  # sessions, to find a project's among them and without one
_MAX_RECENT = 8
_MAX_RELEVANT = 5
_MAX_MESSAGES = 6
_MAX_MESSAGE_LENGTH = 600
_MIN_WORD_LENGTH = 4
_HEADING = re.compile(r"\s*#{1,6}\s")
_COMMANDS_SECTION = re.compile(r"^## Commands run\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""An agent may have written anything into a command, a commit's message for instance."""

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class ContextRequest(NamedTuple):
    """For whom: the agent; its project, a path or a bare name; the running session, a token or an id; what it is
    about. `budget` is in tokens, the workspace's where it is None."""

    agent_id: str = DEFAULT_AGENT
    project: str | None = None
    query: str | None = None
    session: str | None = None
    budget: int | None = None

    @property
    def token(self) -> str:
        """The running session's, "" where none is named."""
        named = (self.session or "").strip()
        return named if not named or TOKEN.fullmatch(named) else derive_session_token(self.agent_id, named)


def build_context(ws: Workspace, request: ContextRequest, reader: BookReader | None = None) -> ContextBlock:
    """The block for a new session. Writes nothing. `knowledge` is what was read of the books already.

    Raises InvalidInput for an agent's id that is none.
    """
    validate_agent_id(request.agent_id)
    gathering = _ContextBuilder(ws, request, (reader or BookReader(ws)).for_agent(request.agent_id))
    budget = ws.settings.context.budget if request.budget is None else request.budget
    return build_context_block(gathering.build(), budget)


class _ContextBuilder:
    """One answer while it is put together."""

    def __init__(self, ws: Workspace, request: ContextRequest, reader: BookReader) -> None:
        self._ws = ws
        self._request = request
        self._reader = reader
        self._project = resolve_project(request.project)
        self._folder = resolve_project_folder(ws, self._project)
        self._agent = f"agent/{request.agent_id}"
        self._scopes = [self._agent, *([f"project/{self._folder}"] if self._folder else [])]
        self._handoffs = self._entries(self._scopes, _HANDOFF)

    def build(self) -> ContextItems:
        found = self._ws.index.recall(
            self._request.query or " ".join([self._folder or "", *(known.text for known in self._handoffs[:1])]),
            agent_id=self._request.agent_id,
            scopes=[GLOBAL, *self._scopes],
            kinds=_RELEVANT_KINDS,
            max_sessions=_MAX_PROJECT_SESSIONS if self._project else _MAX_SESSIONS,
            max_entries=4 * _MAX_RELEVANT,
            until=self._ws.now,
        )
        sessions = self._filter_by_project([row for row in found.sessions if self._is_visible(row)])
        here = {row.session_token for row in sessions}
        handoff = self._find_handoff(sessions, {row.session_token for row in found.sessions} - here)
        last = self._last_session_items(sessions[0]) if sessions and not handoff else []
        relevant = self._find_relevant(found.entries, sessions, handoff)
        return ContextItems(
            curated=load_curated_items(self._reader),
            preferences=_build_items(self._reader.entries(GLOBAL, *_GLOBAL_KINDS)),
            project=_build_items(self._entries(self._scopes[1:], *_PROJECT_KINDS)),
            last_session=_build_items([handoff]) if handoff else last,
            decisions=_build_items([known for known in relevant if known.ref.kind == "decision"][:_MAX_RELEVANT]),
            lessons=_build_items([known for known in relevant if known.ref.kind == "lesson"][:_MAX_RELEVANT]),
            session=self._session_items(),
            tasks=self._task_items(),
            daily=self._daily_items(),
            recovery=self._recovery_items(),
            recent=self._recent_items(sessions[1:] if last else sessions),
        )

    def _entries(self, scopes: Iterable[str], *kinds: str) -> list[BookEntry]:
        return rank_entries(known for scope in scopes for known in self._reader.entries(scope, *kinds))

    def _is_visible(self, row: "RecalledSession") -> bool:
        return row.session_token != self._request.token and row.session_token not in self._reader.removed_tokens

    def _filter_by_project(self, rows: "list[RecalledSession]") -> "list[RecalledSession]":
        """Those of the project, all where none is given. A bare name is the project of that path, if there is any, else
        the one with that folder."""
        if not self._project:
            return rows
        key = build_project_key(self._project)
        keys = {path: build_project_key(path) for path in {row.project for row in rows if row.project}}
        same = [row for row in rows if row.project and keys[row.project] == key]
        if same or key != self._folder:
            return same
        paths = {row.project for row in rows if row.project}
        named = {path for path in paths if resolve_project_folder(self._ws, path) == self._folder}
        return [row for row in rows if row.project in named]

    def _find_handoff(self, sessions: "Sequence[RecalledSession]", others: Set[str]) -> BookEntry | None:
        """The newest handoff that no session of another project left, unless more than the session that left it ended
        since: then it is history."""
        left = (known for known in self._handoffs if others.isdisjoint(naming.find_tokens(known.entry.origin or "")))
        newest = max(left, key=lambda known: known.updated_at, default=None)
        if newest and newest.updated_at and len(sessions) > 1 and newest.updated_at < sessions[1].membership_ts:
            return None
        return newest

    def _last_session_items(self, row: "RecalledSession") -> list[MemoryItem]:
        """What stands for a handoff that nobody wrote: the sentence of the last capture, and its summary line by line.
        (lessons: 30)"""
        items = [MemoryItem(row.memory_sentence, DERIVED, to_date(row.membership_ts), row.summary_path)]
        summary = load_readable_document(self._ws, row.summary_path)
        if not isinstance(summary, Artifact):
            return items
        if not is_allowed_in_scope(GLOBAL, private=summary.private, token=summary.identity.token):
            return []
        lines = _COMMANDS_SECTION.sub("", str(summary.body)).splitlines()[1:]
        return items + [MemoryItem(line) for line in lines if line.strip() and not line.startswith("# ")]

    def _find_relevant(
        self, rows: "Sequence[EntryRow]", sessions: "Sequence[RecalledSession]", handoff: BookEntry | None
    ) -> list[BookEntry]:
        """Decisions and lessons, best first: what the query finds. Without a query, those of project and agent too,
        ranked by the words that they share with the last session, then by age."""
        found = list(filter(None, map(self._load_entry, rows)))
        if not self._request.query:
            found = [*self._entries(self._scopes, *_RELEVANT_KINDS), *self._entries([GLOBAL], "lesson"), *found]
            last = handoff.text if handoff else sessions[0].memory_sentence if sessions else ""
            newest = sorted({known.entry.id: known for known in found}.values(), key=_recency_key, reverse=True)
            found = _sort_by_shared_words(newest, f"{self._folder or ''} {last}")
        shown = {known.entry.id for known in self._reader.entries(GLOBAL, *_GLOBAL_KINDS)}
        return [known for known in found if known.entry.id not in shown]

    def _load_entry(self, row: "EntryRow") -> BookEntry | None:
        """The entry of a row as its file has it now."""
        known = self._reader.active_entries(BookRef(row.scope, row.kind, row.shelf))
        return next((one for one in known if one.entry.id == row.id), None)

    def _session_items(self) -> list[MemoryItem]:
        token = self._request.token
        return _build_items(self._reader.entries(session_scope(token), *_SESSION_KINDS)) if token else []

    def _task_items(self) -> list[MemoryItem]:
        own = [session_scope(self._request.token)] if self._request.token else []
        found = list_open_tasks(self._reader, [GLOBAL, *self._scopes, *own])
        return [MemoryItem(text, known.entry.trust, to_date(known.updated_at)) for known, text in found]

    def _daily_items(self) -> list[MemoryItem]:
        days = (to_date(self._ws.now), to_date(shift_time(self._ws.now, days=-1)))
        notes = [(date, self._reader.entries(self._agent, f"daily/{date}")) for date in days]
        return [MemoryItem(known.text, known.entry.trust, date) for date, found in notes for known in found]

    def _recovery_items(self) -> list[MemoryItem]:
        """What the newest session said that had not ended, the last words first to be kept."""
        found = self._ws.documents.checkpoints.get(self._request.agent_id, self._ws.now, project=self._project)
        if found is None or found.session_token in (*self._reader.removed_tokens, self._request.token):
            return []
        said = found.messages[-_MAX_MESSAGES:]
        messages = (
            MemoryItem(one.text[:_MAX_MESSAGE_LENGTH], label=one.role, rank=len(said) - number)
            for number, one in enumerate(said)
        )
        return [MemoryItem(found.title), *messages]

    def _recent_items(self, sessions: "Sequence[RecalledSession]") -> list[MemoryItem]:
        return [
            MemoryItem(row.memory_sentence, label=to_date(row.membership_ts), link=row.summary_path)
            for row in sessions[:_MAX_RECENT]
        ]


def load_curated_items(reader: BookReader) -> list[MemoryItem]:
    """AGENT_MEMORY.md in the order of the file: entries, and a human's text line by line.

    Where it is too long, the newest entries are kept, and of the text its end and its beginning: what is left out is
    the middle. Headings alone say nothing. (lessons: 31)
    """
    ref = BookRef(GLOBAL, CURATED)
    entries = {known.entry.id: known for known in reader.active_entries(ref) if known.entry.source != HAND}
    found: list[BookEntry | str] = []
    for part in reader.read_book(ref).parts:
        if part.entry and (known := entries.pop(part.entry.id, None)):
            found.append(known)
        elif part.is_free_text:
            found += [line for line in _strip_comments(reader.read_book(ref), part).splitlines() if line.strip()]
    if all(isinstance(one, str) and _HEADING.match(one) for one in found):
        return []
    ranks = {place: rank for rank, place in enumerate(_order_newest_first(found))}
    return [
        MemoryItem(one, rank=ranks[place]) if isinstance(one, str) else replace(_build_item(one), rank=ranks[place])
        for place, one in enumerate(found)
    ]


def _order_newest_first(contents: Sequence[BookEntry | str]) -> list[int]:
    """The places of entries, the newest first, taking turns with those of lines: the last, the first, and so on."""
    entries = sorted(
        ((one.updated_at, place) for place, one in enumerate(contents) if isinstance(one, BookEntry)), reverse=True
    )
    lines = [place for place, one in enumerate(contents) if isinstance(one, str)]
    ends = (lines[-1 - turn // 2] if turn % 2 == 0 else lines[turn // 2] for turn in range(len(lines)))
    turns = zip_longest((place for _, place in entries), ends)
    return [place for place in chain.from_iterable(turns) if place is not None]


def _strip_comments(book: Book, part: BookPart) -> str:
    """What a person wrote there, without comments: nobody sees those in a note."""
    return _COMMENT.sub("", "".join(entry.text for entry in book._replace(parts=(part,)).handwritten_entries))


def _build_items(entries: Iterable[BookEntry]) -> list[MemoryItem]:
    return [_build_item(known) for known in entries]


def _build_item(book_entry: BookEntry) -> MemoryItem:
    about = ", ".join(filter(None, (book_entry.ref.kind, to_date(book_entry.updated_at))))
    return MemoryItem(book_entry.text, book_entry.entry.trust, about)


def _recency_key(book_entry: BookEntry) -> tuple[str, str]:
    return book_entry.updated_at, book_entry.entry.id


def _sort_by_shared_words(entries: Sequence[BookEntry], text: str) -> list[BookEntry]:
    """The entries that share most words with a text first."""
    if len(entries) < 2:
        return list(entries)
    words = _comparison_words(text)
    return sorted(entries, key=lambda known: -len(words & _comparison_words(known.text)))


def _comparison_words(text: str) -> frozenset[str]:
    """The words by which two texts are compared; short ones say little, but in scripts without spaces."""
    from lineage.extraction.normalize import is_unspaced, tokenize  # noqa: PLC0415  (only where there are entries to compare)

    return frozenset(word for word in tokenize(text) if len(word) >= _MIN_WORD_LENGTH or is_unspaced(word))
