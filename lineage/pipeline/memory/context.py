"""The context of a new session, from one query of the index and the files that it names (format: Commands).

"Today" is the UTC day of `ws.now`. Besides it only the seven days of a checkpoint depend on a clock.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, is_allowed_in_scope, session_scope
from lineage.core.base.markdown import restore_prose
from lineage.core.base.naming import DEFAULT_AGENT, TOKEN, derive_session_token, validate_agent_id
from lineage.core.base.normalize import is_unspaced, tokenize
from lineage.core.base.project import is_repository, strip_project
from lineage.core.base.times import shift_time, to_date
from lineage.core.books.entry import DERIVED, USER_STATED
from lineage.core.books.sightings import TASK_DAYS, find_last_mention
from lineage.core.format.checkpoint import Checkpoint
from lineage.core.format.documents import Artifact
from lineage.index import EntryRow, RecalledSession, RecallQuery
from lineage.pipeline.memory.prompt_recall import recall_for_prompt
from lineage.projection.context_block import ContextBlock, ContextItems, build_context_block
from lineage.projection.memory_item import MemoryItem
from lineage.recall.reader import PASSAGE
from lineage.workspace import book_reader
from lineage.workspace.book_folders import BookFolders
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.memory_items import build_item, load_curated_items
from lineage.workspace.projects import KnownProjects, find_key
from lineage.workspace.workspace import Workspace

_GLOBAL_KINDS = ("preference", "decision", "note", "fact")
_PROJECT_KINDS = ("note", "context", "fact", "project", "preference")
_SESSION_KINDS = ("finding", "note", "context", "fact", "decision", "lesson", "preference")
_RELEVANT_KINDS = ("decision", "lesson")
_HANDOFF = "handoff"

_MAX_SESSIONS = 50  # whose commands count; fewer are shown
_MAX_RECENT = 6
_MAX_RELEVANT = 5
_MAX_COMMANDS = 4
_MAX_WORDS_ONCE = 3  # of a command: a longer one has to pass in two sessions, for an agent may write anything into it
_MAX_MESSAGES = 6
_MAX_MESSAGE_LENGTH = 600
_MAX_FILES = 8
_MIN_MESSAGE_WORDS = 8  # of a last message with its heading
_MIN_WORD_LENGTH = 4
# An agent may have written anything into a command, a commit's message for instance: what calls said is left out.
_CALLS = re.compile(
    r"^## (?:Asked|Commits|Pull requests|Checks that passed|Work|Files touched|Commands run|Decisions|Lessons)\n"
    r".*?(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
_FILES = re.compile(r"^## Files touched\n\n((?:- .*\n)+)", re.MULTILINE)
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
        self._projects = self._list_projects() if self._project else None
        self._handoffs = self._entries(self._scopes, _HANDOFF)

    def build(self) -> ContextItems:
        """Return the items of all sections."""
        question = RecallQuery(
            self._request.query or " ".join([self._folder or "", *(entry.text for entry in self._handoffs[:1])]),
            agent_id=self._request.agent_id,
            scopes=[GLOBAL, *self._scopes],
            kinds=_RELEVANT_KINDS,
            max_sessions=_MAX_SESSIONS,
            max_entries=4 * _MAX_RELEVANT,
            until=self._ws.now,
            projects=self._projects,
        )
        recalled = self._ws.index.recall(question)
        hidden = {*self._reader.removed_tokens, self._request.token}
        sessions = [row for row in recalled.sessions if row.session_token not in hidden]
        handoff = self._find_handoff(sessions)
        last = self._last_session_items(sessions[0]) if sessions and not handoff else []
        recent = self._list_recent(sessions[1:] if last else sessions)
        tasks = self._list_tasks()
        preferences = self._entries(self._project_scopes, "preference")
        rules = [item for item in preferences if item.entry.trust == USER_STATED]
        rules += self._reader.entries(GLOBAL, *_GLOBAL_KINDS)
        project = [item for item in self._entries(self._project_scopes, *_PROJECT_KINDS) if not _is_unsettled(item)]
        last_texts = [handoff.text] if handoff else [f"{row.ask} {row.outcome}" for row in sessions[:1]]
        shown = {item.entry.id for item in rules}
        relevant = [
            item
            for item in self._find_relevant(recalled.entries, [*last_texts, *(text for _, text in tasks)])
            if item.entry.id not in shown
        ]
        return ContextItems(
            curated=load_curated_items(self._reader),
            rules=_build_items(rules),
            last_session=_build_items([handoff]) if handoff else last,
            recent=recent,
            decisions=_build_items([entry for entry in relevant if entry.ref.kind == "decision"][:_MAX_RELEVANT]),
            lessons=_build_items([entry for entry in relevant if entry.ref.kind == "lesson"][:_MAX_RELEVANT]),
            passages=self._find_passages(),
            project=_build_items(item for item in project if item.entry.id not in shown),
            commands=_build_commands(sessions) if self._project else [],
            session=_build_items([*self._own_pending(), *self._entries(self._session_scopes, *_SESSION_KINDS)]),
            tasks=[MemoryItem(text, entry.entry.trust, to_date(entry.updated_at)) for entry, text in tasks],
            daily=self._daily_items(),
            recovery=self._recovery_items(),
        )

    def _find_passages(self) -> list[MemoryItem]:
        """Return what earlier sessions said about the question; what stands in books has sections of its own."""
        if not self._request.query:
            return []
        asked = self._request
        found = recall_for_prompt(
            self._ws, asked.query or "", agent_id=asked.agent_id, folder=self._folder,
            keys=self._keys if asked.project else [key for key, _ in self._ws.index.list_projects()],
            session=asked.session or "", is_asked=True,
        )  # fmt: skip
        return [
            MemoryItem(
                item.text,
                "" if item.is_successor else DERIVED,
                f"{to_date(item.at)}, {item.title}" if item.is_superseded else to_date(item.at),
            )
            for item in found.items
            if (item.kind == PASSAGE or item.is_successor) and item.origin not in self._reader.removed_tokens
        ]

    def _entries(self, scopes: Iterable[str], *kinds: str) -> list[book_reader.BookEntry]:
        entries = (entry for scope in scopes for entry in self._reader.entries(scope, *kinds))
        return book_reader.rank_entries(filter(self._is_own, entries))

    def _is_own(self, item: book_reader.BookEntry) -> bool:
        """Return whether an entry is not another project's: an agent's book holds those of all its projects."""
        key = self._reader.find_project_key(item) if self._project and item.ref.scope == self._agent else ""
        return not key or key in self._keys

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

    def _list_projects(self) -> set[tuple[str, str]]:
        """Return (key, path) of the project's sessions. A bare name is that path's project, else that folder's."""
        known_projects = self._ws.index.list_projects()
        known = KnownProjects(self._ws, known_projects, self._project)
        self._keys = known.list_equal(find_key(self._ws, self._project))
        own = {(key, path) for key, path in known_projects if key in self._keys}
        if not own and self._project == self._folder:
            own = {(key, path) for key, path in known_projects if self._resolve_folder(path, key) == self._folder}
            self._keys |= {key for key, _ in own}
        return own

    def _resolve_folder(self, path: str | None, key: str) -> str | None:
        return self._folders.resolve(path, key if is_repository(key) else None)

    def _find_handoff(self, sessions: Sequence[RecalledSession]) -> book_reader.BookEntry | None:
        """Return the newest handoff."""
        newest = max(self._handoffs, key=lambda entry: entry.updated_at, default=None)
        # The newest session may have left it. If another one has ended since, too, the handoff is history.
        if newest and newest.updated_at and len(sessions) > 1 and newest.updated_at < sessions[1].membership_ts:
            return None
        return newest

    def _last_session_items(self, row: RecalledSession) -> list[MemoryItem]:
        """Return the handoff that every capture makes: ask, outcome in full, open ends and files (lessons: 30)."""
        item = self._build_session_item(row)
        summary = load_readable_document(self._ws, row.summary_path)
        if not isinstance(summary, Artifact):
            return [item]
        if not is_allowed_in_scope(GLOBAL, private=summary.private, token=summary.identity.token):
            return []
        body = str(summary.body)
        lines = _CALLOUT.sub("", _CALLS.sub("", body)).splitlines()[1:]
        text = restore_prose("\n".join(line for line in lines if line.strip() and not line.startswith("# ")))
        # The last message follows in full, and often holds the sentence that says what was achieved.
        is_told = bool(row.ask) and _comparison_words(row.outcome) <= _comparison_words(text)
        if row.outcome and not is_told and len(text.split()) < _MIN_MESSAGE_WORDS:
            text = ""  # "## Outcome", and "You are welcome."
        lead = MemoryItem(f"“{row.ask}”" if is_told else item.text, DERIVED, item.label, item.link)
        files = _FILES.search(body)
        paths = [strip_project(line[3:-1], summary.project) for line in files[1].splitlines()] if files else []
        items = [MemoryItem(line) for line in text.splitlines()]
        return [lead, *items, *([MemoryItem(f"Files: {', '.join(paths[:_MAX_FILES])}")] if paths else [])]

    def _list_recent(self, sessions: Iterable[RecalledSession]) -> list[MemoryItem]:
        """Return what sessions asked for and achieved, newest first; of a resumed and a forked one it is said once."""
        told: dict[tuple[str, str], MemoryItem] = {}
        for row in sessions:
            item = self._build_session_item(row)
            told.setdefault((item.text, row.memory_sentence), item)
        return list(told.values())[:_MAX_RECENT]

    def _build_session_item(self, row: RecalledSession) -> MemoryItem:
        told = f"“{row.ask}” → “{row.outcome}”" if row.ask and row.outcome else row.memory_sentence
        return MemoryItem(told, label=to_date(row.membership_ts), link=row.summary_path)

    def _find_relevant(self, rows: Sequence[EntryRow], open_texts: Sequence[str]) -> list[book_reader.BookEntry]:
        """Return decisions and lessons, the hits of the query, best first.

        Without a query those of project and agent join, ranked by the rare words that they share with what is open,
        then by age.
        """
        entries = list(filter(None, map(self._load_entry, rows)))
        if self._request.query:
            return entries
        entries = [*self._entries(self._scopes, *_RELEVANT_KINDS), *self._entries([GLOBAL], "lesson"), *entries]
        unique = {entry.entry.id: entry for entry in entries if self._is_own(entry)}.values()
        newest = sorted(unique, key=lambda entry: (entry.updated_at, entry.entry.id), reverse=True)
        open_words = _comparison_words(" ".join(open_texts))
        shared = {entry.entry.id: open_words & _comparison_words(entry.text) for entry in newest}
        counts = Counter(word for words in shared.values() for word in words)
        scores = {key: sum(1 / counts[word] for word in sorted(words)) for key, words in shared.items()}
        return sorted(newest, key=lambda item: (-scores[item.entry.id], item.entry.trust != USER_STATED))

    def _load_entry(self, row: EntryRow) -> book_reader.BookEntry | None:
        # From the file, not the row: the index may lag behind a hand that edits the book.
        entries = self._reader.active_entries(BookRef(row.scope, row.kind, row.shelf))
        return next((entry for entry in entries if entry.entry.id == row.id), None)

    def _list_tasks(self) -> list[tuple[book_reader.BookEntry, str]]:
        """Return the open tasks of the last days with their texts; those without a time and pinned ones stay."""
        since = to_date(shift_time(self._ws.now, days=-TASK_DAYS))
        scopes = [GLOBAL, *self._scopes, *self._session_scopes]
        tasks = book_reader.list_open_tasks(self._reader, scopes, self._ws.now)
        return [
            (item, text)
            for item, text in tasks
            if self._is_own(item)
            and (item.entry.pinned or not item.entry.at or to_date(find_last_mention(item.entry)) >= since)
        ]

    def _daily_items(self) -> list[MemoryItem]:
        days = (to_date(self._ws.now), to_date(shift_time(self._ws.now, days=-1)))
        daily = [(date, entry) for date in days for entry in self._entries([self._agent], f"daily/{date}")]
        return [MemoryItem(entry.text, entry.entry.trust, date) for date, entry in daily]

    def _recovery_items(self) -> list[MemoryItem]:
        """Return the last messages of the newest session without an end."""

        def is_own(checkpoint: Checkpoint) -> bool:
            key = find_key(self._ws, checkpoint.project)
            return not self._project or (key != "" and key in self._keys)

        checkpoint = self._ws.documents.checkpoints.get(self._request.agent_id, self._ws.now, is_own)
        if checkpoint is None or checkpoint.session_token in (*self._reader.removed_tokens, self._request.token):
            return []
        captured = self._ws.index.list_sessions(None, reference=checkpoint.session_token, limit=1)
        if any(row.private or row.membership_ts >= checkpoint.saved_at for row in captured):
            return []  # it has ended since
        messages = checkpoint.messages[-_MAX_MESSAGES:]
        items = (  # the last message has the lowest rank: it is kept first
            MemoryItem(message.text[:_MAX_MESSAGE_LENGTH], label=message.role, rank=len(messages) - number)
            for number, message in enumerate(messages)
        )
        return [MemoryItem(checkpoint.title), *items]


def _is_unsettled(item: book_reader.BookEntry) -> bool:
    """Return whether a person only asked or handed it on: it is found by search and at a prompt, told at no start."""
    return item.ref.kind == "context" and "heuristic" in item.entry.tags


def _build_items(entries: Iterable[book_reader.BookEntry]) -> list[MemoryItem]:
    return [build_item(entry, entry.text) for entry in entries]


def _build_commands(sessions: Sequence[RecalledSession]) -> list[MemoryItem]:
    """Return the commands that passed in most sessions, of equal ones those of newer sessions first."""
    passed = Counter(command for row in sessions for command in row.checks.splitlines())
    counts = ((command, count) for command, count in passed.most_common())
    kept = [item for item in counts if item[1] > 1 or len(item[0].split()) <= _MAX_WORDS_ONCE]
    return [MemoryItem(f"`{command}` ×{count}") for command, count in kept[:_MAX_COMMANDS]]


def _comparison_words(text: str) -> frozenset[str]:
    # Short words say little, except in scripts without spaces.
    return frozenset(word for word in tokenize(text) if len(word) >= _MIN_WORD_LENGTH or is_unspaced(word))
