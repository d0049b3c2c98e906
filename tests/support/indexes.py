"""Every engine of the index, opened for a test. A path names one in either: the file, or a schema of the server."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.app import places
from lineage.app.indexing import index_address
from lineage.app.indexing import schema_of as workspace_schema
from lineage.index import Index, SqliteIndex
from lineage.index.postgres import PostgresIndex
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import Vectors
from lineage.store import databases
from lineage.store.postgres import Postgres
from lineage.telemetry import Telemetry
from lineage.telemetry.postgres import PostgresTelemetry
from tests.support import engines

SQLITE, POSTGRES = "sqlite", "postgres"
PLACES = ("file", "pgvector")
"""Where vectors lie."""
INDEX, RUNTIME = "index", "runtime"
NUMBER = "{number}"
"""In a statement for `asked`: the number of a row of full text."""


def opened(engine: str, path: Path) -> Index:
    """The index of a path; whoever opens it again finds what was written."""
    return OPENERS[engine](path)


def impatient(engine: str, path: Path) -> Index:
    """The same index, for somebody who waits for nobody."""
    with patch.object(databases, "_TIMEOUT_SECONDS", 0.01):
        index = opened(engine, path)
    if isinstance(index, PostgresIndex):
        index.database.rows("set lock_timeout = '10ms'")
    return index


@contextmanager
def vectors_at(place: str, folder: Path) -> Iterator[Vectors]:
    """The vectors of a folder; whoever opens them again finds what was stored. They lie beside rows that are whole."""
    file = folder / "vectors.db"
    if place == "file":
        with closing(VectorFile(file)) as vectors:
            yield vectors
        return
    with closing(PostgresIndex(engines.pgvector().url, schema_of(folder))) as index:
        index.complete()
        yield index.vectors(file, may_begin=True)


def asked(database: Any, statement: str) -> list[dict[str, Any]]:
    """The rows of a statement that either engine understands, of an index or of telemetry, by their columns."""
    if isinstance(database, PostgresIndex | PostgresTelemetry):
        connection = database.database._connected()
        cursor = connection.execute(statement.replace(NUMBER, "id"))
        return [dict(zip((c.name for c in cursor.description or ()), row, strict=True)) for row in cursor]
    if isinstance(database, Telemetry):
        database.counters()  # opens it
    with closing(sqlite3.connect(database.path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(statement.replace(NUMBER, "rowid"))]


def changed(database: Any, statement: str) -> None:
    """Runs a statement behind the back of an index, or of telemetry."""
    if isinstance(database, PostgresIndex | PostgresTelemetry):
        database.database.rows(statement)
        return
    with closing(sqlite3.connect(database.path)) as connection, connection:
        connection.execute(statement)


def tables(database: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Every table of it with all its rows."""
    listed = "select name from sqlite_master where type = 'table' order by name"
    if isinstance(database, PostgresIndex | PostgresTelemetry):
        listed = "select tablename as name from pg_tables where schemaname = current_schema() order by tablename"
    names = [row["name"] for row in asked(database, listed)]
    return {name: [tuple(row.values()) for row in asked(database, f"select * from {name}")] for name in names}


def lose(root: Path, what: str = INDEX) -> None:
    """Loses the index of a workspace, or its runtime state, while nobody uses it."""
    for file in (root / ".lineage").glob(f"{what}.db*"):
        file.unlink()
    for database in _on_the_server(root, what):
        database.rows(f'drop schema if exists "{database.schema}" cascade')


def spoil(root: Path) -> None:
    """Damages the index of a workspace so that it can't be used."""
    if not index_address():
        (root / ".lineage" / "index.db").write_bytes(b"this is no database" * 100)
    for database in _on_the_server(root, INDEX):
        database.rows(f'drop table "{database.schema}".state')


def _on_the_server(root: Path, what: str) -> Iterator[Postgres]:
    """Who may do anything to a workspace's schema, where it has one."""
    if index_address():
        schema = workspace_schema(root, places.private_at(root)) + ("_runtime" if what == RUNTIME else "")
        with closing(Postgres(index_address(), schema, lambda _: None)) as database:
            yield database


def schema_of(path: Path) -> str:
    return f"test_{hashlib.sha256(str(path).encode()).hexdigest()[:24]}"


OPENERS: dict[str, Callable[[Path], Index]] = {
    SQLITE: SqliteIndex,
    POSTGRES: lambda path: PostgresIndex(engines.postgres().url, schema_of(path)),
}
