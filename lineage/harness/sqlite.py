"""Reading a harness's SQLite database in use: without writing, checkpointing, or leaving a file behind.

Never open such a database with `open()` while others use it: closing it would drop the locks that SQLite holds for this
process. (harnesses.md 4.2)
"""

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from lineage.errors import TranscriptError

Row = dict[str, Any]
Result = TypeVar("Result")
DatabaseReader = Callable[[sqlite3.Connection], Result]

DATABASE_SUFFIXES = (".db", ".sqlite")
_TRIES = 3
_READ_ONLY = "mode=ro"
_HINT = "it is tried again at the next import or sweep; where it is damaged, name an export of the session instead"


def read_database(path: Path, read: DatabaseReader[Result]) -> Result:
    """Return the result of `read` for one consistent state of a database, even during writes. `read` may run twice.

    Raise TranscriptError if the file cannot be read, is damaged, or is no database.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a file")
        if not os.access(path, os.R_OK):
            raise PermissionError("Permission denied")
        if _has_log(path, "-wal") and not _has_log(path, "-shm"):
            return _read_copy(path, read)
        return _read_in_place(path, read)
    except (OSError, ValueError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise TranscriptError(f"cannot read the database {path}: {reason}", hint=_HINT) from error


def fetch_rows(connection: sqlite3.Connection, query: str, *values: Any) -> list[Row]:
    """Return the rows of a query as dictionaries by column."""
    cursor = connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def list_tables(connection: sqlite3.Connection) -> set[str]:
    """Return the names of a database's tables."""
    return {row["name"] for row in fetch_rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def list_known_tables(connection: sqlite3.Connection, *schemas: frozenset[str]) -> set[str]:
    """Return the names of the tables if all those of one schema are there; none of a database without any table.

    Raise ValueError for a database of another schema.
    """
    tables = list_tables(connection)
    if any(tables >= schema for schema in schemas):
        return tables
    if tables:
        known = " or ".join(", ".join(sorted(schema)) for schema in schemas)
        raise ValueError(f"it has another schema, without the tables {known}")
    return set()


def _read_in_place(path: Path, read: DatabaseReader[Result]) -> Result:
    # Without a log nobody writes, and a plain read-only connection would leave a log behind. So tell SQLite that the
    # file is immutable, and accept the result only if that was true. With a log, SQLite's locks protect the reader.
    for _ in range(_TRIES):
        before = _file_state(path)
        if _has_log(path):
            break
        try:
            result = _read_connected(path, f"{_READ_ONLY}&immutable=1", read)
        except sqlite3.Error:
            if _file_state(path) == before:
                raise
            continue
        if _file_state(path) == before:
            return result
    return _read_connected(path, _READ_ONLY, read)


def _file_state(path: Path) -> tuple[object, ...]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, _has_log(path)


def _has_log(path: Path, *suffixes: str) -> bool:
    return any(path.with_name(path.name + suffix).exists() for suffix in suffixes or ("-wal", "-journal"))


def _read_copy(path: Path, read: DatabaseReader[Result]) -> Result:
    # A log without its index comes from a backup or a crash. SQLite would create the index there, so read a copy.
    with tempfile.TemporaryDirectory(prefix="lineage-") as folder:
        copy = Path(folder, "copy.db")
        shutil.copyfile(path, copy)
        shutil.copyfile(path.with_name(path.name + "-wal"), copy.with_name("copy.db-wal"))
        return _read_connected(copy, _READ_ONLY, read)


def _read_connected(path: Path, options: str, read: DatabaseReader[Result]) -> Result:
    uri = f"{path.absolute().as_uri()}?{options}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        # Text that was cut inside a character would raise by default.
        connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
        # One transaction: all queries see the same state.
        connection.execute("BEGIN")
        return read(connection)
