"""Rows and full text of one workspace in a schema of a PostgreSQL database."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage.core.capture.ledger import Ledger, group_heads
from lineage.core.capture.window import Window
from lineage.core.search.query import Query, parse_query
from lineage.database.postgres import Postgres
from lineage.index import text_search
from lineage.index.base import IndexBuild, IndexedFile
from lineage.index.books import BookFiles, EntryRow
from lineage.index.fts_query import DEFAULT_RANKING, Ranking
from lineage.index.fts_rows import build_artifact_fts_rows
from lineage.index.postgres import books, fts_rows, ledger, schema
from lineage.index.postgres import recall as recalling
from lineage.index.postgres.publish_queue import PostgresPublishQueue
from lineage.index.postgres.text_search import PostgresTextSearch
from lineage.index.postgres.tokenizer import Tokenizer
from lineage.index.postgres.vector_search import PostgresVectorSearch
from lineage.index.recall import RecallResult
from lineage.index.rows import COLUMNS, ArtifactRow
from lineage.index.sessions import SessionRow
from lineage.index.text_search import Hit

if TYPE_CHECKING:
    from lineage.index.vectors import Vectors

_ARRAYS = ", ".join(f"%s::{'integer' if name in ('private', 'visible') else 'text'}[]" for name in COLUMNS)
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
_SELECT_SESSIONS = """
    select m.session_id, m.session_key, m.session_token, m.agent_id, m.project, m.harness, m.title,
           m.started_at, m.ended_at, coalesce(max(a.membership_ts), m.membership_ts) as newest,
           coalesce((select s.memory_sentence from artifacts s
                     where s.session_token = m.session_token and s.source_kind <> 'manifest'
                     order by s.stem desc, s.source_kind limit 1), ''),
           m.source_path, count(distinct a.stem), m.private
    from artifacts m
    left join artifacts a on a.session_token = m.session_token and a.source_kind = 'transcript'
    where m.source_kind = 'manifest' and m.source_path = (
        select min(o.source_path) from artifacts o
        where o.session_token = m.session_token and o.source_kind = 'manifest')
    and {where} group by m.id order by newest desc, m.session_token limit %(limit)s
"""
_REFERENCE = """
    (m.session_id ilike %(reference)s escape '!' or m.session_key ilike %(reference)s escape '!'
     or m.session_token ilike %(reference)s escape '!')
"""
_COUNT_FUTURE = "select count(*) from entries where agent_id = %s and membership_ts > %s"
_COUNT_BY_KIND = "select source_kind, count(*) from artifacts group by source_kind order by source_kind"
_SELECT_INDEXED_TOKENS = """
    select session_token from artifacts where session_token = any(%(tokens)s::text[])
    union select owner from book_entries where owner = any(%(tokens)s::text[])
    union select origin_token from book_entries where origin_token = any(%(tokens)s::text[])
"""
_SELECT_OLDEST_MANIFESTS = (
    "select min(source_path) from artifacts where source_kind = 'manifest' group by session_token order by 1"
)


class PostgresIndex:
    """See `index.base.Index`. Tables of an older version are begun anew, those of a newer one are left alone.

    Writers of different sessions don't wait for each other; those who shelve do.
    """

    is_remote = True

    def __init__(self, url: str, schema_name: str) -> None:
        self.database = Postgres(url, schema_name, schema.ensure_tables)
        self.queue = PostgresPublishQueue(self.database)
        self._tokenizer = Tokenizer()
        self._text_search = PostgresTextSearch(self.database, self._tokenizer)
        self._is_complete = False
        self._vectors: Vectors | None = None

    @property
    def needs_reindex(self) -> bool:
        if not self._is_complete:
            self._is_complete = schema.is_complete(self.database)
        return not self._is_complete

    def residual_copies(self) -> tuple[str, ...]:
        return ("the write-ahead log, replicas and backups of the PostgreSQL server that holds the index",)

    def close(self) -> None:
        self._tokenizer.close()
        if self._vectors:
            self._vectors.close()
        self.database.close()

    def reset(self) -> None:
        self._is_complete = False
        self.database.recreate_schema()

    def upsert(self, rows: Iterable[ArtifactRow]) -> None:
        with self.upsert_in_transaction(rows):
            pass

    @contextmanager
    def upsert_in_transaction(self, rows: Iterable[ArtifactRow]) -> Iterator[None]:
        with self.database.transaction():
            self._upsert({row.source_path: row for row in rows})
            yield

    @contextmanager
    def rebuild(self) -> Iterator[IndexBuild]:
        """Write into the tables themselves, which many machines use: rows are there at once, and stay where the block
        fails. The entries of the ledger follow at the end."""
        yield IndexBuild(self._fill, frozenset(self.load_stamps()))
        ledger.sync_all_sessions(self.database)

    def _fill(self, rows: Sequence[tuple[int, ArtifactRow]]) -> None:
        with self.database.transaction():
            self._write_rows({row.source_path: row for _, row in rows})  # rows have numbers of the server's own

    def _upsert(self, rows: dict[str, ArtifactRow]) -> None:
        self._write_rows(rows)
        ledger.sync_sessions(self.database, (row.session_token for row in rows.values()))

    def _write_rows(self, rows: dict[str, ArtifactRow]) -> None:
        if not rows:
            return
        columns = [[getattr(row, name) for row in rows.values()] for name in COLUMNS]
        numbers = dict(self.database.execute(_UPSERT, columns))
        merges = not self.needs_reindex
        fts_rows.delete_passages(self.database, numbers, merge_counts=merges)
        found = (text for number, path in numbers.items() for text in build_artifact_fts_rows(number, rows[path]))
        fts_rows.insert_rows(self.database, self._tokenizer, found, merge_counts=merges)

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        given = dict(stamps)
        if given:
            self.database.execute(_UPDATE_STAMPS, (list(given), list(given.values())))

    def delete_paths(self, paths: Iterable[str]) -> None:
        gone = list(paths)
        if gone:
            with self.database.transaction():
                found = self.database.execute(_DELETE, (gone,))
                fts_rows.delete_passages(
                    self.database, (number for number, _ in found), merge_counts=not self.needs_reindex
                )
                ledger.sync_sessions(self.database, (token for _, token in found))

    def load_stamps(self) -> dict[str, str]:
        return dict(self.database.execute("select source_path, stamp from artifacts"))

    def load_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        asked = list(paths)
        return dict(self.database.execute(_SELECT_HASHES, (asked,))) if asked else {}

    def iter_files(self, after: str = "") -> Iterator[IndexedFile]:
        return (IndexedFile(*row) for row in self.database.execute(_SELECT_FILES, (after,)))

    def has_paths(self, paths: Sequence[str]) -> bool:
        statement = "select count(*) from artifacts where source_path = any(%s::text[])"
        return self._count(statement, (list(paths),)) == len(set(paths))

    def find_oldest_manifests(self) -> list[str]:
        return [row[0] for row in self.database.execute(_SELECT_OLDEST_MANIFESTS)]

    def list_agents(self) -> list[str]:
        return [row[0] for row in self.database.execute("select distinct agent_id from artifacts order by agent_id")]

    def load_ledger(self, agent_id: str, window: Window) -> Ledger:
        counted = ledger.load_tallies(self.database, agent_id, window)
        return Ledger(group_heads(ledger.read_heads(self.database, agent_id, window)), counted)

    def count_future_captures(self, agent_id: str, window: Window) -> int:
        return self._count(_COUNT_FUTURE, (agent_id, window.until))

    def list_sessions(
        self,
        agent_id: str | None,
        *,
        limit: int = 50,
        project: str | None = None,
        reference: str | None = None,
    ) -> list[SessionRow]:
        where = ["true"]
        values: dict[str, object] = {"limit": limit, "agent": agent_id}
        if agent_id is not None:
            where.append("m.agent_id = %(agent)s")
        if project is not None:
            where.append("(m.project = %(project)s or m.project ilike %(project_end)s escape '!')")
            values |= {"project": project, "project_end": f"%/{_escape_like(project)}"}
        if reference is not None:
            where.append(_REFERENCE)
            values["reference"] = f"{_escape_like(reference)}%"
        rows = self.database.execute(_SELECT_SESSIONS.format(where=" and ".join(where)), values)
        return [_build_session_row(row) for row in rows]

    def list_session_files(self, token: str) -> list[tuple[str, str]]:
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
        asked = parse_query(query) if isinstance(query, str) else query
        return text_search.search(
            self._text_search, asked, agent_id, limit, by_passage=by_passage, ranking=ranking or DEFAULT_RANKING
        )

    @contextmanager
    def open_vector_search(self) -> Iterator[PostgresVectorSearch]:
        yield PostgresVectorSearch(self.database, self._tokenizer)

    def open_vectors(self, file: Path, *, may_create: bool) -> "Vectors":
        from lineage.database.sqlite import delete_database  # noqa: PLC0415
        from lineage.index.postgres import pgvector  # noqa: PLC0415  (no capture asks for vectors)
        from lineage.index.vectorfile import VectorFile  # noqa: PLC0415

        if self._vectors is None:
            found = pgvector.open_shared_vectors(self.database, may_create=may_create)
            if found and file.exists():
                delete_database(file)
            self._vectors = found or VectorFile(file)
        return self._vectors

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
    ) -> RecallResult:
        return recalling.load_recall(
            self._text_search,
            query,
            agent_id=agent_id,
            scopes=scopes,
            kinds=kinds,
            max_sessions=max_sessions,
            max_entries=max_entries,
            until=until,
        )

    def index_books(self, book_files: Iterable[BookFiles]) -> None:
        with self.database.transaction():
            self.database.lock_in_transaction("books")
            merges = not self.needs_reindex
            for book in book_files:
                books.sync_book(self.database, self._tokenizer, book, merge_counts=merges)

    def iter_book_files(self) -> Iterator[IndexedFile]:
        return (
            IndexedFile(*row) for row in self.database.execute("select path, stamp, sha256 from books order by path")
        )

    def find_books_of_sessions(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        return books.find_books_of_sessions(self.database, tokens)

    def load_entries(self, scope: str, kind: str) -> list[EntryRow]:
        return books.load_entries(self.database, scope, kind)

    def trace_statements(self, callback: Callable[[str], object]) -> AbstractContextManager[None]:
        """Gives `take` each statement that this index runs within the block."""
        return self.database.trace_statements(callback)

    def find_indexed_tokens(self, tokens: Collection[str]) -> set[str]:
        return {row[0] for row in self.database.execute(_SELECT_INDEXED_TOKENS, {"tokens": list(tokens)})}

    def delete_session(self, token: str) -> int:
        self.queue.delete_session(token)
        paths = [path for path, _ in self.list_session_files(token)]
        self.delete_paths(paths)
        with self.database.transaction():
            self.database.lock_in_transaction("books")
            return len(paths) + books.delete_session(self.database, token, merge_counts=not self.needs_reindex)

    def scrub(self) -> None:
        """What was deleted is in no file of the tables any more; the write-ahead log is not reached."""
        self.database.vacuum_tables(schema.TABLES)

    def count_by_kind(self) -> dict[str, int]:
        return dict(self.database.execute(_COUNT_BY_KIND))

    def is_complete(self) -> bool:
        return not self.needs_reindex

    def mark_complete(self) -> None:
        schema.mark_complete(self.database)
        self._is_complete = True

    def _count(self, statement: str, values: Sequence[Any]) -> int:
        return int(self.database.execute(statement, values)[0][0])


def _build_session_row(row: Sequence[Any]) -> SessionRow:
    values: Any = (*row[:-1], bool(row[-1]))
    return SessionRow(*values)


def _escape_like(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text
