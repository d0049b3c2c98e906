"""`.lineage/index.db`: rows and full text of the canonical files, in SQLite."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lineage.core.capture.ledger import Ledger, group_heads
from lineage.core.capture.window import Window
from lineage.core.format.body import replace_surrogates
from lineage.core.search.query import Query, parse_query
from lineage.database.sqlite import as_database, connect, delete_database, translate_errors, vacuum
from lineage.errors import DatabaseDamaged, LineageError
from lineage.index import books, fts_rows, ledger, recall, schema, sessions, shadow_build, text_search
from lineage.index.base import IndexBuild, IndexedFile
from lineage.index.books import BookFiles, EntryRow
from lineage.index.fts_query import DEFAULT_RANKING, Ranking
from lineage.index.privacy_sql import register_privacy_function
from lineage.index.publish_queue import FILE_NAME, SqlitePublishQueue
from lineage.index.recall import RecallQuery, RecallResult
from lineage.index.rows import UPSERT, ArtifactRow
from lineage.index.sessions import SessionRow
from lineage.index.text_search import Hit
from lineage.index.vector_search import SqliteVectorSearch
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import Vectors

T = TypeVar("T")

_NESTED_STATEMENT_PREFIX = "-- "  # SQLite's mark of statements that triggers run

_SELECT_HASHES = (
    "select source_path, source_sha256 from artifacts where source_path in (select value from json_each(?))"
)
_COUNT_FUTURE = "select count(*) from entries where agent_id = ? and membership_ts > ?"
_COUNT_PATHS = "select count(*) from artifacts where source_path in (select value from json_each(?))"
_SELECT_FILES = "select source_path, stamp, source_sha256 from artifacts where source_path > ? order by source_path"
_SELECT_SESSION_FILES = "select source_path, source_kind from artifacts where session_token = ? order by source_path"


class SqliteIndex:
    """Implement `index.base.Index`. A missing, older or damaged database is created anew.

    Captures, renders, searches and rebuilds use the connection itself, everything else the database of sqlite_utils.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queue = SqlitePublishQueue(path.with_name(FILE_NAME))
        self.needs_reindex = False
        self._vectors: Vectors | None = None
        self._connection = self._open_or_recreate()

    def residual_copies(self) -> tuple[str, ...]:
        """Return nothing: `scrub` reaches every copy."""
        return ()

    def close(self) -> None:
        """Close the queue, the vectors and the database."""
        self.queue.close()
        if self._vectors:
            self._vectors.close()
        self._connection.close()

    def reset(self) -> None:
        """Delete the database and create it anew."""
        self.close()
        delete_database(self.path)
        self._connection = self._open()

    def upsert(self, rows: Iterable[ArtifactRow]) -> None:
        """Write rows and their text in one transaction, replacing rows of the same path."""
        with self.upsert_in_transaction(rows):
            pass

    @contextmanager
    def upsert_in_transaction(self, rows: Iterable[ArtifactRow]) -> Iterator[None]:
        """Write rows and commit at the end of the block."""
        with self._transaction() as connection:
            if not connection.in_transaction:
                connection.execute("begin immediate")
            newest = connection.execute("select coalesce(max(id), 0) from artifacts").fetchone()[0]
            written = {connection.execute(UPSERT, row.get_column_values()).fetchone()[0]: row for row in rows}
            # New rows have no text yet, and deleting nothing from a full-text table takes time too.
            fts_rows.delete_passages(connection, (number for number in written if number <= newest))
            fts_rows.insert_rows(
                connection,
                (text for number, row in written.items() for text in fts_rows.build_artifact_fts_rows(number, row)),
            )
            ledger.sync_sessions(connection, sorted({row.session_token for row in written.values()}))
            yield

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        """Update the stamps of files, given as (path, stamp)."""
        with self._transaction() as connection:
            connection.executemany("update artifacts set stamp = ?2 where source_path = ?1", stamps)

    def delete_paths(self, paths: Iterable[str]) -> None:
        """Delete the rows and the text of files."""
        with self._transaction() as connection:
            sql = "delete from artifacts where source_path = ? returning id, session_token"
            deleted = [row for path in paths for row in connection.execute(sql, (path,)).fetchall()]
            fts_rows.delete_passages(connection, (number for number, _ in deleted))
            ledger.sync_sessions(connection, sorted({token for _, token in deleted}))

    @contextmanager
    def rebuild(self) -> Iterator[IndexBuild]:
        """Build a database beside this one and swap the contents at the end of the block, at once for everybody.

        If the block fails, nothing changes.
        """
        with translate_errors(self.path), shadow_build.temporary_folder(self.path.parent) as folder:
            build_path = folder / "built.db"
            with shadow_build.build(build_path) as write:
                yield IndexBuild(write)
            # Our own connection would keep the build from locking the index.
            self._connection.close()
            try:
                shadow_build.replace_contents(build_path, self.path)
            finally:
                self._connection = self._open_or_recreate()

    def load_stamps(self) -> dict[str, str]:
        """Return the stamp of every file with a row, by path."""
        with translate_errors(self.path):
            return dict(self._connection.execute("select source_path, stamp from artifacts"))

    def load_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the SHA-256 of those of these files that have a row, by path."""
        return dict(self._read(_SELECT_HASHES, (json.dumps(list(paths)),)))

    def iter_files(self, after: str = "") -> Iterator[IndexedFile]:
        """Return the indexed files behind a path, in path order."""
        return (IndexedFile(*row) for row in self._query(_SELECT_FILES, (replace_surrogates(after),)))

    def has_paths(self, paths: Sequence[str]) -> bool:
        """Return whether every path has a row."""
        (count,) = next(self._read(_COUNT_PATHS, (json.dumps(paths),)))
        return bool(count == len(set(paths)))

    def find_oldest_manifests(self) -> list[str]:
        """Return the path of each session's oldest manifest."""
        sql = "select min(source_path) from artifacts where source_kind = 'manifest' group by session_token order by 1"
        return [path for (path,) in self._query(sql)]

    def list_agents(self) -> list[str]:
        """Return the agents with rows, sorted."""
        return [agent for (agent,) in self._read("select distinct agent_id from artifacts order by agent_id")]

    def load_ledger(self, agent_id: str, window: Window) -> Ledger:
        """Return the agent's ledger in the window. Its entries are read on demand."""
        with translate_errors(self.path):
            tallies = ledger.load_tallies(self._connection, agent_id, window)
        heads = ledger.read_heads(self._connection, agent_id, window)
        return Ledger(group_heads(self._iter_guarded(heads)), tallies)

    def count_future_captures(self, agent_id: str, window: Window) -> int:
        """Return the number of captures dated after the window's end."""
        return int(next(self._read(_COUNT_FUTURE, (replace_surrogates(agent_id), window.until)))[0])

    def list_sessions(
        self, agent_id: str | None, *, limit: int = 50, project: str | None = None, reference: str | None = None
    ) -> list[SessionRow]:
        """Return sessions, newest first. See `Index.list_sessions`."""
        sql, values = sessions.build_list_statement(agent_id, limit, project, reference)
        return list(map(sessions.build_session_row, self._read(sql, values)))

    def list_session_files(self, token: str) -> list[tuple[str, str]]:
        """Return (path, kind) of a session's files, oldest first."""
        return list(self._read(_SELECT_SESSION_FILES, (replace_surrogates(token),)))

    def search(
        self,
        query: str | Query,
        agent_id: str | None,
        *,
        limit: int,
        by_passage: bool = False,
        ranking: Ranking | None = None,
    ) -> list[Hit]:
        """Return the best matches. See `Index.search`."""
        query = parse_query(query) if isinstance(query, str) else query
        engine = text_search.SqliteTextSearch(self._connection)
        with translate_errors(self.path):
            return text_search.search(
                engine, query, agent_id, limit, by_passage=by_passage, ranking=ranking or DEFAULT_RANKING
            )

    def recall(self, query: RecallQuery) -> RecallResult:
        """Return the recall of a new session, in one statement. See `Index.recall`."""
        with translate_errors(self.path):
            return recall.load_recall(self._connection, query)

    def index_books(self, book_files: Iterable[BookFiles]) -> None:
        """Update the rows of books in one transaction. `book_files` is read under the write lock."""
        with self._transaction() as connection:
            # The lock comes before the first file is read.
            connection.execute("begin immediate")
            for book in book_files:
                books.sync_book(connection, book)

    def iter_book_files(self) -> Iterator[IndexedFile]:
        """Return the indexed files of books, in path order."""
        return (IndexedFile(*row) for row in self._read("select path, stamp, sha256 from books order by path"))

    def find_books_of_sessions(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        """Return (scope, kind) of the books with entries from one of these sessions."""
        with translate_errors(self.path):
            return books.find_books_of_sessions(self._connection, tokens)

    def load_entries(self, scope: str, kind: str) -> list[EntryRow]:
        """Return the rows of a book, of all its files."""
        with translate_errors(self.path):
            return books.load_entries(self._connection, scope, kind)

    @contextmanager
    def trace_statements(self, callback: Callable[[str], object]) -> Iterator[None]:
        """Call `callback` with each statement within the block, without those that SQLite runs inside of one."""
        self._connection.set_trace_callback(
            lambda sql: None if sql.startswith(_NESTED_STATEMENT_PREFIX) else callback(sql)
        )
        try:
            yield
        finally:
            self._connection.set_trace_callback(None)

    def find_indexed_tokens(self, tokens: Collection[str]) -> set[str]:
        """Return those of these sessions that have rows, or entries in books."""
        return {token for (token,) in self._read(sessions.SELECT_INDEXED_TOKENS, {"tokens": json.dumps(list(tokens))})}

    def delete_session(self, token: str) -> int:
        """Delete every row of a session and of its entries in books. Return their number."""
        # First: another process that renders would write the rows again.
        self.queue.delete_session(token)
        paths = [path for path, _ in self.list_session_files(token)]
        self.delete_paths(paths)
        with self._transaction() as connection:
            return len(paths) + books.delete_session(connection, token)

    def scrub(self) -> None:
        """Leave no copy of deleted rows in free pages, full-text segments, the write-ahead log or leftover builds."""
        with translate_errors(self.path):
            with self._connection as connection:
                # Segments keep deleted words until they are merged.
                as_database(connection).execute("insert into search (search) values ('optimize')")
            vacuum(self._connection)
            shadow_build.collect_leftovers(self.path.parent)

    def count_by_kind(self) -> dict[str, int]:
        """Return the number of rows of each kind."""
        sql = "select source_kind, count(*) from artifacts group by source_kind order by source_kind"
        return dict(self._query(sql))

    def is_complete(self) -> bool:
        """Return whether a reindex has run to its end, be it in another process."""
        with translate_errors(self.path):
            self.needs_reindex = not schema.is_complete(self._connection)
        return not self.needs_reindex

    def mark_complete(self) -> None:
        """Record that a reindex has run to its end."""
        with self._transaction() as connection:
            schema.mark_complete(connection)
        self.needs_reindex = False

    @contextmanager
    def open_vector_search(self) -> Iterator[SqliteVectorSearch]:
        """Return the texts with vectors, readable within the block."""
        with translate_errors(self.path):
            yield SqliteVectorSearch(self._connection)

    def may_have_vectors(self, file: Path) -> bool:
        """Return whether the file of vectors exists."""
        return file.exists()

    def open_vectors(self, file: Path, *, may_create: bool) -> Vectors:
        """Return the vectors in `file`."""
        del may_create  # a file of this machine needs no permission
        self._vectors = self._vectors or VectorFile(file)
        return self._vectors

    def _open_or_recreate(self) -> sqlite3.Connection:
        try:
            return self._open()
        except DatabaseDamaged:
            delete_database(self.path)
            return self._open()

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path)
        register_privacy_function(connection)
        try:
            with translate_errors(self.path):
                if schema.read_version(connection) == 0:
                    schema.create_tables(connection)
                if schema.read_version(connection) != schema.VERSION:
                    raise DatabaseDamaged(f"{self.path.name} has the schema of another version")
                self.needs_reindex = not schema.is_complete(connection)
                # Damage beyond the first page shows when a table is read.
                connection.execute("select 1 from artifacts limit 1").fetchone()
        except LineageError:
            connection.close()
            raise
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translate_errors(self.path), self._connection:
            yield self._connection

    def _read(self, sql: str, values: Sequence[object] | Mapping[str, object] = ()) -> Iterator[Any]:
        """Yield the rows of a query that captures and renders run."""
        with translate_errors(self.path):  # damage may show at any row
            yield from self._connection.execute(sql, values)

    def _query(self, sql: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows of any other query, by sqlite_utils."""
        with translate_errors(self.path):
            yield from as_database(self._connection).execute(sql, values)

    def _iter_guarded(self, rows: Iterator[T]) -> Iterator[T]:
        with translate_errors(self.path):
            yield from rows
