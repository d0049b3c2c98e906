"""Every engine of the index, opened for a test. A path names one in either: the file, or a schema of the server."""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.index import Index, SqliteIndex
from lineage.index.postgres import PostgresIndex
from lineage.store import databases
from lineage.telemetry.postgres import PostgresTelemetry
from tests.support import engines

SQLITE, POSTGRES = "sqlite", "postgres"
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


def asked(database: Any, statement: str) -> list[dict[str, Any]]:
    """The rows of a statement that either engine understands, of an index or of telemetry, by their columns."""
    if isinstance(database, PostgresIndex | PostgresTelemetry):
        connection = database.database._connected()
        cursor = connection.execute(statement.replace(NUMBER, "id"))
        return [dict(zip((c.name for c in cursor.description or ()), row, strict=True)) for row in cursor]
    with closing(sqlite3.connect(database.path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(statement.replace(NUMBER, "rowid"))]


def schema_of(path: Path) -> str:
    return f"test_{hashlib.sha256(str(path).encode()).hexdigest()[:24]}"


OPENERS: dict[str, Callable[[Path], Index]] = {
    SQLITE: SqliteIndex,
    POSTGRES: lambda path: PostgresIndex(engines.postgres().url, schema_of(path)),
}
