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

from lineage.errors import DamagedIndex, LineageError
from lineage.index.vectors import LostVectors, Near, Placed, Source
from lineage.store.databases import connect, discard, guarded, vacuumed

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


def _loads_extensions() -> bool:
    return hasattr(sqlite3.Connection, "enable_load_extension")


def _library() -> Any:
    """The one library that this process opens the file with."""
    other = not _loads_extensions() and find_spec(_LIBRARY) is not None
    return import_module(f"{_LIBRARY}.dbapi2") if other else sqlite3


class VectorFile:
    """See `index.vectors.Vectors`: one file of SQLite."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = _library()
        self._connection: sqlite3.Connection | None = None
        self._is_extended = False

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection, self._is_extended = None, False

    @property
    def is_there(self) -> bool:
        return self.path.exists()

    @property
    def where(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    def missing(self) -> list[str]:
        """Some builds of Python can't load SQLite's extensions; there another library does."""
        needed = [_EXTENSION] if _loads_extensions() else [_EXTENSION, _LIBRARY]
        return [name for name in needed if find_spec(name) is None]

    def embedding(self) -> AbstractContextManager[None]:
        """A file is one machine's."""
        return nullcontext()

    def model(self) -> tuple[str, int] | None:
        if not self.is_there:
            return None
        with self._using() as connection:
            found = connection.execute("select name, dimension from model").fetchone()
        return tuple(found) if found else None

    def count(self) -> int:
        if not self.is_there:
            return 0
        with self._using() as connection:
            return int(connection.execute("select count(*) from passages").fetchone()[0])

    def sources(self) -> dict[str, str]:
        if not self.is_there:
            return {}
        with self._writing() as connection:
            begun = {path: "" for (path,) in connection.execute("select distinct path from passages")}
            return begun | dict(connection.execute("select path, version from sources"))

    def places(self, path: str) -> dict[int, bytes]:
        if not self.is_there:
            return {}
        with self._using() as connection:
            return dict(connection.execute("select place, hash from passages where path = ?", (path,)))

    def same(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        if not self.is_there:
            return {}
        sql = "select vector from passages where hash = ? limit 1"
        with self._using() as connection:
            found = ((one, connection.execute(sql, (one,)).fetchone()) for one in hashes)
            return {one: row[0] for one, row in found if row}

    def store(
        self, model: str, placed: Sequence[Placed], settled: Iterable[Source], is_current: Callable[[Source], bool]
    ) -> int:
        with self._writing() as connection:
            if placed:
                self._become(connection, model, len(placed[0].vector))
            ask = {source: is_current(source) for source in {*settled, *(one.source for one in placed)}}
            kept = [(one.source.path, one.place, one.hash, one.vector) for one in placed if ask[one.source]]
            connection.executemany("insert or replace into passages values (?, ?, ?, ?)", kept)
            done = [source for source in settled if ask[source]]
            connection.executemany("insert or replace into sources values (?, ?)", done)
        return len(kept)

    def keep(self, wanted: Mapping[str, frozenset[bytes] | None]) -> int:
        if not (wanted and self.is_there):
            return 0
        dropped = 0
        with self._writing() as connection:
            for path, hashes in wanted.items():
                rows = connection.execute("select place, hash from passages where path = ?", (path,)).fetchall()
                gone = [(path, place) for place, one in rows if hashes is None or one not in hashes]
                connection.executemany("delete from passages where path = ? and place = ?", gone)
                connection.execute("delete from sources where path = ?", (path,))
                dropped += len(gone)
        return dropped

    def nearest(self, vector: bytes, most: int) -> Iterator[Near]:
        if not self.is_there:
            return
        with self._using() as connection:
            self._extend(connection)
            for row in connection.execute(_NEAREST, (vector, most)):
                yield Near(*row)

    def scrub(self) -> None:
        """No copy is left: not in free pages, not in the write-ahead log."""
        if self.is_there:
            with self._using() as connection:
                vacuumed(connection)

    def _become(self, connection: sqlite3.Connection, model: str, dimension: int) -> None:
        if connection.execute("select name, dimension from model").fetchone() != (model, dimension):
            for table in ("passages", "sources", "model"):
                connection.execute(f"delete from {table}")
            connection.execute("insert into model values (?, ?)", (model, dimension))

    def _extend(self, connection: sqlite3.Connection) -> None:
        if not self._is_extended:
            connection.enable_load_extension(True)
            connection.load_extension(import_module(_EXTENSION).loadable_path())
            connection.enable_load_extension(False)
            self._is_extended = True

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._using() as connection, connection:
            connection.execute("begin immediate")
            yield connection

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        try:
            with guarded(self.path, self._library):
                self._connection = self._connection or self._open()
                yield self._connection
        except DamagedIndex as damage:
            self.close()
            discard(self.path)
            raise LostVectors(damage.message) from damage

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path, self._library)
        try:
            with guarded(self.path, self._library):
                for statement in _TABLES:
                    connection.execute(statement)
        except LineageError:
            connection.close()
            raise
        return connection
