"""`.lineage/vectors.db`: the vectors of this machine in a file of their own. (index/vectors.py)

Everything but `nearest` needs SQLite alone, so that what is removed goes whatever is installed. (format: Removal)
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lineage.database.sqlite import connect, delete_database, translate_errors, vacuum
from lineage.errors import DatabaseDamaged, LineageError
from lineage.index.vectors import Neighbor, PassageVector, VectorsLost, VectorSource

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
    return hasattr(sqlite3.Connection, "enable_load_extension")


def _select_sqlite_module() -> Any:
    """The one library that this process opens the file with."""
    other = not _can_load_extensions() and find_spec(_LIBRARY) is not None
    return import_module(f"{_LIBRARY}.dbapi2") if other else sqlite3


class VectorFile:
    """See `index.vectors.Vectors`: one file of SQLite."""

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
        """Some builds of Python can't load SQLite's extensions; there another library does."""
        needed = [_EXTENSION] if _can_load_extensions() else [_EXTENSION, _LIBRARY]
        return [name for name in needed if find_spec(name) is None]

    def embedding_lock(self) -> AbstractContextManager[None]:
        """A file is one machine's."""
        return nullcontext()

    def read_model_info(self) -> tuple[str, int] | None:
        if not self.exists:
            return None
        with self._guarded_connection() as connection:
            found = connection.execute("select name, dimension from model").fetchone()
        return tuple(found) if found else None

    def count_passages(self) -> int:
        if not self.exists:
            return 0
        with self._guarded_connection() as connection:
            return int(connection.execute("select count(*) from passages").fetchone()[0])

    def load_source_versions(self) -> dict[str, str]:
        if not self.exists:
            return {}
        with self._transaction() as connection:
            begun = {path: "" for (path,) in connection.execute("select distinct path from passages")}
            return begun | dict(connection.execute("select path, version from sources"))

    def load_passage_hashes(self, path: str) -> dict[int, bytes]:
        if not self.exists:
            return {}
        with self._guarded_connection() as connection:
            return dict(connection.execute("select place, hash from passages where path = ?", (path,)))

    def find_by_hash(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        if not self.exists:
            return {}
        sql = "select vector from passages where hash = ? limit 1"
        with self._guarded_connection() as connection:
            found = ((one, connection.execute(sql, (one,)).fetchone()) for one in hashes)
            return {one: row[0] for one, row in found if row}

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
            ask = {source: is_current(source) for source in {*complete_sources, *(one.source for one in passages)}}
            kept = [(one.source.path, one.place, one.hash, one.vector) for one in passages if ask[one.source]]
            connection.executemany("insert or replace into passages values (?, ?, ?, ?)", kept)
            done = [source for source in complete_sources if ask[source]]
            connection.executemany("insert or replace into sources values (?, ?)", done)
        return len(kept)

    def prune(self, wanted_hashes: Mapping[str, frozenset[bytes] | None]) -> int:
        if not (wanted_hashes and self.exists):
            return 0
        dropped = 0
        with self._transaction() as connection:
            for path, hashes in wanted_hashes.items():
                rows = connection.execute("select place, hash from passages where path = ?", (path,)).fetchall()
                gone = [(path, place) for place, one in rows if hashes is None or one not in hashes]
                connection.executemany("delete from passages where path = ? and place = ?", gone)
                connection.execute("delete from sources where path = ?", (path,))
                dropped += len(gone)
        return dropped

    def find_nearest(self, vector: bytes, limit: int) -> Iterator[Neighbor]:
        if not self.exists:
            return
        with self._guarded_connection() as connection:
            self._load_extension(connection)
            for row in connection.execute(_NEAREST, (vector, limit)):
                yield Neighbor(*row)

    def scrub(self) -> None:
        """No copy is left: not in free pages, not in the write-ahead log."""
        if self.exists:
            with self._guarded_connection() as connection:
                vacuum(connection)

    def _set_model(self, connection: sqlite3.Connection, model: str, dimension: int) -> None:
        if connection.execute("select name, dimension from model").fetchone() != (model, dimension):
            for table in ("passages", "sources", "model"):
                connection.execute(f"delete from {table}")
            connection.execute("insert into model values (?, ?)", (model, dimension))

    def _load_extension(self, connection: sqlite3.Connection) -> None:
        if not self._has_extension:
            connection.enable_load_extension(True)
            connection.load_extension(import_module(_EXTENSION).loadable_path())
            connection.enable_load_extension(False)
            self._has_extension = True

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._guarded_connection() as connection, connection:
            connection.execute("begin immediate")
            yield connection

    @contextmanager
    def _guarded_connection(self) -> Iterator[sqlite3.Connection]:
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
