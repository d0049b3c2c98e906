"""SQLite files of this machine: how they are opened, maintained and deleted, and the failures that are damage.

Never `open()` such a file directly: closing it drops SQLite's locks.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage.errors import DatabaseDamaged, DiskFull, WorkspaceError, describe_os_error
from lineage.store.platform import make_directories, make_private_file

if TYPE_CHECKING:  # see `as_database`
    from sqlite_utils import Database

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SIDECARS = ("", "-wal", "-shm")
_TIMEOUT_SECONDS = 30.0
_POLL_SECONDS = 0.01


def connect(path: Path, library: Any = sqlite3) -> sqlite3.Connection:
    """Return a connection in WAL mode. Create a missing folder with mode 0700, a missing file with 0600.

    `library` is a module with the interface of sqlite3. Two such libraries must not open one file in a process: each
    drops the other's locks. Raises the errors of `translate_errors`, and WorkspaceError for a symbolic link.
    """
    # SQLite follows a link and writes to its target.
    for place in (path, path.parent):
        if os.path.islink(place):  # noqa: PTH114  (False where it cannot be told: the opening says why)
            raise WorkspaceError(f"{place} is a symbolic link", hint="remove it: it is made anew from the files")
    with translate_errors(path, library):
        make_directories(path.parent, 0o700)
        make_private_file(path)  # SQLite's own would be as wide as the umask; its other files take after this one
        connection: sqlite3.Connection = library.connect(path, timeout=_TIMEOUT_SECONDS)
        try:
            _use_wal(connection, library)
            # A power cut may cost the last commits, but in WAL mode it never damages the file.
            connection.execute("pragma synchronous = normal")
            # Deleted text is overwritten at once.
            connection.execute("pragma secure_delete = on")
            # SQLite's own knows the letters of ASCII alone.
            connection.create_function("lower", 1, _fold_case, deterministic=True)
        except library.Error:
            connection.close()
            raise
    return connection


def _fold_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _use_wal(connection: sqlite3.Connection, library: Any) -> None:
    # SQLite's own timeout does not cover this pragma while several processes create one database.
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except library.OperationalError as error:
            if _error_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_SECONDS)


def as_database(connection: sqlite3.Connection) -> "Database":
    """Return the connection as a sqlite_utils database, for tables, migrations, maintenance and plain queries.

    Captures, searches and the context of a new session read and write through the connection itself.
    """
    # Importing sqlite_utils takes as long as a whole hook: only those who need it pay.
    from sqlite_utils import Database  # noqa: PLC0415

    # Plugins of sqlite_utils are made for its own command line; here they could change what a query returns.
    return Database(connection, recursive_triggers=False, execute_plugins=False)


@contextmanager
def translate_errors(path: Path, library: Any = sqlite3) -> Iterator[None]:
    """Raise the errors of a database as lineage's own.

    DatabaseDamaged: the file is no database any more. DiskFull. WorkspaceError: a missing permission, or a lock that
    was not released in time.
    """
    try:
        yield
    except library.Error as error:
        if _error_code(error) in _DAMAGE:
            raise DatabaseDamaged(f"{path.name} cannot be read: {error}") from error
        if _error_code(error) == sqlite3.SQLITE_FULL or _extended_code(error) == sqlite3.SQLITE_IOERR_SHMSIZE:
            raise DiskFull(f"{path.name}: the disk is full") from error
        raise WorkspaceError(f"{path.name}: {error}", hint="check its permissions, then run it again") from error
    except OSError as error:
        raise describe_os_error(str(path), error) from error


def _error_code(error: Exception) -> int:
    return _extended_code(error) & 0xFF


def _extended_code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR))


def vacuum(connection: sqlite3.Connection) -> None:
    """Rewrite a database without its free pages and empty its write-ahead log."""
    as_database(connection).vacuum()
    # The log still holds the old pages, and what was deleted with them.
    connection.execute("pragma wal_checkpoint(truncate)")


def delete_database(path: Path) -> None:
    """Delete the files of a database that can be rebuilt."""
    with translate_errors(path):
        for suffix in _SIDECARS:
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def quarantine(path: Path) -> Path:
    """Rename a damaged database to `NAME.damaged`, for inspection, and return its new path."""
    damaged = path.with_name(path.name + ".damaged")
    with translate_errors(path):
        path.replace(damaged)
        for suffix in _SIDECARS[1:]:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    return damaged
