"""What is built aside of an index, and how it takes the index's place.

The file stays what it is, for others may have it open: its pages are replaced under SQLite's own locks. Whoever dies on
the way leaves an index that says so, or none that was changed, and a folder that the next one collects.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from lineage.database.sqlite import connect
from lineage.index import fts_rows, ledger, schema
from lineage.index.rows import COLUMNS, ArtifactRow
from lineage.store.platform import lock_descriptor, try_lock_descriptor

_PREFIX = "rebuild-"
_LOCK_NAME = "held"
_UNFINISHED = -1  # no schema's version: such an index is begun anew

_AUTOMERGE, _CRISISMERGE = 4, 16  # FTS5's own: segments of a level that are merged step by step, and at once
_MAX_SEGMENTS = 2000
_INSERT = f"insert into artifacts (id, {', '.join(COLUMNS)}) values (?{', ?' * len(COLUMNS)})"
_SEGMENTS = "select count(distinct segid) from search_idx"


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A folder for what is being built, gone afterwards; those that were left behind go first."""
    collect_leftovers(parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as name, Path(name, _LOCK_NAME).open("wb") as held:
        lock_descriptor(held.fileno())
        yield Path(name)


@contextmanager
def build(path: Path) -> Iterator[Callable[[Sequence[tuple[int, ArtifactRow]]], None]]:
    """Yield the function that writes numbered rows to a new database, which is not durable before it is copied.

    FTS5 merges no segments meanwhile, and later step by step: merging all at once would delay the next writer.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
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
    connection.executemany(_INSERT, ((number, *row[: len(COLUMNS)]) for number, row in rows))
    fts_rows.insert_rows(
        connection, (text for number, row in rows for text in fts_rows.build_artifact_fts_rows(number, row))
    )


def _configure_merges(connection: sqlite3.Connection, automerge: int, crisismerge: int) -> None:
    for name, value in (("automerge", automerge), ("crisismerge", crisismerge)):
        connection.execute("insert into search (search, rank) values (?, ?)", (name, value))


def collect_leftovers(parent: Path) -> None:
    """Removes what builders that died left behind: it holds text."""
    for left in sorted(parent.glob(f"{_PREFIX}*/{_LOCK_NAME}")):
        with suppress(FileNotFoundError), left.open("rb") as held:
            if try_lock_descriptor(held.fileno()):
                shutil.rmtree(left.parent)


def replace_contents(build_path: Path, index_path: Path) -> None:
    """Gives an index the contents of another database, in one step for everybody else.

    Where nobody has it open, its pages are written once; else they pass through the write-ahead log.
    """
    with closing(connect(index_path)) as target, closing(sqlite3.connect(build_path)) as source:
        if _lock_exclusively(target):
            for connection in (target, source):
                connection.execute(f"pragma application_id = {_UNFINISHED}")
            target.execute("pragma journal_mode = off")
            source.backup(target)
            target.execute(f"pragma application_id = {schema.VERSION}")
        else:
            source.backup(target)


def _lock_exclusively(connection: sqlite3.Connection) -> bool:
    """Whether nobody else has the database open: then nobody can open it until the connection is closed."""
    waits = connection.execute("pragma busy_timeout").fetchone()[0]
    connection.execute("pragma busy_timeout = 0")
    try:
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("pragma journal_mode = delete")
        return True
    except sqlite3.OperationalError:
        connection.execute("pragma locking_mode = normal")
        return False
    finally:
        connection.execute(f"pragma busy_timeout = {waits}")
