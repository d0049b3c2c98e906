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

from lineage.index import ledger, schema, texts
from lineage.index.rows import COLUMNS, Row
from lineage.store.databases import connect
from lineage.store.platform import hold, is_free

_PREFIX = "rebuild-"
_HELD = "held"
_UNFINISHED = -1  # no schema's version: such an index is begun anew

_AUTOMERGE, _CRISISMERGE = 4, 16  # FTS5's own: segments of a level that are merged step by step, and at once
_MAX_SEGMENTS = 2000
_INSERT = f"insert into artifacts (id, {', '.join(COLUMNS)}) values (?{', ?' * len(COLUMNS)})"
_SEGMENTS = "select count(distinct segid) from search_idx"


@contextmanager
def folder(parent: Path) -> Iterator[Path]:
    """A folder for what is being built, gone afterwards; those that were left behind go first."""
    collect(parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as name, Path(name, _HELD).open("wb") as held:
        hold(held.fileno())
        yield Path(name)


@contextmanager
def build(path: Path) -> Iterator[Callable[[Sequence[tuple[int, Row]]], None]]:
    """Yield the function that writes numbered rows to a new database, which is not durable before it is copied.

    FTS5 merges no segments meanwhile, and later step by step: merging all at once would delay the next writer.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = off")
        connection.execute("pragma synchronous = off")
        schema.create(connection)
        _configure_merges(connection, 0, _MAX_SEGMENTS)
        connection.execute("begin")
        yield partial(_write, connection)
        ledger.fill(connection)
        connection.execute("commit")
        segments = connection.execute(_SEGMENTS).fetchone()[0]
        _configure_merges(connection, _AUTOMERGE, _CRISISMERGE + segments)


def _write(connection: sqlite3.Connection, rows: Sequence[tuple[int, Row]]) -> None:
    connection.executemany(_INSERT, ((number, *row[: len(COLUMNS)]) for number, row in rows))
    texts.write(connection, (text for number, row in rows for text in texts.texts_of(number, row)))


def _configure_merges(connection: sqlite3.Connection, automerge: int, crisismerge: int) -> None:
    for name, value in (("automerge", automerge), ("crisismerge", crisismerge)):
        connection.execute("insert into search (search, rank) values (?, ?)", (name, value))


def collect(parent: Path) -> None:
    """Removes what builders that died left behind: it holds text."""
    for left in sorted(parent.glob(f"{_PREFIX}*/{_HELD}")):
        with suppress(FileNotFoundError), left.open("rb") as held:
            if is_free(held.fileno()):
                shutil.rmtree(left.parent)


def replace(built: Path, index: Path) -> None:
    """Gives an index the contents of another database, in one step for everybody else.

    Where nobody has it open, its pages are written once; else they pass through the write-ahead log.
    """
    with closing(connect(index)) as target, closing(sqlite3.connect(built)) as source:
        if _is_alone(target):
            for connection in (target, source):
                connection.execute(f"pragma application_id = {_UNFINISHED}")
            target.execute("pragma journal_mode = off")
            source.backup(target)
            target.execute(f"pragma application_id = {schema.VERSION}")
        else:
            source.backup(target)


def _is_alone(connection: sqlite3.Connection) -> bool:
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
