"""Every engine of the index, opened for a test. A path names one in either: the file, or a schema of the server."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.app import locations
from lineage.app.databases import derive_schema as workspace_schema
from lineage.app.databases import read_index_address
from lineage.database import sqlite
from lineage.database.postgres import Postgres
from lineage.index import Index, SqliteIndex
from lineage.index.postgres import PostgresIndex, schema
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import Vectors
from lineage.telemetry import Telemetry
from lineage.telemetry.postgres import PostgresTelemetry
from tests.support import engines

SQLITE, POSTGRES = "sqlite", "postgres"
PLACES = ("file", "pgvector")
"""Where vectors lie."""
INDEX, RUNTIME = "index", "runtime"
NUMBER = "{number}"
"""In a statement for `asked`: the number of a row of full text."""


def open_index(engine: str, path: Path) -> Index:
    """The index of a path; whoever opens it again finds what was written."""
    return OPENERS[engine](path)


def open_emptied_index(engine: str, path: Path) -> Index:
    """An index with nothing in it, for an example of a law: a new file, or a schema of the server that is made once."""
    if engine == SQLITE:
        return open_index(engine, path)
    index = PostgresIndex(engines.start_postgres().url, f"law_{path.stem}")
    emptied = [f"delete from {table}" for table in schema.TABLES]
    index.database.execute(
        "; ".join([*emptied, "drop index if exists search_terms", "update state set is_complete = false"])
    )
    return index


def open_without_waiting(engine: str, path: Path) -> Index:
    """The same index, for somebody who waits for nobody."""
    with patch.object(sqlite, "_TIMEOUT_SECONDS", 0.01):
        index = open_index(engine, path)
    if isinstance(index, PostgresIndex):
        index.database.execute("set lock_timeout = '10ms'")
    return index


@contextmanager
def open_vectors(place: str, folder: Path) -> Iterator[Vectors]:
    """The vectors of a folder; whoever opens them again finds what was stored. They lie beside rows that are whole."""
    file = folder / "vectors.db"
    if place == "file":
        with closing(VectorFile(file)) as vectors:
            yield vectors
        return
    with closing(PostgresIndex(engines.start_pgvector().url, derive_schema(folder))) as index:
        index.mark_complete()
        yield index.open_vectors(file, may_create=True)


@contextmanager
def open_emptied_vectors(place: str, folder: Path) -> Iterator[Vectors]:
    """Vectors that nobody stored yet, for an example of a law. The rows that they lie beside are made once."""
    if place == "file":
        with open_vectors(place, folder) as vectors:
            yield vectors
        return
    with closing(PostgresIndex(engines.start_pgvector().url, "law")) as index:
        index.mark_complete()
        index.database.execute("drop schema if exists law_vectors cascade")
        vectors = index.open_vectors(folder / "vectors.db", may_create=True)
        assert not vectors.exists
        yield vectors


def query_rows(database: Any, statement: str) -> list[dict[str, Any]]:
    """The rows of a statement that either engine understands, of an index or of telemetry, by their columns."""
    if isinstance(database, PostgresIndex | PostgresTelemetry):
        connection = database.database._get_connection()
        cursor = connection.execute(statement.replace(NUMBER, "id"))
        return [dict(zip((c.name for c in cursor.description or ()), row, strict=True)) for row in cursor]
    if isinstance(database, Telemetry):
        database.read_counters()  # opens it
    with closing(sqlite3.connect(database.path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(statement.replace(NUMBER, "rowid"))]


def execute_directly(database: Any, statement: str) -> None:
    """Runs a statement behind the back of an index, or of telemetry."""
    if isinstance(database, PostgresIndex | PostgresTelemetry):
        database.database.execute(statement)
        return
    with closing(sqlite3.connect(database.path)) as connection, connection:
        connection.execute(statement)


def read_tables(database: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Every table of it with all its rows."""
    listed = "select name from sqlite_master where type = 'table' order by name"
    if isinstance(database, PostgresIndex | PostgresTelemetry):
        listed = "select tablename as name from pg_tables where schemaname = current_schema() order by tablename"
    names = [row["name"] for row in query_rows(database, listed)]
    return {name: [tuple(row.values()) for row in query_rows(database, f"select * from {name}")] for name in names}


def delete_database(root: Path, what: str = INDEX) -> None:
    """Loses the index of a workspace, or its runtime state, while nobody uses it."""
    for file in (root / ".lineage").glob(f"{what}.db*"):
        file.unlink()
    for database in _open_server_schema(root, what):
        database.execute(f'drop schema if exists "{database.schema}" cascade')


def damage_index(root: Path) -> None:
    """Damages the index of a workspace so that it can't be used."""
    if not read_index_address():
        (root / ".lineage" / "index.db").write_bytes(b"this is no database" * 100)
    for database in _open_server_schema(root, INDEX):
        database.execute(f'drop table "{database.schema}".state')


def _open_server_schema(root: Path, what: str) -> Iterator[Postgres]:
    """Who may do anything to a workspace's schema, where it has one."""
    if read_index_address():
        schema = workspace_schema(root, locations.open_private_store(root)) + ("_runtime" if what == RUNTIME else "")
        with closing(Postgres(read_index_address(), schema, lambda _: None)) as database:
            yield database


def derive_schema(path: Path) -> str:
    return f"test_{hashlib.sha256(str(path).encode()).hexdigest()[:24]}"


OPENERS: dict[str, Callable[[Path], Index]] = {
    SQLITE: SqliteIndex,
    POSTGRES: lambda path: PostgresIndex(engines.start_postgres().url, derive_schema(path)),
}
