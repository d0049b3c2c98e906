"""`.lineage/vectors.db`: the vectors of this machine in a file of their own. (index/vectors.py).

Everything but `find_nearest` needs SQLite alone, so a removal deletes vectors on any machine. (format: Removal)
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lineage.database.sqlite import connect, delete_database, translate_errors, vacuum
from lineage.errors import DatabaseDamaged, LineageError
from lineage.index.vectors import Neighbor, PassageVector, Vectors, VectorsLost, VectorSource

_TABLES = (
    "create table if not exists model (name text not null, dimension integer not null)",
    "create table if not exists sources (path text primary key, version text not null) without rowid",
    "create table if not exists passages (path text, place integer, hash blob not null, vector blob not null,"
    " primary key (path, place)) without rowid",
    "create index if not exists passages_hash on passages (hash)",
)
_NEAREST = """
    select path, place, hash, vec_distance_cosine(vec_int8(vector), vec_int8(?)) as distance
    from passages order by distance, path, place limit ?
"""
_EXTENSION, _LIBRARY = "sqlite_vec", "pysqlite3"


def _can_load_extensions() -> bool:
    # Some builds of Python, as of macOS, leave this out; pysqlite3 has it.
    return hasattr(sqlite3.Connection, "enable_load_extension")


def _select_sqlite_module() -> Any:
    """Return the one library for this process to open the file with."""
    if not _can_load_extensions() and find_spec(_LIBRARY) is not None:
        return import_module(f"{_LIBRARY}.dbapi2")
    return sqlite3


class VectorFile(Vectors):
    """A file of SQLite. No other machine has it, so its lock of embedding is always free."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sqlite_module = _select_sqlite_module()
        self._connection: sqlite3.Connection | None = None
        self._has_extension = False

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection, self._has_extension = None, False

    @property
    def exists(self) -> bool:
        return self.path.exists()

    @property
    def location(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    def find_missing_modules(self) -> list[str]:
        """Return the modules that are not installed: sqlite-vec, and pysqlite3 if Python can't load extensions."""
        needed = [_EXTENSION] if _can_load_extensions() else [_EXTENSION, _LIBRARY]
        return [name for name in needed if find_spec(name) is None]

    def read_model_info(self) -> tuple[str, int] | None:
        rows = self._query("select name, dimension from model")
        return rows[0] if rows else None

    def count_passages(self) -> int:
        return sum(row[0] for row in self._query("select count(*) from passages"))

    def load_source_versions(self) -> dict[str, str]:
        if not self.exists:
            return {}
        # The write lock waits for a `store` in progress.
        with self._transaction() as connection:
            incomplete = {path: "" for (path,) in connection.execute("select distinct path from passages")}
            return incomplete | dict(connection.execute("select path, version from sources"))

    def find_incomplete(self, sources: Iterable[VectorSource]) -> set[VectorSource]:
        wanted = set(sources)
        sql = "select path, version from sources where path in (select value from json_each(?))"
        found = self._query(sql, (json.dumps(sorted({source.path for source in wanted})),))
        return wanted.difference(VectorSource(*row) for row in found)

    def load_passage_hashes(self, path: str) -> dict[int, bytes]:
        return dict(self._query("select place, hash from passages where path = ?", (path,)))

    def find_by_hash(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        sql = "select hash, vector from passages where hash = ? limit 1"
        return dict(row for digest in hashes for row in self._query(sql, (digest,)))

    def store(
        self,
        model: str,
        passages: Sequence[PassageVector],
        complete_sources: Iterable[VectorSource],
        is_current: Callable[[VectorSource], bool],
    ) -> int:
        with self._transaction() as connection:
            if passages:
                self._set_model(connection, model, len(passages[0].vector))
            current = {s: is_current(s) for s in {*complete_sources, *(passage.source for passage in passages)}}
            rows = [(p.source.path, p.place, p.hash, p.vector) for p in passages if current[p.source]]
            connection.executemany("insert or replace into passages values (?, ?, ?, ?)", rows)
            complete = [source for source in complete_sources if current[source]]
            connection.executemany("insert or replace into sources values (?, ?)", complete)
        return len(rows)

    def prune(self, wanted_hashes: Mapping[str, frozenset[bytes] | None]) -> int:
        if not (wanted_hashes and self.exists):
            return 0
        count = 0
        with self._transaction() as connection:
            for path, wanted in wanted_hashes.items():
                rows = connection.execute("select place, hash from passages where path = ?", (path,)).fetchall()
                deleted = [(path, place) for place, digest in rows if wanted is None or digest not in wanted]
                connection.executemany("delete from passages where path = ? and place = ?", deleted)
                connection.execute("delete from sources where path = ?", (path,))
                count += len(deleted)
        return count

    def find_nearest(self, vector: bytes, limit: int) -> Iterator[Neighbor]:
        """Yield the passages nearest to a vector, nearest first. Every vector is compared."""
        if not self.exists:
            return
        with self._guarded_connection() as connection:
            if not self._has_extension:
                # Open for this one extension only.
                connection.enable_load_extension(True)
                connection.load_extension(import_module(_EXTENSION).loadable_path())
                connection.enable_load_extension(False)
                self._has_extension = True
            for row in connection.execute(_NEAREST, (vector, limit)):
                yield Neighbor(*row)

    def scrub(self) -> None:
        """Leave no copy of deleted vectors in free pages or the write-ahead log."""
        if self.exists:
            with self._guarded_connection() as connection:
                vacuum(connection)

    def _set_model(self, connection: sqlite3.Connection, model: str, dimension: int) -> None:
        if connection.execute("select name, dimension from model").fetchone() != (model, dimension):
            for table in ("passages", "sources", "model"):
                connection.execute(f"delete from {table}")
            connection.execute("insert into model values (?, ?)", (model, dimension))

    def _query(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return all rows of a query, none without a file."""
        if not self.exists:
            return []
        with self._guarded_connection() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._guarded_connection() as connection, connection:
            connection.execute("begin immediate")
            yield connection

    @contextmanager
    def _guarded_connection(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection. Delete a file that turns out to be damaged and raise VectorsLost."""
        try:
            with translate_errors(self.path, self._sqlite_module):
                self._connection = self._connection or self._open()
                yield self._connection
        except DatabaseDamaged as damage:
            self.close()
            delete_database(self.path)
            raise VectorsLost(damage.message) from damage

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path, self._sqlite_module)
        try:
            with translate_errors(self.path, self._sqlite_module):
                for statement in _TABLES:
                    connection.execute(statement)
        except LineageError:
            connection.close()
            raise
        return connection
