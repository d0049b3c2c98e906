"""`.lineage/index.db`: rows and full text of the canonical files, in SQLite."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lineage.core.base.word_runs import mark_owner
from lineage.core.capture.ledger import Ledger, Window, group_heads
from lineage.core.format.body import replace_surrogates
from lineage.database.sqlite import as_database, connect, delete_database, translate_errors, vacuum
from lineage.errors import DatabaseDamaged, LineageError
from lineage.index import books, fts_rows, ledger, recall, schema, shadow_build, tool_runs
from lineage.index.base import Index, IndexBuild
from lineage.index.books import BookFiles
from lineage.index.publish_queue import FILE_NAME, SqlitePublishQueue
from lineage.index.recall import RecallQuery, RecallResult
from lineage.index.rows import UPSERT, ArtifactRow
from lineage.index.vector_search import SqliteVectorSearch
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import Vectors

T = TypeVar("T")

_NESTED_STATEMENT_PREFIX = "-- "  # SQLite's mark of statements that triggers run


class SqliteIndex(Index):
    """Implement `index.base.Index`. A missing, older or damaged database is created anew."""

    needs_reindex = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queue = SqlitePublishQueue(path.with_name(FILE_NAME))
        self._vectors: Vectors | None = None
        self._connection = self._open_or_recreate()

    def close(self) -> None:
        self.queue.close()
        if self._vectors:
            self._vectors.close()
        self._connection.close()

    def reset(self) -> None:
        self.close()
        delete_database(self.path)
        self._connection = self._open()

    @contextmanager
    def upsert_in_transaction(self, rows: Iterable[ArtifactRow]) -> Iterator[None]:
        with self._transaction() as connection:
            if not connection.in_transaction:
                connection.execute("begin immediate")
            newest = connection.execute("select coalesce(max(id), 0) from artifacts").fetchone()[0]
            written = {connection.execute(UPSERT, row.get_column_values()).fetchone()[0]: row for row in rows}
            # New rows have no text yet, and deleting nothing from a full-text table takes time too.
            fts_rows.delete_passages(connection, (number for number in written if number <= newest))
            rewritten = ((number, row.source_kind) for number, row in written.items() if number <= newest)
            tool_runs.delete_rows(connection, rewritten)
            for number, row in written.items():
                connection.executemany(tool_runs.INSERT, tool_runs.build_rows(number, row))
            fts_rows.insert_rows(
                connection,
                (text for number, row in written.items() for text in fts_rows.build_artifact_fts_rows(number, row)),
            )
            ledger.sync_sessions(connection, sorted({row.session_token for row in written.values()}))
            self.blank_repeated_outcomes([number for number, row in written.items() if row.outcome])
            yield

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        with self._transaction() as connection:
            connection.executemany(
                "update artifacts set stamp = ? where source_path = ?", [(stamp, path) for path, stamp in stamps]
            )

    def assign_project(self, path: str, old_key: str, key: str) -> None:
        with self._transaction() as connection:
            values = {"mark": mark_owner(key), "old": old_key, "path": path}
            connection.execute(tool_runs.MOVE_RUNS, values)
            connection.execute(
                "update artifacts set project_key = ? where project_key = ? and project = ?", (key, old_key, path)
            )

    def add_folder(self, token: str, folder: str) -> None:
        sql = "update artifacts set folders = folders || :folder where session_token = :token"
        sql += " and instr(folders, :folder) = 0"
        with self._transaction() as connection:
            connection.execute(sql, {"token": token, "folder": folder})

    def delete_paths(self, paths: Iterable[str]) -> None:
        with self._transaction() as connection:
            sql = "delete from artifacts where source_path = ? returning id, source_kind, session_token"
            deleted = [row for path in paths for row in connection.execute(sql, (path,)).fetchall()]
            fts_rows.delete_passages(connection, (number for number, _, _ in deleted))
            tool_runs.delete_rows(connection, (row[:2] for row in deleted))
            ledger.sync_sessions(connection, sorted({token for *_, token in deleted}))

    @contextmanager
    def rebuild(self) -> Iterator[IndexBuild]:
        """Build a database beside this one and swap the contents, at once for everybody, unless the block fails."""
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
        with self._transaction():
            self.blank_repeated_outcomes(None)

    def load_ledger(self, agent_id: str, window: Window) -> Ledger:
        with translate_errors(self.path):
            tallies = ledger.load_tallies(self._connection, agent_id, window)
        heads = ledger.read_heads(self._connection, agent_id, window)
        return Ledger(group_heads(self._iter_guarded(heads)), tallies)

    def recall(self, query: RecallQuery) -> RecallResult:
        with translate_errors(self.path):
            return recall.load_recall(self._connection, query)

    def index_books(self, book_files: Iterable[BookFiles]) -> None:
        """Update the rows of books in one transaction. `book_files` is read under the write lock."""
        with self._transaction() as connection:
            # The lock comes before the first file is read.
            connection.execute("begin immediate")
            for book in book_files:
                books.sync_book(connection, book)

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

    def delete_session(self, token: str) -> int:
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

    def is_complete(self) -> bool:
        with translate_errors(self.path):
            self.needs_reindex = not schema.is_complete(self._connection)
        return not self.needs_reindex

    def mark_complete(self) -> None:
        with self._transaction() as connection:
            schema.mark_complete(connection)
        self.needs_reindex = False

    @contextmanager
    def open_vector_search(self) -> Iterator[SqliteVectorSearch]:
        with translate_errors(self.path):
            yield SqliteVectorSearch(self._connection)

    def may_have_vectors(self, file: Path) -> bool:
        return file.exists()

    def open_vectors(self, file: Path, *, may_create: bool) -> Vectors:
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

    def _select(self, sql: str, **values: object) -> Iterator[Any]:
        bound = {name: _bind(value) for name, value in values.items()}
        with translate_errors(self.path):  # damage may show at any row
            yield from self._connection.execute(sql, bound)

    def _iter_guarded(self, rows: Iterator[T]) -> Iterator[T]:
        with translate_errors(self.path):
            yield from rows


def _bind(value: object) -> object:
    if isinstance(value, list):
        return json.dumps(value)
    return replace_surrogates(value) if isinstance(value, str) else value
