"""Rows and full text of one workspace in a schema of a PostgreSQL database."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from lineage.core.capture.ledger import Ledger, group_heads
from lineage.core.capture.window import Window
from lineage.core.search.query import Query, parse_query
from lineage.database.postgres import Postgres
from lineage.database.sqlite import delete_database
from lineage.index import sessions, text_search
from lineage.index.base import IndexBuild, IndexedFile
from lineage.index.books import BookFiles, EntryRow
from lineage.index.fts_query import DEFAULT_RANKING, Ranking
from lineage.index.fts_rows import build_artifact_fts_rows
from lineage.index.postgres import books, fts_rows, ledger, pgvector, recall, schema
from lineage.index.postgres.publish_queue import PostgresPublishQueue
from lineage.index.postgres.text_search import PostgresTextSearch, to_postgres_sql
from lineage.index.postgres.tokenizer import Tokenizer
from lineage.index.postgres.vector_search import PostgresVectorSearch
from lineage.index.recall import RecallQuery, RecallResult
from lineage.index.rows import COLUMNS, ArtifactRow
from lineage.index.sessions import SessionRow
from lineage.index.text_search import Hit
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import Vectors

_ARRAYS = ", ".join(f"%s::{'integer' if name in ('private', 'visible') else 'text'}[]" for name in COLUMNS)
# Sorted, so that writers lock rows in one order and never block each other.
_UPSERT = f"""
    insert into artifacts ({", ".join(COLUMNS)})
    select * from unnest({_ARRAYS}) as given({", ".join(COLUMNS)}) order by source_path collate "C"
    on conflict (source_path) do update set {", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}
    returning id, source_path
"""
_DELETE = "delete from artifacts where source_path = any(%s::text[]) returning id, session_token"
_SELECT_HASHES = "select source_path, source_sha256 from artifacts where source_path = any(%s::text[])"
_SELECT_FILES = """
    select source_path, stamp, source_sha256 from artifacts where source_path > %s
    order by source_path
"""
_UPDATE_STAMPS = """
    update artifacts a set stamp = given.stamp from unnest(%s::text[], %s::text[]) as given(path, stamp)
    where a.source_path = given.path
"""
_COUNT_FUTURE = "select count(*) from entries where agent_id = %s and membership_ts > %s"
_COUNT_BY_KIND = "select source_kind, count(*) from artifacts group by source_kind order by source_kind"
_SELECT_INDEXED_TOKENS = to_postgres_sql(sessions.SELECT_INDEXED_TOKENS)
_SELECT_OLDEST_MANIFESTS = (
    "select min(source_path) from artifacts where source_kind = 'manifest' group by session_token order by 1"
)


class PostgresIndex:
    """Implement `index.base.Index`. Tables of an older version are created anew, those of a newer one left alone.

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
        """Close the tokenizer, the vectors and the connection."""
        self._tokenizer.close()
        if self._vectors:
            self._vectors.close()
        self.database.close()

    def reset(self) -> None:
        """Drop the tables and create them anew."""
        self._is_complete = False
        self.database.recreate_schema()

    def upsert(self, rows: Iterable[ArtifactRow]) -> None:
        """Write rows and their text in one transaction, replacing rows of the same path."""
        with self.upsert_in_transaction(rows):
            pass

    @contextmanager
    def upsert_in_transaction(self, rows: Iterable[ArtifactRow]) -> Iterator[None]:
        """Write rows and commit at the end of the block."""
        with self.database.transaction():
            by_path = {row.source_path: row for row in rows}
            self._write_rows(by_path)
            ledger.sync_sessions(self.database, (row.session_token for row in by_path.values()))
            yield

    @contextmanager
    def rebuild(self) -> Iterator[IndexBuild]:
        """Write into the tables themselves, for many machines use them.

        Rows are visible at once and stay if the block fails. The entries of the ledger follow at its end.
        """
        yield IndexBuild(self._fill, frozenset(self.load_stamps()))
        ledger.sync_all_sessions(self.database)

    def _fill(self, rows: Sequence[tuple[int, ArtifactRow]]) -> None:
        with self.database.transaction():
            self._write_rows({row.source_path: row for _, row in rows})  # the server numbers rows itself

    def _write_rows(self, rows: dict[str, ArtifactRow]) -> None:
        if not rows:
            return
        columns = [[getattr(row, name) for row in rows.values()] for name in COLUMNS]
        numbers = dict(self.database.execute(_UPSERT, columns))
        # A first reindex leaves the counts of words unmerged: `mark_complete` merges them once, and faster.
        merge_counts = not self.needs_reindex
        fts_rows.delete_passages(self.database, numbers, merge_counts=merge_counts)
        texts = (text for number, path in numbers.items() for text in build_artifact_fts_rows(number, rows[path]))
        fts_rows.insert_rows(self.database, self._tokenizer, texts, merge_counts=merge_counts)

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        """Update the stamps of files, given as (path, stamp)."""
        by_path = dict(stamps)
        if by_path:
            self.database.execute(_UPDATE_STAMPS, (list(by_path), list(by_path.values())))

    def delete_paths(self, paths: Iterable[str]) -> None:
        """Delete the rows and the text of files."""
        values = list(paths)
        if values:
            with self.database.transaction():
                deleted = self.database.execute(_DELETE, (values,))
                numbers = [number for number, _ in deleted]
                fts_rows.delete_passages(self.database, numbers, merge_counts=not self.needs_reindex)
                ledger.sync_sessions(self.database, (token for _, token in deleted))

    def load_stamps(self) -> dict[str, str]:
        """Return the stamp of every file with a row, by path."""
        return dict(self.database.execute("select source_path, stamp from artifacts"))

    def load_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the SHA-256 of those of these files that have a row, by path."""
        values = list(paths)
        return dict(self.database.execute(_SELECT_HASHES, (values,))) if values else {}

    def iter_files(self, after: str = "") -> Iterator[IndexedFile]:
        """Return the indexed files behind a path, in path order."""
        return (IndexedFile(*row) for row in self.database.execute(_SELECT_FILES, (after,)))

    def has_paths(self, paths: Sequence[str]) -> bool:
        """Return whether every path has a row."""
        statement = "select count(*) from artifacts where source_path = any(%s::text[])"
        return bool(self.database.execute(statement, (list(paths),))[0][0] == len(set(paths)))

    def find_oldest_manifests(self) -> list[str]:
        """Return the path of each session's oldest manifest."""
        return [path for (path,) in self.database.execute(_SELECT_OLDEST_MANIFESTS)]

    def list_agents(self) -> list[str]:
        """Return the agents with rows, sorted."""
        rows = self.database.execute("select distinct agent_id from artifacts order by agent_id")
        return [agent for (agent,) in rows]

    def load_ledger(self, agent_id: str, window: Window) -> Ledger:
        """Return the agent's ledger in the window. Its entries are read on demand."""
        tallies = ledger.load_tallies(self.database, agent_id, window)
        return Ledger(group_heads(ledger.read_heads(self.database, agent_id, window)), tallies)

    def count_future_captures(self, agent_id: str, window: Window) -> int:
        """Return the number of captures dated after the window's end."""
        return int(self.database.execute(_COUNT_FUTURE, (agent_id, window.until))[0][0])

    def list_sessions(
        self, agent_id: str | None, *, limit: int = 50, project: str | None = None, reference: str | None = None
    ) -> list[SessionRow]:
        """Return sessions, newest first. See `Index.list_sessions`."""
        statement, values = sessions.build_list_statement(agent_id, limit, project, reference)
        # SQLite's `like` ignores case.
        statement = to_postgres_sql(statement).replace(" like ", " ilike ")
        return list(map(sessions.build_session_row, self.database.execute(statement, values)))

    def list_session_files(self, token: str) -> list[tuple[str, str]]:
        """Return (path, kind) of a session's files, oldest first."""
        statement = "select source_path, source_kind from artifacts where session_token = %s order by source_path"
        return self.database.execute(statement, (token,))

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
        return text_search.search(
            self._text_search, query, agent_id, limit, by_passage=by_passage, ranking=ranking or DEFAULT_RANKING
        )

    @contextmanager
    def open_vector_search(self) -> Iterator[PostgresVectorSearch]:
        """Return the texts with vectors."""
        yield PostgresVectorSearch(self.database, self._tokenizer)

    def may_have_vectors(self, file: Path) -> bool:
        """Return True: only the server knows."""
        return True

    def open_vectors(self, file: Path, *, may_create: bool) -> Vectors:
        """Return the vectors on the server, if that can compare vectors, else those in `file`."""
        if self._vectors is None:
            shared = pgvector.open_shared_vectors(self.database, may_create=may_create)
            # Vectors must not stay in a file that nobody prunes any more.
            if shared and file.exists():
                delete_database(file)
            self._vectors = shared or VectorFile(file)
        return self._vectors

    def recall(self, query: RecallQuery) -> RecallResult:
        """Return the recall of a new session. See `Index.recall`."""
        return recall.load_recall(self._text_search, query)

    def index_books(self, book_files: Iterable[BookFiles]) -> None:
        """Update the rows of books in one transaction. `book_files` is read under the lock of books."""
        with self.database.transaction():
            self.database.lock_in_transaction("books")
            merge_counts = not self.needs_reindex
            for book in book_files:
                books.sync_book(self.database, self._tokenizer, book, merge_counts=merge_counts)

    def iter_book_files(self) -> Iterator[IndexedFile]:
        """Return the indexed files of books, in path order."""
        rows = self.database.execute("select path, stamp, sha256 from books order by path")
        return (IndexedFile(*row) for row in rows)

    def find_books_of_sessions(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        """Return (scope, kind) of the books with entries from one of these sessions."""
        return books.find_books_of_sessions(self.database, tokens)

    def load_entries(self, scope: str, kind: str) -> list[EntryRow]:
        """Return the rows of a book, of all its files."""
        return books.load_entries(self.database, scope, kind)

    def trace_statements(self, callback: Callable[[str], object]) -> AbstractContextManager[None]:
        """Call `callback` with each statement within the block."""
        return self.database.trace_statements(callback)

    def find_indexed_tokens(self, tokens: Collection[str]) -> set[str]:
        """Return those of these sessions that have rows, or entries in books."""
        return {token for (token,) in self.database.execute(_SELECT_INDEXED_TOKENS, {"tokens": list(tokens)})}

    def delete_session(self, token: str) -> int:
        """Delete every row of a session and of its entries in books. Return their number."""
        self.queue.delete_session(token)
        paths = [path for path, _ in self.list_session_files(token)]
        self.delete_paths(paths)
        with self.database.transaction():
            self.database.lock_in_transaction("books")
            return len(paths) + books.delete_session(self.database, token, merge_counts=not self.needs_reindex)

    def scrub(self) -> None:
        """Leave no copy of deleted rows in the tables' files. The write-ahead log is not reached."""
        self.database.vacuum_tables(schema.TABLES)

    def count_by_kind(self) -> dict[str, int]:
        """Return the number of rows of each kind."""
        return dict(self.database.execute(_COUNT_BY_KIND))

    def is_complete(self) -> bool:
        """Return whether a reindex has run to its end, be it on another machine."""
        return not self.needs_reindex

    def mark_complete(self) -> None:
        """Record that a reindex has run to its end."""
        schema.mark_complete(self.database)
        self._is_complete = True
