"""Build an index beside the current one, then replace its contents.

The file of the index stays, for other processes may have it open: its pages are replaced under SQLite's own locks. A
process that dies on the way leaves an index marked as unfinished, or an unchanged one, and a folder for the next
process to delete.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from lineage.database.sqlite import connect
from lineage.index import fts_rows, ledger, schema, tool_runs
from lineage.index.rows import COLUMNS, ArtifactRow
from lineage.store.platform import lock_descriptor, make_private_file, try_lock_descriptor

_PREFIX = "rebuild-"
_LOCK_NAME = "held"
_UNFINISHED = -1  # the version of no schema: an index with it is recreated

_AUTOMERGE, _CRISISMERGE = 4, 16  # FTS5's defaults: segments of a level that are merged step by step, and at once
_MAX_SEGMENTS = 2000
_INSERT = f"insert into artifacts (id, {', '.join(COLUMNS)}) values (?{', ?' * len(COLUMNS)})"
_SEGMENTS = "select count(distinct segid) from search_idx"


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Yield a locked folder for a build and delete it afterwards. Leftovers of other builds are deleted first."""
    collect_leftovers(parent)
    while True:
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as name:
            if lock := _lock_folder(Path(name)):
                with lock:
                    yield Path(name)
                return


def _lock_folder(folder: Path) -> BinaryIO | None:
    """Lock a new folder. Return None if another process took it for a leftover before that."""
    path = folder / _LOCK_NAME
    try:
        make_private_file(path)
        lock = path.open("wb")
    except FileNotFoundError:
        return None
    lock_descriptor(lock.fileno())
    if path.exists():
        return lock
    lock.close()
    return None


@contextmanager
def build(path: Path) -> Iterator[Callable[[Sequence[tuple[int, ArtifactRow]]], None]]:
    """Yield the function that writes numbered rows to a new database: that is not durable before it is copied.

    FTS5 merges no segments meanwhile, and later step by step: merging all at once would delay the next writer.
    """
    make_private_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Nobody reads this file before it is complete, so a crash may tear it.
        connection.execute("pragma journal_mode = off")
        connection.execute("pragma synchronous = off")
        schema.create_tables(connection)
        _configure_merges(connection, 0, _MAX_SEGMENTS)
        connection.execute("begin")
        yield partial(_write, connection)
        ledger.sync_all_sessions(connection)
        connection.execute("commit")
        segments = connection.execute(_SEGMENTS).fetchone()[0]
        _configure_merges(connection, _AUTOMERGE, _CRISISMERGE + segments)


def _write(connection: sqlite3.Connection, rows: Sequence[tuple[int, ArtifactRow]]) -> None:
    connection.executemany(_INSERT, ((number, *row.get_column_values()) for number, row in rows))
    for number, row in rows:
        connection.executemany(tool_runs.INSERT, tool_runs.build_rows(number, row))
    fts_rows.insert_rows(
        connection, (text for number, row in rows for text in fts_rows.build_artifact_fts_rows(number, row))
    )


def _configure_merges(connection: sqlite3.Connection, automerge: int, crisismerge: int) -> None:
    for name, value in (("automerge", automerge), ("crisismerge", crisismerge)):
        connection.execute("insert into search (search, rank) values (?, ?)", (name, value))


def collect_leftovers(parent: Path) -> None:
    """Delete the folders of builds by dead processes: they hold text of sessions."""
    for lock in sorted(parent.glob(f"{_PREFIX}*/{_LOCK_NAME}")):
        # A living process holds its lock; one that dies releases it.
        with suppress(FileNotFoundError), lock.open("rb") as file:
            if try_lock_descriptor(file.fileno()):
                shutil.rmtree(lock.parent)


def replace_contents(build_path: Path, index_path: Path) -> None:
    """Replace the contents of an index by another database, in one step for other processes.

    If nobody has the index open, its pages are written once; else they pass through the write-ahead log.
    """
    with closing(connect(index_path)) as target, closing(sqlite3.connect(build_path)) as source:
        if _lock_exclusively(target):
            # Without a journal a crash leaves a torn file: its version says so until all pages are there.
            for connection in (target, source):
                connection.execute(f"pragma application_id = {_UNFINISHED}")
            target.execute("pragma journal_mode = off")
            source.backup(target)
            target.execute(f"pragma application_id = {schema.VERSION}")
        else:
            source.backup(target)


def _lock_exclusively(connection: sqlite3.Connection) -> bool:
    """Lock the database until the connection is closed. Return False if another process has it open."""
    timeout = connection.execute("pragma busy_timeout").fetchone()[0]
    connection.execute("pragma busy_timeout = 0")
    try:
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("pragma journal_mode = delete")  # leaving WAL mode needs the lock
        return True
    except sqlite3.OperationalError:
        connection.execute("pragma locking_mode = normal")
        return False
    finally:
        connection.execute(f"pragma busy_timeout = {timeout}")
