"""`.lineage/index.db`: rows and full text over the canonical files."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lineage.core.format.body import replace_surrogates
from lineage.database.sqlite import connect, delete_database, translate_errors, vacuum
from lineage.errors import DatabaseDamaged, LineageError
from lineage.index import schema
from lineage.index.privacy_sql import register_privacy_function
from lineage.index.publish_queue import FILE_NAME, SqlitePublishQueue

if TYPE_CHECKING:  # what only some questions need is imported with the first of them, and so is what only writers do
    from lineage.core.capture.ledger import Ledger
    from lineage.core.capture.window import Window
    from lineage.core.search.query import Query
    from lineage.index.base import IndexBuild, IndexedFile
    from lineage.index.books import BookFiles, EntryRow
    from lineage.index.fts_query import Ranking
    from lineage.index.recall import RecallResult
    from lineage.index.rows import ArtifactRow
    from lineage.index.sessions import SessionRow
    from lineage.index.text_search import Hit
    from lineage.index.vector_search import SqliteVectorSearch
    from lineage.index.vectors import Vectors

T = TypeVar("T")

_NESTED_STATEMENT_PREFIX = "-- "

_COUNT_FUTURE = "select count(*) from entries where agent_id = ? and membership_ts > ?"


class SqliteIndex:
    """See `index.base.Index`. A missing, old or damaged database is begun anew.

    `needs_reindex` says that its rows are not yet those of the files: a reindex is due before anything is asked.
    """

    is_remote = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queue = SqlitePublishQueue(path.with_name(FILE_NAME))
        self.needs_reindex = False
        self._vectors: Vectors | None = None
        self._connection = self._open_or_recreate()

    def residual_copies(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self.queue.close()
        if self._vectors:
            self._vectors.close()
        self._connection.close()

    def reset(self) -> None:
        """Begins the database anew."""
        self.close()
        delete_database(self.path)
        self._connection = self._open()

    def upsert(self, rows: "Iterable[ArtifactRow]") -> None:
        with self._transaction():
            self._upsert(rows)

    @contextmanager
    def upsert_in_transaction(self, rows: "Iterable[ArtifactRow]") -> Iterator[None]:
        with self._transaction():
            self._upsert(rows)
            yield

    def _upsert(self, rows: "Iterable[ArtifactRow]") -> None:
        from lineage.index import fts_rows, ledger  # noqa: PLC0415
        from lineage.index.rows import COLUMNS, UPSERT  # noqa: PLC0415

        connection = self._connection
        if not connection.in_transaction:
            connection.execute("begin immediate")
        newest = connection.execute("select coalesce(max(id), 0) from artifacts").fetchone()[0]
        written = {}
        for row in rows:
            values = {name: getattr(row, name) for name in COLUMNS}
            written[connection.execute(UPSERT, values).fetchone()[0]] = row
        fts_rows.delete_passages(connection, (number for number in written if number <= newest))
        fts_rows.insert_rows(
            connection,
            (text for number, row in written.items() for text in fts_rows.build_artifact_fts_rows(number, row)),
        )
        ledger.sync_sessions(connection, sorted({row.session_token for row in written.values()}))

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        with self._transaction() as connection:
            connection.executemany("update artifacts set stamp = ?2 where source_path = ?1", stamps)

    def delete_paths(self, paths: Iterable[str]) -> None:
        from lineage.index import fts_rows, ledger  # noqa: PLC0415

        with self._transaction() as connection:
            sql = "delete from artifacts where source_path = ? returning id, session_token"
            gone = [row for path in paths for row in connection.execute(sql, (path,)).fetchall()]
            fts_rows.delete_passages(connection, (number for number, _ in gone))
            ledger.sync_sessions(connection, sorted({token for _, token in gone}))

    @contextmanager
    def rebuild(self) -> "Iterator[IndexBuild]":
        """Build a database beside this one and swap them when the block is left, at once for everybody. Where the
        block fails, nothing changes."""
        from lineage.index import shadow_build  # noqa: PLC0415  (tempfile and what it brings are no capture's)
        from lineage.index.base import IndexBuild  # noqa: PLC0415

        with translate_errors(self.path), shadow_build.temporary_folder(self.path.parent) as folder:
            built = folder / "built.db"
            with shadow_build.build(built) as write:
                yield IndexBuild(write)
            self._connection.close()
            try:
                shadow_build.replace_contents(built, self.path)
            finally:
                self._connection = self._open_or_recreate()

    def load_stamps(self) -> dict[str, str]:
        with translate_errors(self.path):
            return dict(self._connection.execute("select source_path, stamp from artifacts"))

    def load_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        sql = "select source_path, source_sha256 from artifacts where source_path in (select value from json_each(?))"
        return dict(self._read(sql, (json.dumps(list(paths)),)))

    def iter_files(self, after: str = "") -> "Iterator[IndexedFile]":
        from lineage.index.base import IndexedFile  # noqa: PLC0415

        sql = "select source_path, stamp, source_sha256 from artifacts where source_path > ? order by source_path"
        return (IndexedFile(*row) for row in self._read(sql, (after,)))

    def has_paths(self, paths: Sequence[str]) -> bool:
        marks = ", ".join("?" * len(paths))
        sql = f"select count(*) from artifacts where source_path in ({marks})"
        return self._count(sql, tuple(paths)) == len(set(paths))

    def find_oldest_manifests(self) -> list[str]:
        sql = "select min(source_path) from artifacts where source_kind = 'manifest' group by session_token order by 1"
        return [row[0] for row in self._read(sql, ())]

    def list_agents(self) -> list[str]:
        return [row[0] for row in self._read("select distinct agent_id from artifacts order by agent_id", ())]

    def load_ledger(self, agent_id: str, window: "Window") -> "Ledger":
        from lineage.core.capture.ledger import Ledger, group_heads  # noqa: PLC0415
        from lineage.index import ledger  # noqa: PLC0415

        with translate_errors(self.path):
            counted = ledger.load_tallies(self._connection, agent_id, window)
        return Ledger(group_heads(self._iter_guarded(ledger.read_heads(self._connection, agent_id, window))), counted)

    def count_future_captures(self, agent_id: str, window: "Window") -> int:
        return self._count(_COUNT_FUTURE, (agent_id, window.until))

    def list_sessions(
        self,
        agent_id: str | None,
        *,
        limit: int = 50,
        project: str | None = None,
        reference: str | None = None,
    ) -> "list[SessionRow]":
        from lineage.index import sessions  # noqa: PLC0415

        with translate_errors(self.path):
            return sessions.list_sessions(self._connection, agent_id, limit=limit, project=project, reference=reference)

    def list_session_files(self, token: str) -> list[tuple[str, str]]:
        sql = "select source_path, source_kind from artifacts where session_token = ? order by source_path"
        return list(self._read(sql, (token,)))

    def search(
        self,
        query: "str | Query",
        agent_id: str | None,
        *,
        limit: int,
        by_passage: bool = False,
        ranking: "Ranking | None" = None,
    ) -> "list[Hit]":
        from lineage.core.search.query import parse_query  # noqa: PLC0415
        from lineage.index import text_search  # noqa: PLC0415
        from lineage.index.fts_query import DEFAULT_RANKING  # noqa: PLC0415

        asked = parse_query(query) if isinstance(query, str) else query
        with translate_errors(self.path):
            return text_search.search(
                text_search.SqliteTextSearch(self._connection),
                asked,
                agent_id,
                limit,
                by_passage=by_passage,
                ranking=ranking or DEFAULT_RANKING,
            )

    def recall(
        self,
        query: str | None,
        *,
        agent_id: str,
        scopes: Sequence[str],
        kinds: Sequence[str],
        max_sessions: int,
        max_entries: int,
        until: str | None = None,
    ) -> "RecallResult":
        """What a new session recalls, in one statement: at most so many standing entries of these scopes and kinds,
        archived ones too, best match first (none where the query has no word), and the agent's newest sessions that
        are neither private nor trials, as of the time `until`. The scopes are those that the session may see."""
        from lineage.index import recall as recalling  # noqa: PLC0415

        with translate_errors(self.path):
            return recalling.load_recall(
                self._connection,
                query,
                agent_id=agent_id,
                scopes=scopes,
                kinds=kinds,
                max_sessions=max_sessions,
                max_entries=max_entries,
                until=until,
            )

    def index_books(self, book_files: "Iterable[BookFiles]") -> None:
        """Makes the rows of books those that their files make, in a transaction of its own, each with all its shelves.

        Nobody else writes rows while `found` is asked for the next: who reads the files there reads the newest."""
        from lineage.index import books  # noqa: PLC0415

        with self._transaction() as connection:
            connection.execute("begin immediate")
            for book in book_files:
                books.sync_book(connection, book)

    def iter_book_files(self) -> "Iterator[IndexedFile]":
        from lineage.index.base import IndexedFile  # noqa: PLC0415

        return (IndexedFile(*row) for row in self._read("select path, stamp, sha256 from books order by path", ()))

    def find_books_of_sessions(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        from lineage.index import books  # noqa: PLC0415

        with translate_errors(self.path):
            return list(books.find_books_of_sessions(self._connection, tokens))

    def load_entries(self, scope: str, kind: str) -> "list[EntryRow]":
        from lineage.index import books  # noqa: PLC0415

        with translate_errors(self.path):
            return list(books.load_entries(self._connection, scope, kind))

    @contextmanager
    def trace_statements(self, callback: Callable[[str], object]) -> Iterator[None]:
        """Gives `take` each statement that this index runs within the block; what SQLite runs inside of one is none."""
        self._connection.set_trace_callback(
            lambda sql: None if sql.startswith(_NESTED_STATEMENT_PREFIX) else callback(sql)
        )
        try:
            yield
        finally:
            self._connection.set_trace_callback(None)

    def find_indexed_tokens(self, tokens: Collection[str]) -> set[str]:
        from lineage.index import sessions  # noqa: PLC0415

        with translate_errors(self.path):
            return sessions.find_indexed_tokens(self._connection, tokens)

    def delete_session(self, token: str) -> int:
        from lineage.index import books  # noqa: PLC0415

        self.queue.delete_session(token)
        paths = [path for path, _ in self.list_session_files(token)]
        self.delete_paths(paths)
        with self._transaction() as connection:
            return len(paths) + books.delete_session(connection, token)

    def scrub(self) -> None:
        """Leaves no copy of what was dropped: not in free pages, full-text segments or the write-ahead log."""
        from lineage.index import shadow_build  # noqa: PLC0415

        with translate_errors(self.path):
            with self._connection as connection:
                connection.execute("insert into search (search) values ('optimize')")
            vacuum(self._connection)
            shadow_build.collect_leftovers(self.path.parent)

    def count_by_kind(self) -> dict[str, int]:
        return dict(
            self._read("select source_kind, count(*) from artifacts group by source_kind order by source_kind", ())
        )

    def is_complete(self) -> bool:
        with translate_errors(self.path):
            self.needs_reindex = not schema.is_complete(self._connection)
        return not self.needs_reindex

    def mark_complete(self) -> None:
        with self._transaction() as connection:
            schema.mark_complete(connection)
        self.needs_reindex = False

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
                connection.execute("select 1 from artifacts limit 1").fetchone()
        except LineageError:
            connection.close()
            raise
        return connection

    @contextmanager
    def open_vector_search(self) -> "Iterator[SqliteVectorSearch]":
        """What has vectors; see `likeness`."""
        from lineage.index.vector_search import SqliteVectorSearch  # noqa: PLC0415

        with translate_errors(self.path):
            yield SqliteVectorSearch(self._connection)

    def open_vectors(self, file: Path, *, may_create: bool) -> "Vectors":
        """The vectors of its passages."""
        from lineage.index.vectorfile import VectorFile  # noqa: PLC0415

        del may_create  # a file needs nobody's leave
        self._vectors = self._vectors or VectorFile(file)
        return self._vectors

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with translate_errors(self.path), self._connection:
            yield self._connection

    def _read(self, sql: str, values: Sequence[object]) -> Iterator[Any]:
        """The rows, fetched under guard: damage may show at any of them."""
        asked = [replace_surrogates(value) if isinstance(value, str) else value for value in values]
        with translate_errors(self.path):
            yield from self._connection.execute(sql, asked)

    def _iter_guarded(self, rows: Iterator[T]) -> Iterator[T]:
        with translate_errors(self.path):
            yield from rows

    def _count(self, sql: str, values: Sequence[object]) -> int:
        return int(next(self._read(sql, values))[0])
