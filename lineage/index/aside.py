"""What is built aside of an index, and how it takes the index's place.

The file stays what it is, for others may have it open: its pages are replaced under SQLite's own locks. Whoever dies on
the way leaves an index that says so, or none that was changed, and a folder that the next one collects.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from lineage.index import schema
from lineage.store.databases import connect
from lineage.store.platform import hold, is_free

_PREFIX = "rebuild-"
_HELD = "held"
_UNFINISHED = -1  # no schema's version: such an index is begun anew


@contextmanager
def folder(parent: Path) -> Iterator[Path]:
    """A folder for what is being built, gone afterwards; those that were left behind go first."""
    collect(parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as name, Path(name, _HELD).open("wb") as held:
        hold(held.fileno())
        yield Path(name)


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
