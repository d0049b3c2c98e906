"""`.lineage/index.db`: rows and full text over the canonical files."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lineage.core.body import cleaned
from lineage.errors import DamagedIndex, LineageError
from lineage.index import schema
from lineage.index.gate import ask_the_gate
from lineage.index.queue import FILE, SqliteQueue
from lineage.store.databases import connect, discard, guarded, vacuumed

if TYPE_CHECKING:  # what only some questions need is imported with the first of them, and so is what only writers do
    from lineage.core.ledger import Ledger
    from lineage.core.query import Query
    from lineage.core.window import Window
    from lineage.index.base import IndexBuild, Known
    from lineage.index.books import EntryRow, Shelves
    from lineage.index.likeness import Texts
    from lineage.index.query import Ranking
    from lineage.index.recalling import Recalled
    from lineage.index.rows import Row
    from lineage.index.searching import Hit
    from lineage.index.sessions import SessionRow
    from lineage.index.vectors import Vectors

T = TypeVar("T")

_NESTED = "-- "

_FUTURE = "select count(*) from entries where agent_id = ? and membership_ts > ?"


class SqliteIndex:
    """See `index.base.Index`. A missing, old or damaged database is begun anew.

    `is_new` says that its rows are not yet those of the files: a reindex is due before anything is asked.
    """

    is_remote = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queue = SqliteQueue(path.with_name(FILE))
        self.is_new = False
        self._vectors: Vectors | None = None
        self._connection = self._begin()

    def out_of_reach(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self.queue.close()
        if self._vectors:
            self._vectors.close()
        self._connection.close()

    def reset(self) -> None:
        """Begins the database anew."""
        self.close()
        discard(self.path)
        self._connection = self._open()

    def upsert(self, rows: "Iterable[Row]") -> None:
        with self._writing():
            self._upsert(rows)

    @contextmanager
    def staged(self, rows: "Iterable[Row]") -> Iterator[None]:
        with self._writing():
            self._upsert(rows)
            yield

    def _upsert(self, rows: "Iterable[Row]") -> None:
        from lineage.index import ledger, texts  # noqa: PLC0415
        from lineage.index.rows import COLUMNS, INSERT  # noqa: PLC0415

        connection = self._connection
        if not connection.in_transaction:
            connection.execute("begin immediate")
        newest = connection.execute("select coalesce(max(id), 0) from artifacts").fetchone()[0]
        written = {}
        for row in rows:
            values = {name: getattr(row, name) for name in COLUMNS}
            written[connection.execute(INSERT, values).fetchone()[0]] = row
        texts.drop_passages(connection, (number for number in written if number <= newest))
        texts.write(connection, (text for number, row in written.items() for text in texts.texts_of(number, row)))
        ledger.kept_up(connection, sorted({row.session_token for row in written.values()}))

    def restamp(self, stamps: Iterable[tuple[str, str]]) -> None:
        with self._writing() as connection:
            connection.executemany("update artifacts set stamp = ?2 where source_path = ?1", stamps)

    def remove(self, paths: Iterable[str]) -> None:
        from lineage.index import ledger, texts  # noqa: PLC0415

        with self._writing() as connection:
            sql = "delete from artifacts where source_path = ? returning id, session_token"
            gone = [row for path in paths for row in connection.execute(sql, (path,)).fetchall()]
            texts.drop_passages(connection, (number for number, _ in gone))
            ledger.kept_up(connection, sorted({token for _, token in gone}))

    @contextmanager
    def rebuilt(self) -> "Iterator[IndexBuild]":
        """Build a database beside this one and swap them when the block is left, at once for everybody. Where the
        block fails, nothing changes."""
        from lineage.index import aside  # noqa: PLC0415  (tempfile and what it brings are no capture's)
        from lineage.index.base import IndexBuild  # noqa: PLC0415

        with guarded(self.path), aside.folder(self.path.parent) as folder:
            built = folder / "built.db"
            with aside.build(built) as write:
                yield IndexBuild(write)
            self._connection.close()
            try:
                aside.replace(built, self.path)
            finally:
                self._connection = self._begin()

    def stamps(self) -> dict[str, str]:
        with guarded(self.path):
            return dict(self._connection.execute("select source_path, stamp from artifacts"))

    def hashes(self, paths: Iterable[str]) -> dict[str, str]:
        sql = "select source_path, source_sha256 from artifacts where source_path in (select value from json_each(?))"
        return dict(self._read(sql, (json.dumps(list(paths)),)))

    def known(self, after: str = "") -> "Iterator[Known]":
        from lineage.index.base import Known  # noqa: PLC0415

        sql = "select source_path, stamp, source_sha256 from artifacts where source_path > ? order by source_path"
        return (Known(*row) for row in self._read(sql, (after,)))

    def has(self, paths: Sequence[str]) -> bool:
        marks = ", ".join("?" * len(paths))
        sql = f"select count(*) from artifacts where source_path in ({marks})"
        return self._count(sql, tuple(paths)) == len(set(paths))

    def oldest_manifests(self) -> list[str]:
        sql = "select min(source_path) from artifacts where source_kind = 'manifest' group by session_token order by 1"
        return [row[0] for row in self._read(sql, ())]

    def agents(self) -> list[str]:
        return [row[0] for row in self._read("select distinct agent_id from artifacts order by agent_id", ())]

    def ledger(self, agent_id: str, window: "Window") -> "Ledger":
        from lineage.core.ledger import Ledger, grouped  # noqa: PLC0415
        from lineage.index import ledger  # noqa: PLC0415

        with guarded(self.path):
            counted = ledger.tallies(self._connection, agent_id, window)
        return Ledger(grouped(self._guarded(ledger.heads(self._connection, agent_id, window))), counted)

    def future(self, agent_id: str, window: "Window") -> int:
        return self._count(_FUTURE, (agent_id, window.until))

    def sessions(
        self,
        agent_id: str | None,
        *,
        limit: int = 50,
        project: str | None = None,
        reference: str | None = None,
    ) -> "list[SessionRow]":
        from lineage.index import sessions  # noqa: PLC0415

        with guarded(self.path):
            return sessions.listed(self._connection, agent_id, limit=limit, project=project, reference=reference)

    def paths_of(self, token: str) -> list[tuple[str, str]]:
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
        from lineage.core.query import parsed  # noqa: PLC0415
        from lineage.index import searching  # noqa: PLC0415
        from lineage.index.query import RANKING  # noqa: PLC0415

        asked = parsed(query) if isinstance(query, str) else query
        with guarded(self.path):
            return searching.hits(
                searching.Fts(self._connection),
                asked,
                agent_id,
                limit,
                by_passage=by_passage,
                ranking=ranking or RANKING,
            )

    def recalled(
        self,
        query: str | None,
        *,
        agent_id: str,
        scopes: Sequence[str],
        kinds: Sequence[str],
        sessions: int,
        entries: int,
        until: str | None = None,
    ) -> "Recalled":
        """What a new session recalls, in one statement: at most so many standing entries of these scopes and kinds,
        archived ones too, best match first (none where the query has no word), and the agent's newest sessions that
        are neither private nor trials, as of the time `until`. The scopes are those that the session may see."""
        from lineage.index import recalling  # noqa: PLC0415

        with guarded(self.path):
            return recalling.recalled(
                self._connection,
                query,
                agent_id=agent_id,
                scopes=scopes,
                kinds=kinds,
                sessions=sessions,
                entries=entries,
                until=until,
            )

    def shelve(self, found: "Iterable[Shelves]") -> None:
        """Makes the rows of books those that their files make, in a transaction of its own, each with all its shelves.

        Nobody else writes rows while `found` is asked for the next: who reads the files there reads the newest."""
        from lineage.index import books  # noqa: PLC0415

        with self._writing() as connection:
            connection.execute("begin immediate")
            for book in found:
                books.keep_up(connection, book)

    def books(self) -> "Iterator[Known]":
        from lineage.index.base import Known  # noqa: PLC0415

        return (Known(*row) for row in self._read("select path, stamp, sha256 from books order by path", ()))

    def books_of(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        from lineage.index import books  # noqa: PLC0415

        with guarded(self.path):
            return list(books.naming_any(self._connection, tokens))

    def entries(self, scope: str, kind: str) -> "list[EntryRow]":
        from lineage.index import books  # noqa: PLC0415

        with guarded(self.path):
            return list(books.rows_of(self._connection, scope, kind))

    @contextmanager
    def traced(self, take: Callable[[str], object]) -> Iterator[None]:
        """Gives `take` each statement that this index runs within the block; what SQLite runs inside of one is none."""
        self._connection.set_trace_callback(lambda sql: None if sql.startswith(_NESTED) else take(sql))
        try:
            yield
        finally:
            self._connection.set_trace_callback(None)

    def held(self, tokens: Collection[str]) -> set[str]:
        from lineage.index import sessions  # noqa: PLC0415

        with guarded(self.path):
            return sessions.held(self._connection, tokens)

    def forget(self, token: str) -> int:
        from lineage.index import books  # noqa: PLC0415

        self.queue.forget(token)
        paths = [path for path, _ in self.paths_of(token)]
        self.remove(paths)
        with self._writing() as connection:
            return len(paths) + books.forget(connection, token)

    def scrub(self) -> None:
        """Leaves no copy of what was dropped: not in free pages, full-text segments or the write-ahead log."""
        from lineage.index import aside  # noqa: PLC0415

        with guarded(self.path):
            with self._connection as connection:
                connection.execute("insert into search (search) values ('optimize')")
            vacuumed(self._connection)
            aside.collect(self.path.parent)

    def counts(self) -> dict[str, int]:
        return dict(
            self._read("select source_kind, count(*) from artifacts group by source_kind order by source_kind", ())
        )

    def is_complete(self) -> bool:
        with guarded(self.path):
            self.is_new = not schema.is_complete(self._connection)
        return not self.is_new

    def complete(self) -> None:
        with self._writing() as connection:
            schema.complete(connection)
        self.is_new = False

    def _begin(self) -> sqlite3.Connection:
        try:
            return self._open()
        except DamagedIndex:
            discard(self.path)
            return self._open()

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path)
        ask_the_gate(connection)
        try:
            with guarded(self.path):
                if schema.version_of(connection) == 0:
                    schema.create(connection)
                if schema.version_of(connection) != schema.VERSION:
                    raise DamagedIndex(f"{self.path.name} has the schema of another version")
                self.is_new = not schema.is_complete(connection)
                connection.execute("select 1 from artifacts limit 1").fetchone()
        except LineageError:
            connection.close()
            raise
        return connection

    @contextmanager
    def reading(self) -> "Iterator[Texts]":
        """What has vectors; see `likeness`."""
        from lineage.index.likeness import Texts  # noqa: PLC0415

        with guarded(self.path):
            yield Texts(self._connection)

    def vectors(self, file: Path, *, may_begin: bool) -> "Vectors":
        """The vectors of its passages."""
        from lineage.index.vectorfile import VectorFile  # noqa: PLC0415

        del may_begin  # a file needs nobody's leave
        self._vectors = self._vectors or VectorFile(file)
        return self._vectors

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with guarded(self.path), self._connection:
            yield self._connection

    def _read(self, sql: str, values: Sequence[object]) -> Iterator[Any]:
        """The rows, fetched under guard: damage may show at any of them."""
        asked = [cleaned(value) if isinstance(value, str) else value for value in values]
        with guarded(self.path):
            yield from self._connection.execute(sql, asked)

    def _guarded(self, found: Iterator[T]) -> Iterator[T]:
        with guarded(self.path):
            yield from found

    def _count(self, sql: str, values: Sequence[object]) -> int:
        return int(next(self._read(sql, values))[0])
