"""`.lineage/vectors.db`: a vector for each passage and entry that search may show, in a file of its own.

Disposable as the index is, and dearer to make again: the index may begin anew without it. Everything but `nearest`
needs SQLite alone, so that what is removed goes whatever is installed. (format: Removal)
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lineage.errors import DamagedIndex, LineageError
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


class LostVectors(LineageError):
    """The vectors could not be read, and were begun anew."""

    default_hint = "run `lineage reindex --embed`: they are made again"


class Source(NamedTuple):
    """A file whose passages have vectors. `version` changes with what they say."""

    path: str
    version: str


class Placed(NamedTuple):
    """The vector of a passage: its file, its place there, the hash of its text. (core/quantizing.py)"""

    source: Source
    place: int
    hash: bytes
    vector: bytes


class Near(NamedTuple):
    """A passage and how far from what was asked it is: 0 the same direction, 1 nothing in common."""

    path: str
    place: int
    hash: bytes
    distance: float


def missing() -> list[str]:
    """The modules that `nearest` needs and that aren't installed. Some builds of Python can't load SQLite's extensions;
    there another library does."""
    needed = [_EXTENSION] if _loads_extensions() else [_EXTENSION, _LIBRARY]
    return [name for name in needed if find_spec(name) is None]


def _loads_extensions() -> bool:
    return hasattr(sqlite3.Connection, "enable_load_extension")


def _library() -> Any:
    """The one library that this process opens the file with."""
    other = not _loads_extensions() and find_spec(_LIBRARY) is not None
    return import_module(f"{_LIBRARY}.dbapi2") if other else sqlite3


class Vectors:
    """The vectors of one workspace, all of one model. The file is made with the first of them.

    Each method raises LostVectors where the file can't be read, having begun it anew, and WorkspaceError.
    """

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

    def model(self) -> tuple[str, int] | None:
        """The model's name and the length of its vectors; None while there are none."""
        if not self.is_there:
            return None
        with self._using() as connection:
            found = connection.execute("select name, dimension from model").fetchone()
        return tuple(found) if found else None

    def count(self) -> int:
        """How many passages have their vector."""
        if not self.is_there:
            return 0
        with self._using() as connection:
            return int(connection.execute("select count(*) from passages").fetchone()[0])

    def sources(self) -> dict[str, str]:
        """The version of each file, "" where not all of its passages have their vectors yet."""
        if not self.is_there:
            return {}
        with self._using() as connection:
            begun = {path: "" for (path,) in connection.execute("select distinct path from passages")}
            return begun | dict(connection.execute("select path, version from sources"))

    def places(self, path: str) -> dict[int, bytes]:
        """The places in a file that have vectors, each with the hash of its text."""
        if not self.is_there:
            return {}
        with self._using() as connection:
            return dict(connection.execute("select place, hash from passages where path = ?", (path,)))

    def same(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors of texts that have one already, wherever they are."""
        if not self.is_there:
            return {}
        sql = "select vector from passages where hash = ? limit 1"
        with self._using() as connection:
            found = ((one, connection.execute(sql, (one,)).fetchone()) for one in hashes)
            return {one: row[0] for one, row in found if row}

    def store(
        self, model: str, placed: Sequence[Placed], settled: Iterable[Source], is_current: Callable[[Source], bool]
    ) -> int:
        """Keeps vectors of a model, and notes the files that have all of theirs; how many were kept. What is of another
        model, or of another length, goes before. What was removed or changed meanwhile is left out: `is_current` is
        asked while nobody else writes."""
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
        """Drops the vectors of files whose texts, by their hashes, aren't wanted any more; of those with None all. How
        many went. The bytes are gone after `scrub`."""
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
        """The passages nearest to a vector of the model's length, nearest first, at most so many."""
        with self._using() as connection:
            self._extend(connection)
            for row in connection.execute(_NEAREST, (vector, most)):
                yield Near(*row)

    def scrub(self) -> None:
        """Leaves no copy of what was dropped: not in free pages, not in the write-ahead log."""
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
