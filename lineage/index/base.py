"""The port of the index: rows and full text for the pipeline, on any engine."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lineage.core.base.short_ids import SessionName
from lineage.core.capture.ledger import Ledger, NotedCapture, Window
from lineage.core.search.query import Query, parse_query
from lineage.index import books, ledger, sessions, text_search, tool_runs
from lineage.index.books import BookFiles, EntryRow, ListedEntry, SupersededStatement
from lineage.index.fts_query import DEFAULT_RANKING, Ranking
from lineage.index.publish_queue import QueuedCapture
from lineage.index.recall import RecallQuery, RecallResult
from lineage.index.rows import ArtifactRow
from lineage.index.sessions import SessionFilter, SessionRow
from lineage.index.text_search import Hit
from lineage.index.tool_runs import Printed
from lineage.index.vectors import EmbeddedTexts, Vectors

_SELECT_HASHES = (
    "select source_path, source_sha256 from artifacts where source_path in (select value from json_each(:paths))"
)
_COUNT_PATHS = "select count(*) from artifacts where source_path in (select value from json_each(:paths))"
_SELECT_FILES = (
    "select source_path, stamp, source_sha256 from artifacts where source_path > :after order by source_path"
)
# of a session that is shown, parts that were replaced are not
_COUNT_UNSHOWN = """
    select count(distinct session_token) from artifacts a where visible = 0
    and not exists (select 1 from artifacts b where b.session_token = a.session_token and b.visible = 1)
"""
_SELECT_SESSION_FILES = (
    "select source_path, source_kind from artifacts where session_token = :token order by source_path"
)


class IndexedFile(NamedTuple):  # one for each file of a workspace
    """The path, stamp and hash of an indexed file, to tell whether it changed."""

    path: str
    stamp: str
    sha256: str


class PublishQueue(Protocol):
    """Captures that wait for a render of MEMORY.md; a process that renders publishes those of all waiters.

    Nothing in it has to be durable: a waiter whose capture is lost renders by itself. A ticket is issued once, so a
    missing ticket means a published capture.
    """

    def enqueue(self, capture: QueuedCapture) -> int:
        """Add a capture and return its ticket."""

    def is_done(self, ticket: int) -> bool:
        """Return whether the capture was published."""

    def wait(self, ticket: int, seconds: float) -> bool:
        """Wait for a notification, or so many seconds, then return `is_done`."""

    def notify(self) -> None:
        """Wake waiters on other machines. A waiter that misses it waits for the rest of its seconds."""

    def peek(self, agent_id: str, until: str, limit: int) -> list[tuple[int, QueuedCapture]]:
        """Return an agent's captures up to a time, each with its ticket, oldest ticket first."""

    def mark_done(self, tickets: Iterable[int]) -> None:
        """Remove published captures: that tells their waiters."""


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """An index that one process builds from nothing.

    `write` adds rows, each with the number of its file; numbers rise from call to call. `present` are the paths that
    have rows already; the comparison after the build finds those that changed.
    """

    write: Callable[[Sequence[tuple[int, ArtifactRow]]], None]
    present: frozenset[str] = frozenset()


class Index(Protocol):
    """Rows and full text of one workspace. A reindex can rebuild them at any time.

    Every method raises DatabaseDamaged if the index is unusable; `reset` recreates it. An index on a server raises
    IndexUnavailable while that can't be reached, after waiting for it once.
    Plain queries stand here, in SQLite's words.
    """

    queue: PublishQueue

    @property
    def needs_reindex(self) -> bool:
        """Return whether rows are missing until a reindex has run."""

    def residual_copies(self) -> tuple[str, ...]:
        """Return descriptions, for people, of copies of deleted rows that `scrub` does not reach."""
        return ()

    def close(self) -> None:
        """Close all connections."""

    def reset(self) -> None:
        """Recreate the index, empty."""

    def upsert(self, rows: Iterable[ArtifactRow]) -> None:
        """Write rows and their text in one transaction, replacing rows of the same path."""
        with self.upsert_in_transaction(rows):
            pass

    def upsert_in_transaction(self, rows: Iterable[ArtifactRow]) -> AbstractContextManager[None]:
        """Write rows as `upsert` does. Within the block they are visible to this index only; it commits at its end."""

    def rebuild(self) -> AbstractContextManager[IndexBuild]:
        """Build all rows anew. They replace the index's rows at the end of the block."""

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        """Update the stamps, given as (path, stamp), of files that were touched and did not change."""

    def delete_paths(self, paths: Iterable[str]) -> None:
        """Delete the rows and the text of files."""

    def load_stamps(self) -> dict[str, str]:
        """Return the stamp of every file with a row, by path."""
        return dict(self._select("select source_path, stamp from artifacts"))

    def load_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the SHA-256 of those of these files that have a row, by path."""
        return dict(self._select(_SELECT_HASHES, paths=list(paths)))

    def iter_files(self, after: str = "") -> Iterator[IndexedFile]:
        """Return the indexed files behind a path, in path order."""
        return (IndexedFile(*row) for row in self._select(_SELECT_FILES, after=after))

    def has_paths(self, paths: Sequence[str]) -> bool:
        """Return whether every path has a row."""
        (count,) = next(self._select(_COUNT_PATHS, paths=list(paths)))
        return bool(count == len(set(paths)))

    def find_oldest_manifests(self) -> list[str]:
        """Return the path of each session's oldest manifest."""
        sql = "select min(source_path) from artifacts where source_kind = 'manifest' group by session_token order by 1"
        return [path for (path,) in self._select(sql)]

    def list_agents(self) -> list[str]:
        """Return the agents with rows, sorted."""
        return [agent for (agent,) in self._select("select distinct agent_id from artifacts order by agent_id")]

    def count_unshown_sessions(self) -> int:
        """Return how many sessions are kept but not shown: those in temporary folders, and tests."""
        (count,) = next(self._select(_COUNT_UNSHOWN))
        return int(count)

    def load_ledger(self, agent_id: str, window: Window) -> Ledger:
        """Return the agent's ledger in the window. Its entries are read on demand."""

    def list_noted_captures(
        self, project: str | None = None, *, since: str = "", until: str = "~", limit: int
    ) -> list[NotedCapture]:
        """Return the entries that notes show from `since` to before `until`, newest first, of a project's path."""
        sql = ledger.NOTED_CAPTURES.format("" if project is None else ledger.OF_PROJECT)
        values = {"since": since, "until": until, "limit": limit} | ({} if project is None else {"project": project})
        return [NotedCapture(*row) for row in self._select(sql, **values)]

    def list_noted_places(self, token: str, limit: int) -> list[tuple[str, str]]:
        """Return the newest days of a session's captures, each with the path of its project, "" without one."""
        return list(self._select(ledger.NOTED_PLACES, token=token, limit=limit))

    def load_edited_files(self, tokens: Iterable[str]) -> dict[str, set[str]]:
        """Return the files below its project's root that each of these sessions edited, by token."""
        sql = "select session_token, files from artifacts where session_token in (select value from json_each(:tokens))"
        found: dict[str, set[str]] = {}
        for token, files in self._select(f"{sql} and files <> ''", tokens=sorted(set(tokens))):
            found.setdefault(token, set()).update(files.splitlines())
        return found

    def count_future_captures(self, agent_id: str, window: Window) -> int:
        """Return the number of captures dated after the window's end: the ledger leaves them out."""
        sql = "select count(*) from entries where agent_id = :agent and membership_ts > :until"
        return int(next(self._select(sql, agent=agent_id, until=window.until))[0])

    def list_sessions(
        self,
        agent_id: str | None,
        *,
        limit: int = 50,
        wanted: SessionFilter = sessions.ANY,
        reference: str | None = None,
        parent: str | None = None,
    ) -> list[SessionRow]:
        """Return sessions, newest first, of all agents if `agent_id` is None.

        `reference` is the beginning of an id, key or token. Sub-agents are listed with the token of their `parent`, or
        found by reference; else only those whose parent is not here.
        """
        sql, values = sessions.build_list_statement(agent_id, limit, wanted, reference, parent)
        return list(map(sessions.build_session_row, self._select(sql, **values)))

    def count_sessions(self, agent_id: str | None, wanted: SessionFilter) -> list[tuple[str, str | None, int]]:
        """Return (UTC day of the newest capture, project, number) of the sessions that `list_sessions` would list."""
        sql, values = sessions.build_count_statement(agent_id, wanted)
        return list(self._select(sql, **values))

    def list_session_names(self) -> list[SessionName]:
        """Return the names of all sessions and sub-agents."""
        sql = "select distinct session_token, session_id, session_key from artifacts where source_kind = 'manifest'"
        return [SessionName(*row) for row in self._select(sql)]

    def list_harnesses(self) -> list[str]:
        """Return the harnesses of all sessions."""
        return [name for (name,) in self._select("select distinct harness from artifacts order by 1") if name]

    def find_tokens(self, agent_id: str | None, project: str | None, project_keys: Iterable[str]) -> set[str]:
        """Return the tokens of the sessions and sub-agents of an agent, a project, or both, as `list_sessions` does."""
        sql, values = sessions.build_tokens_statement(agent_id, project, project_keys)
        return {token for (token,) in self._select(sql, **values)}

    def list_projects(self) -> list[tuple[str, str]]:
        """Return (key, path) of the projects of all sessions."""
        sql = "select distinct project_key, project from artifacts where project_key != '' order by 1, 2"
        return [(key, path or "") for key, path in self._select(sql)]

    def assign_project(self, path: str, old_key: str, key: str) -> None:
        """Replace the key of the rows with this project and key."""

    def add_folder(self, token: str, folder: str) -> None:
        """Add a line of `folders` to the rows of a session without it."""

    def find_tool_runs(self, place: Printed, runs: Collection[int], *, of_session: bool = False) -> set[int]:
        """Return those of these hashes of words that tools printed in the project's captures by then.

        With `of_session` only captures of the session count.
        """
        return tool_runs.find_runs(self._select, place, runs, of_session=of_session) if runs else set()

    def blank_repeated_outcomes(self, numbers: Sequence[int] | None) -> None:
        """Blank the outcomes that repeat a tool of an earlier capture, of these artifacts or of all."""
        sql, values = tool_runs.SELECT_OUTCOMES, dict[str, object]()
        if numbers is not None:
            sql, values = sql + tool_runs.OF_ARTIFACTS, {"numbers": list(numbers)}
        repeated = tool_runs.list_repeated_outcomes(self._select, list(self._select(sql, **values)))
        if repeated:
            list(self._select(tool_runs.BLANK_OUTCOMES, numbers=repeated))

    def list_session_files(self, token: str) -> list[tuple[str, str]]:
        """Return (path, kind) of a session's files, oldest first."""
        return list(self._select(_SELECT_SESSION_FILES, token=token))

    def search(
        self,
        query: str | Query,
        agent_id: str | None,
        *,
        limit: int,
        by_passage: bool = False,
        ranking: Ranking | None = None,
    ) -> list[Hit]:
        """Return each session's best passage (or every passage) and the entries that match any word, best first.

        A query of filters alone returns the newest. Private and trial sessions are left out with their entries, as are
        pending entries; an agent's search also leaves out other agents. `ranking` serves measurements. Raises
        InvalidInput for an invalid filter.
        """
        parsed = parse_query(query) if isinstance(query, str) else query
        with self.open_vector_search() as engine:
            return text_search.search(
                engine, parsed, agent_id, limit, by_passage=by_passage, ranking=ranking or DEFAULT_RANKING
            )

    def open_vector_search(self) -> AbstractContextManager[EmbeddedTexts]:
        """Return the searchable texts, readable within the block. (index/vectors.py)."""

    def may_have_vectors(self, file: Path) -> bool:
        """Return whether `open_vectors` may find vectors. No server is asked."""

    def open_vectors(self, file: Path, *, may_create: bool) -> Vectors:
        """Return the vectors of the index's passages: on its server, if that can compare vectors, else in `file`.

        `may_create` allows to prepare the server for vectors. Vectors on a server replace those of the file, which is
        deleted. They are closed with the index.
        """

    def recall(self, query: RecallQuery) -> RecallResult:
        """Return the recall of a new session.

        Standing entries of these scopes and kinds, archived ones included, best match first; none for a text without
        words. The agent's newest sessions, without private and trial ones. The caller passes the scopes that the
        session may see.
        """

    def index_books(self, book_files: Iterable[BookFiles]) -> None:
        """Update the rows of books, each given with all its files, in one transaction.

        `book_files` is read under the lock of books, so the last writer has read the newest files.
        """

    def iter_book_files(self) -> Iterator[IndexedFile]:
        """Return the indexed files of books, in path order."""
        return (IndexedFile(*row) for row in self._select("select path, stamp, sha256 from books order by path"))

    def find_books_of_sessions(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        """Return (scope, kind) of the books with entries from one of these sessions."""
        return list(self._select(books.SELECT_BOOKS_OF_SESSIONS, tokens=sorted(tokens)))

    def list_superseded(self, tokens: Collection[str]) -> list[SupersededStatement]:
        """Return what sessions stated that holds no longer, each with what took its place, the newest first."""
        rows = self._select(books.SELECT_SUPERSEDED, tokens=sorted(tokens))
        return [SupersededStatement(*row) for row in rows]

    def find_entries_of_session(self, token: str) -> list[str]:
        """Return the ids of the entries in books from a session."""
        sql = "select distinct entry_id from book_entries where origin_token = :token order by entry_id"
        return [entry_id for (entry_id,) in self._select(sql, token=token)]

    def list_entries(self) -> list[ListedEntry]:
        """Return the entries in use and those that wait: pinned ones first, then those that were said last."""
        return [ListedEntry(*row) for row in self._select(books.SELECT_LISTED)]

    def find_books_of_entry(self, entry_id: str) -> list[tuple[str, str]]:
        """Return (scope, kind) of the books with an entry of this id."""
        return list(self._select(books.SELECT_BOOKS_OF_ENTRY, id=entry_id))

    def load_entries(self, scope: str, kind: str) -> list[EntryRow]:
        """Return the rows of a book, of all its files, pending ones included."""
        return [books.decode_entry(row[1:]) for row in self._select(books.SELECT_ENTRIES, scope=scope, kind=kind)]

    def trace_statements(self, callback: Callable[[str], object]) -> AbstractContextManager[None]:
        """Call `callback` with each statement that this index runs within the block."""

    def find_indexed_tokens(self, tokens: Collection[str]) -> set[str]:
        """Return those of these sessions and their sub-agents that have rows, or entries in books."""
        return {token for (token,) in self._select(sessions.SELECT_INDEXED_TOKENS, tokens=list(tokens))}

    def delete_session(self, token: str) -> int:
        """Delete the rows of a session and of its entries in books. Return their number. `scrub` removes the bytes."""

    def scrub(self) -> None:
        """Leave no copy of deleted rows, except for the `residual_copies`."""

    def count_by_kind(self) -> dict[str, int]:
        """Return the number of rows of each kind."""
        sql = "select source_kind, count(*) from artifacts group by source_kind order by source_kind"
        return dict(self._select(sql))

    def is_complete(self) -> bool:
        """Return whether a reindex has run to its end, be it in another process."""

    def mark_complete(self) -> None:
        """Record that a reindex has run to its end."""

    def _select(self, sql: str, **values: object) -> Iterator[Any]:
        """Return the rows of a query in SQLite's words; a list among the values is read by json_each."""
