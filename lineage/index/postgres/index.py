"""Rows and full text of one workspace in a schema of a PostgreSQL database."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from lineage.core.base.word_runs import mark_owner
from lineage.core.capture.ledger import Ledger, Window, group_heads
from lineage.database.postgres import Postgres
from lineage.database.sqlite import delete_database
from lineage.full_text import build_match_expression
from lineage.index import recall, tool_runs
from lineage.index.base import Index, IndexBuild
from lineage.index.books import BookFiles, decode_entry
from lineage.index.fts_rows import build_artifact_fts_rows
from lineage.index.postgres import books, fts_rows, ledger, pgvector, schema
from lineage.index.postgres.publish_queue import PostgresPublishQueue
from lineage.index.postgres.text_search import PostgresTextSearch, to_postgres_sql
from lineage.index.postgres.tokenizer import Tokenizer
from lineage.index.postgres.vector_search import PostgresVectorSearch
from lineage.index.rows import COLUMNS, ArtifactRow
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import Vectors

_ARRAYS = ", ".join(f"%s::{'integer' if name in schema.INTEGERS else 'text'}[]" for name in COLUMNS)
# Sorted, so that writers lock rows in one order and never block each other.
_UPSERT = f"""
    insert into artifacts ({", ".join(COLUMNS)})
    select * from unnest({_ARRAYS}) as given({", ".join(COLUMNS)}) order by source_path collate "C"
    on conflict (source_path) do update set {", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}
    returning id, source_path
"""
_DELETE = "delete from artifacts where source_path = any(%s::text[]) returning id, session_token"
_RECALL_ENTRIES = to_postgres_sql(recall.SELECT_ENTRIES.format(prefix=""))
_RECALL_SESSIONS = to_postgres_sql(recall.SELECT_SESSIONS.format(prefix="", padding=""))
_UPDATE_STAMPS = """
    update artifacts a set stamp = given.stamp from unnest(%s::text[], %s::text[]) as given(path, stamp)
    where a.source_path = given.path
"""


class PostgresIndex(Index):
    """Implement the port `Index`. Tables of an older version are created anew, those of a newer one left alone.

    Writers of different sessions don't wait for each other; writers of books do.
    """

    def __init__(self, url: str, schema_name: str) -> None:
        self.database = Postgres(url, schema_name, schema.ensure_tables)
        self.queue = PostgresPublishQueue(self.database)
        self._tokenizer = Tokenizer()
        self._text_search = PostgresTextSearch(self.database, self._tokenizer)
        self._is_complete = False
        self._vectors: Vectors | None = None

    @property
    def needs_reindex(self) -> bool:
        """Return whether rows are missing until a reindex has run."""
        if not self._is_complete:
            self._is_complete = schema.is_complete(self.database)
        return not self._is_complete

    def residual_copies(self) -> tuple[str, ...]:
        """Return a description of the server's copies of deleted rows."""
        return ("the write-ahead log, replicas and backups of the PostgreSQL server that holds the index",)

    def close(self) -> None:
        self._tokenizer.close()
        if self._vectors:
            self._vectors.close()
        self.database.close()

    def reset(self) -> None:
        self._is_complete = False
        self.database.recreate_schema()

    @contextmanager
    def upsert_in_transaction(self, rows: Iterable[ArtifactRow]) -> Iterator[None]:
        with self.database.transaction():
            by_path = {row.source_path: row for row in rows}
            numbers = self._write_rows(by_path)
            self._hide_superseded({row.session_token for row in by_path.values()})
            ledger.sync_sessions(self.database, (row.session_token for row in by_path.values()))
            self.blank_repeated_outcomes([numbers[path] for path, row in by_path.items() if row.outcome])
            yield

    @contextmanager
    def rebuild(self) -> Iterator[IndexBuild]:
        """Write into the tables themselves, for many machines use them.

        Rows are visible at once and stay if the block fails. The entries of the ledger follow at its end.
        """
        yield IndexBuild(self._fill, frozenset(self.load_stamps()))
        self._hide_superseded(None)
        self.blank_repeated_outcomes(None)
        ledger.sync_all_sessions(self.database)

    def _hide_superseded(self, tokens: set[str] | None) -> None:
        numbers = ledger.hide_superseded(self.database, tokens)
        fts_rows.delete_passages(self.database, numbers, merge_counts=not self.needs_reindex)

    def _fill(self, rows: Sequence[tuple[int, ArtifactRow]]) -> None:
        with self.database.transaction():
            self._write_rows({row.source_path: row for _, row in rows})  # the server numbers rows itself

    def _write_rows(self, rows: dict[str, ArtifactRow]) -> dict[str, int]:
        """Write the rows of files, given by path, and return their numbers."""
        if not rows:
            return {}
        columns = [[getattr(row, name) for row in rows.values()] for name in COLUMNS]
        numbers = dict(self.database.execute(_UPSERT, columns))
        # A first reindex leaves the counts of words unmerged: `mark_complete` merges them once, and faster.
        merge_counts = not self.needs_reindex
        fts_rows.delete_passages(self.database, numbers, merge_counts=merge_counts)
        texts = (text for number, path in numbers.items() for text in build_artifact_fts_rows(number, rows[path]))
        fts_rows.insert_rows(self.database, self._tokenizer, texts, merge_counts=merge_counts)
        self._delete_tool_runs(numbers)
        runs = (pair for number, path in numbers.items() for pair in tool_runs.build_rows(number, rows[path]))
        self.database.copy_rows(tool_runs.TABLE, tool_runs.COLUMNS, runs)
        return {path: number for number, path in numbers.items()}

    def _delete_tool_runs(self, numbers: Iterable[int]) -> None:
        self.database.execute(f"delete from {tool_runs.TABLE} where artifact = any(%s::bigint[])", (list(numbers),))

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        by_path = dict(stamps)
        if by_path:
            self.database.execute(_UPDATE_STAMPS, (list(by_path), list(by_path.values())))

    def assign_project(self, path: str, old_key: str, key: str) -> None:
        sql = "update artifacts set project_key = %s where project_key = %s and project = %s"
        values = {"mark": mark_owner(key), "old": old_key, "path": path}
        with self.database.transaction():
            self.database.execute(to_postgres_sql(tool_runs.MOVE_RUNS), values)
            self.database.execute(sql, (key, old_key, path))

    def add_folder(self, token: str, folder: str) -> None:
        sql = "update artifacts set folders = folders || %s where session_token = %s and strpos(folders, %s) = 0"
        self.database.execute(sql, (folder, token, folder))

    def delete_paths(self, paths: Iterable[str]) -> None:
        values = list(paths)
        if values:
            with self.database.transaction():
                deleted = self.database.execute(_DELETE, (values,))
                numbers = [number for number, _ in deleted]
                fts_rows.delete_passages(self.database, numbers, merge_counts=not self.needs_reindex)
                self._delete_tool_runs(numbers)
                ledger.sync_sessions(self.database, (token for _, token in deleted))

    def load_ledger(self, agent_id: str, window: Window) -> Ledger:
        tallies = ledger.load_tallies(self.database, agent_id, window)
        return Ledger(group_heads(ledger.read_heads(self.database, agent_id, window)), tallies)

    @contextmanager
    def open_vector_search(self) -> Iterator[PostgresVectorSearch]:
        yield PostgresVectorSearch(self.database, self._tokenizer)

    def may_have_vectors(self, file: Path) -> bool:
        """Return True: only the server knows."""
        return True

    def open_vectors(self, file: Path, *, may_create: bool) -> Vectors:
        if self._vectors is None:
            shared = pgvector.open_shared_vectors(self.database, may_create=may_create)
            # Vectors must not stay in a file that nobody prunes any more.
            if shared and file.exists():
                delete_database(file)
            self._vectors = shared or VectorFile(file)
        return self._vectors

    def recall(self, query: recall.RecallQuery) -> recall.RecallResult:
        entries = []
        words = build_match_expression(query.text or "")
        if words and query.max_entries:
            # No limit: the privacy rule and the scopes decide only after the match.
            matches, values = self._text_search.build_match_statement(words, 1 << 40, "id < 0")
            values |= {"scopes": list(query.scopes), "kinds": list(query.kinds), "entries": query.max_entries}
            entries = self.database.execute(f"with found as materialized ({matches}) {_RECALL_ENTRIES}", values)
        found = self.database.execute(_RECALL_SESSIONS, recall.build_session_values(query))
        recalled = (recall.RecalledSession(*row) for row in found)
        return recall.RecallResult(tuple(map(decode_entry, entries)), tuple(recalled))

    def index_books(self, book_files: Iterable[BookFiles]) -> None:
        """Update the rows of books in one transaction. `book_files` is read under the lock of books."""
        with self.database.transaction():
            self.database.lock_in_transaction("books")
            merge_counts = not self.needs_reindex
            for book in book_files:
                books.sync_book(self.database, self._tokenizer, book, merge_counts=merge_counts)

    def trace_statements(self, callback: Callable[[str], object]) -> AbstractContextManager[None]:
        return self.database.trace_statements(callback)

    def delete_session(self, token: str) -> int:
        self.queue.delete_session(token)
        paths = [path for path, _ in self.list_session_files(token)]
        self.delete_paths(paths)
        with self.database.transaction():
            self.database.lock_in_transaction("books")
            return len(paths) + books.delete_session(self.database, token, merge_counts=not self.needs_reindex)

    def scrub(self) -> None:
        """Leave no copy of deleted rows in the tables' files. The write-ahead log is not reached."""
        self.database.vacuum_tables(schema.TABLES)

    def is_complete(self) -> bool:
        return not self.needs_reindex

    def mark_complete(self) -> None:
        schema.mark_complete(self.database)
        self._is_complete = True

    def _select(self, sql: str, **values: object) -> Iterator[Any]:
        # SQLite's `like` ignores case.
        return iter(self.database.execute(to_postgres_sql(sql).replace(" like ", " ilike "), values))
