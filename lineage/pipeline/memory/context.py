"""The context of a new session, from one query of the index and the files that it names (format: Commands).

"Today" is the UTC day of `ws.now`. Besides it only the seven days of a checkpoint depend on a clock.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, is_allowed_in_scope, session_scope
from lineage.core.base.naming import DEFAULT_AGENT, TOKEN, derive_session_token, validate_agent_id
from lineage.core.base.normalize import is_unspaced, tokenize
from lineage.core.base.project import is_repository
from lineage.core.base.times import shift_time, to_date
from lineage.core.books.entry import DERIVED, USER_STATED
from lineage.core.format.checkpoint import Checkpoint
from lineage.core.format.documents import Artifact
from lineage.index import EntryRow, RecalledSession, RecallQuery
from lineage.projection.context_block import ContextBlock, ContextItems, build_context_block
from lineage.projection.memory_item import MemoryItem
from lineage.workspace import book_reader
from lineage.workspace.book_folders import BookFolders
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.memory_items import build_item, load_curated_items
from lineage.workspace.projects import KnownProjects, find_key
from lineage.workspace.workspace import Workspace

_GLOBAL_KINDS = ("preference", "decision", "note", "fact")
_PROJECT_KINDS = ("note", "context", "fact", "project")
_SESSION_KINDS = ("finding", "note", "context", "fact", "decision", "lesson", "preference")
_RELEVANT_KINDS = ("decision", "lesson")
_HANDOFF = "handoff"

# With a project many sessions are looked at, to find the project's among them.
_MAX_PROJECT_SESSIONS, _MAX_SESSIONS = 1000, 50
_MAX_RECENT = 8
_MAX_RELEVANT = 5
_MAX_MESSAGES = 6
_MAX_MESSAGE_LENGTH = 600
_MIN_WORD_LENGTH = 4
# An agent may have written anything into a command, a commit's message for instance: what calls said is left out.
_CALLS = re.compile(r"^## (?:Commits|Checks that passed|Work|Commands run)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_CALLOUT = re.compile(r"^> (?:\[!\w+\]\n(?:> )?)?|^>$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """The subject of a context.

    `project` is a path or a bare name, `session` the token or id of the running session, `query` its topic. `budget` is
    in tokens, None for the workspace's.
    """

    agent_id: str = DEFAULT_AGENT
    project: str | None = None
    query: str | None = None
    session: str | None = None
    budget: int | None = None

    @property
    def token(self) -> str:
        """The running session's token, "" without a session."""
        session = (self.session or "").strip()
        return session if not session or TOKEN.fullmatch(session) else derive_session_token(self.agent_id, session)


def build_context(ws: Workspace, request: ContextRequest, reader: book_reader.BookReader | None = None) -> ContextBlock:
    """Return the block for a new session. Writes nothing. `reader` saves reading books again.

    Raises InvalidInput for an invalid agent id.
    """
    validate_agent_id(request.agent_id)
    builder = _ContextBuilder(ws, request, (reader or book_reader.BookReader(ws)).for_agent(request.agent_id))
    budget = ws.settings.context.budget if request.budget is None else request.budget
    return build_context_block(builder.build(), budget)


class _ContextBuilder:
    """The items of one context, section by section."""

    def __init__(self, ws: Workspace, request: ContextRequest, reader: book_reader.BookReader) -> None:
        self._ws = ws
        self._request = request
        self._reader = reader
        self._project = request.project
        self._keys: set[str] = set()
        self._folders = BookFolders(ws)
        self._folder = self._folders.resolve(request.project)
        self._agent = f"agent/{request.agent_id}"
        self._project_scopes = [f"project/{self._folder}"] if self._folder else []
        self._scopes = [self._agent, *self._project_scopes]
        self._session_scopes = [session_scope(request.token)] if request.token else []
        self._handoffs = self._entries(self._scopes, _HANDOFF)

    def build(self) -> ContextItems:
        """Return the items of all sections."""
        question = RecallQuery(
            self._request.query or " ".join([self._folder or "", *(entry.text for entry in self._handoffs[:1])]),
            agent_id=self._request.agent_id,
            scopes=[GLOBAL, *self._scopes],
            kinds=_RELEVANT_KINDS,
            max_sessions=_MAX_PROJECT_SESSIONS if self._project else _MAX_SESSIONS,
            max_entries=4 * _MAX_RELEVANT,
            until=self._ws.now,
        )
        recalled = self._ws.index.recall(question)
        hidden = {*self._reader.removed_tokens, self._request.token}
        sessions = self._filter_by_project([row for row in recalled.sessions if row.session_token not in hidden])
        others = {row.session_token for row in recalled.sessions} - {row.session_token for row in sessions}
        handoff = self._find_handoff(sessions, others)
        last = self._last_session_items(sessions[0]) if sessions and not handoff else []
        relevant = self._find_relevant(recalled.entries, sessions, handoff)
        return ContextItems(
            curated=load_curated_items(self._reader),
            preferences=_build_items(self._reader.entries(GLOBAL, *_GLOBAL_KINDS)),
            project=_build_items(self._entries(self._project_scopes, *_PROJECT_KINDS)),
            last_session=_build_items([handoff]) if handoff else last,
            decisions=_build_items([entry for entry in relevant if entry.ref.kind == "decision"][:_MAX_RELEVANT]),
            lessons=_build_items([entry for entry in relevant if entry.ref.kind == "lesson"][:_MAX_RELEVANT]),
            session=_build_items([*self._own_pending(), *self._entries(self._session_scopes, *_SESSION_KINDS)]),
            tasks=self._task_items(),
            daily=self._daily_items(),
            recovery=self._recovery_items(),
            recent=[
                MemoryItem(row.memory_sentence, label=to_date(row.membership_ts), link=row.summary_path)
                for row in (sessions[1:] if last else sessions)[:_MAX_RECENT]
            ],
        )

    def _entries(self, scopes: Iterable[str], *kinds: str) -> list[book_reader.BookEntry]:
        return book_reader.rank_entries(entry for scope in scopes for entry in self._reader.entries(scope, *kinds))

    def _own_pending(self) -> list[book_reader.BookEntry]:
        """Return what a person stated in this session and nobody has confirmed for all, and what its agent remembered.

        That waits for the session's capture: it alone is told of it. (usefulness: What is learned)
        """
        token = self._request.token
        books = self._ws.index.find_books_of_sessions([token]) if token else []
        waiting = [item for book in books for item in self._reader.active_entries(BookRef(*book, PENDING))]
        return [
            item
            for item in book_reader.rank_entries(waiting)
            if (item.entry.trust == USER_STATED or item.entry.is_unjudged)
            and token in naming.find_tokens(item.entry.origin or "")
        ]

    def _filter_by_project(self, rows: list[RecalledSession]) -> list[RecalledSession]:
        """Return the project's sessions, all without one. A bare name is that path's project, else that folder's."""
        if not self._project:
            return rows
        known = KnownProjects(self._ws, ((row.project_key, row.project or "") for row in rows), self._project)
        self._keys = known.list_equal(find_key(self._ws, self._project))
        own = [row for row in rows if row.project_key in self._keys]
        if own or self._project != self._folder:
            return own
        projects = {(row.project, row.project_key) for row in rows if row.project}
        own_projects = {one for one in projects if self._resolve_folder(*one) == self._folder}
        return [row for row in rows if (row.project, row.project_key) in own_projects]

    def _resolve_folder(self, path: str | None, key: str) -> str | None:
        return self._folders.resolve(path, key if is_repository(key) else None)

    def _find_handoff(self, sessions: Sequence[RecalledSession], others: Set[str]) -> book_reader.BookEntry | None:
        """Return the newest handoff, without those of other projects' sessions."""
        own = [item for item in self._handoffs if others.isdisjoint(naming.find_tokens(item.entry.origin or ""))]
        newest = max(own, key=lambda entry: entry.updated_at, default=None)
        # The newest session may have left it. If another one has ended since, too, the handoff is history.
        if newest and newest.updated_at and len(sessions) > 1 and newest.updated_at < sessions[1].membership_ts:
            return None
        return newest

    def _last_session_items(self, row: RecalledSession) -> list[MemoryItem]:
        """Return the handoff that every capture makes: ask, outcome in full, open ends and files (lessons: 30)."""
        items = [MemoryItem(row.memory_sentence, DERIVED, to_date(row.membership_ts), row.summary_path)]
        summary = load_readable_document(self._ws, row.summary_path)
        if not isinstance(summary, Artifact):
            return items
        if not is_allowed_in_scope(GLOBAL, private=summary.private, token=summary.identity.token):
            return []
        lines = _CALLOUT.sub("", _CALLS.sub("", str(summary.body))).splitlines()[1:]
        return items + [MemoryItem(line) for line in lines if line.strip() and not line.startswith("# ")]

    def _find_relevant(
        self, rows: Sequence[EntryRow], sessions: Sequence[RecalledSession], handoff: book_reader.BookEntry | None
    ) -> list[book_reader.BookEntry]:
        """Return decisions and lessons, the hits of the query, best first.

        Without a query those of project and agent join, ranked by words shared with the last session, then by age.
        """
        entries = list(filter(None, map(self._load_entry, rows)))
        if not self._request.query:
            entries = [*self._entries(self._scopes, *_RELEVANT_KINDS), *self._entries([GLOBAL], "lesson"), *entries]
            unique = {entry.entry.id: entry for entry in entries}.values()
            newest = sorted(unique, key=lambda entry: (entry.updated_at, entry.entry.id), reverse=True)
            last = handoff.text if handoff else sessions[0].memory_sentence if sessions else ""
            words = _comparison_words(f"{self._folder or ''} {last}")
            entries = sorted(newest, key=lambda entry: -len(words & _comparison_words(entry.text)))
        preferences = {entry.entry.id for entry in self._reader.entries(GLOBAL, *_GLOBAL_KINDS)}
        return [entry for entry in entries if entry.entry.id not in preferences]

    def _load_entry(self, row: EntryRow) -> book_reader.BookEntry | None:
        # From the file, not the row: the index may lag behind a hand that edits the book.
        entries = self._reader.active_entries(BookRef(row.scope, row.kind, row.shelf))
        return next((entry for entry in entries if entry.entry.id == row.id), None)

    def _task_items(self) -> list[MemoryItem]:
        tasks = book_reader.list_open_tasks(self._reader, [GLOBAL, *self._scopes, *self._session_scopes])
        return [MemoryItem(text, entry.entry.trust, to_date(entry.updated_at)) for entry, text in tasks]

    def _daily_items(self) -> list[MemoryItem]:
        days = (to_date(self._ws.now), to_date(shift_time(self._ws.now, days=-1)))
        daily = [(date, entry) for date in days for entry in self._reader.entries(self._agent, f"daily/{date}")]
        return [MemoryItem(entry.text, entry.entry.trust, date) for date, entry in daily]

    def _recovery_items(self) -> list[MemoryItem]:
        """Return the last messages of the newest session without an end."""

        def is_own(checkpoint: Checkpoint) -> bool:
            return not self._project or find_key(self._ws, checkpoint.project) in self._keys

        checkpoint = self._ws.documents.checkpoints.get(self._request.agent_id, self._ws.now, is_own)
        if checkpoint is None or checkpoint.session_token in (*self._reader.removed_tokens, self._request.token):
            return []
        messages = checkpoint.messages[-_MAX_MESSAGES:]
        items = (  # the last message has the lowest rank: it is kept first
            MemoryItem(message.text[:_MAX_MESSAGE_LENGTH], label=message.role, rank=len(messages) - number)
            for number, message in enumerate(messages)
        )
        return [MemoryItem(checkpoint.title), *items]


def _build_items(entries: Iterable[book_reader.BookEntry]) -> list[MemoryItem]:
    return [build_item(entry, entry.text) for entry in entries]


def _comparison_words(text: str) -> frozenset[str]:
    # Short words say little, except in scripts without spaces.
    return frozenset(word for word in tokenize(text) if len(word) >= _MIN_WORD_LENGTH or is_unspaced(word))
