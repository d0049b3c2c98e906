"""SQLite files of this machine: how they are opened, and which failures are damage and which are the world's.

Never `open()` such a file directly: closing it drops SQLite's locks.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lineage.errors import DatabaseDamaged, WorkspaceError
from lineage.store.platform import make_directories

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SIDECARS = ("", "-wal", "-shm")
_TIMEOUT_SECONDS = 30.0
_POLL_SECONDS = 0.01


def connect(path: Path, library: Any = sqlite3) -> sqlite3.Connection:
    """A connection in WAL mode, its folder made where it is missing (0700). Raises what `guarded` raises.

    `library` is a module with sqlite3's interface. Two of them must not open one file in a process: each drops the
    other's locks."""
    _refuse_links(path)
    with translate_errors(path, library):
        make_directories(path.parent, 0o700)
        connection: sqlite3.Connection = library.connect(path, timeout=_TIMEOUT_SECONDS)
        try:
            _use_wal(connection, library)
            connection.execute("pragma synchronous = normal")
            connection.execute("pragma secure_delete = on")
        except library.Error:
            connection.close()
            raise
    return connection


def _refuse_links(path: Path) -> None:
    """SQLite would follow a link and write where it leads to; so would whatever else lies in the folder."""
    for place in (path, path.parent):
        if os.path.islink(place):  # noqa: PTH114  (False where it cannot be told: the opening says why)
            raise WorkspaceError(f"{place} is a symbolic link", hint="remove it: it is made anew from the files")


def _use_wal(connection: sqlite3.Connection, library: Any) -> None:
    """Switches to WAL mode. SQLite does not wait here by itself where several processes begin a database at once."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except library.OperationalError as error:
            if _error_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_SECONDS)


@contextmanager
def translate_errors(path: Path, library: Any = sqlite3) -> Iterator[None]:
    """Raises DamagedIndex where the file is no database any more, WorkspaceError for a full disk, a missing permission
    or a lock that was not released in time."""
    try:
        yield
    except library.Error as error:
        if _error_code(error) in _DAMAGE:
            raise DatabaseDamaged(f"{path.name} cannot be read: {error}") from error
        raise WorkspaceError(f"{path.name}: {error}", hint="check space and permissions, then run it again") from error
    except OSError as error:
        raise WorkspaceError(f"{path}: {error.strerror or error}") from error


def _error_code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def vacuum(connection: sqlite3.Connection) -> None:
    """Rewrites a database without its free pages and empties its write-ahead log."""
    connection.execute("vacuum")
    connection.execute("pragma wal_checkpoint(truncate)")


def delete_database(path: Path) -> None:
    """Removes a database that can be made again."""
    with translate_errors(path):
        for suffix in _SIDECARS:
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def quarantine(path: Path) -> Path:
    """Moves a damaged database out of the way, keeping it for whoever wants to look. Returns where it is now."""
    aside = path.with_name(path.name + ".damaged")
    with translate_errors(path):
        path.replace(aside)
        for suffix in _SIDECARS[1:]:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside
