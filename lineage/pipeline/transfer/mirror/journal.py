"""The journal of a mirror: the last synced state, recorded file by file: an interrupted round continues from it.

It lies on this machine only. Without it, both sides are compared anew, and a note deleted by hand on one of them comes
back. For files that are merged it keeps the text of the common ancestor.
"""

import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from lineage.database.sqlite import connect, translate_errors, vacuum
from lineage.pipeline.transfer.mirror.plan import SyncedStamps, find_owner_tokens

_TABLES = """
create table if not exists synced (key text primary key, here text, there text, sha256 text, base blob) without rowid;
create table if not exists expected (key text primary key, sha256 text, base blob) without rowid;
create table if not exists owed (side text primary key) without rowid;
"""


class SyncedContent(NamedTuple):
    """The content of a file on both sides: its hash, and its bytes if kept."""

    sha256: str
    base: bytes | None


class MirrorJournal:
    """The journal of one pair of stores, in the database at `path`. Raises the errors of `translate_errors`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection = connect(path)
        with translate_errors(path):
            self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def read_synced(self) -> dict[str, SyncedStamps]:
        """Return the stamps of every synced file."""
        rows = self._query("select key, here, there from synced")
        return {key: SyncedStamps(here, there) for key, here, there in rows}

    def find_content(self, key: str) -> SyncedContent | None:
        """Return the last synced content of a file."""
        rows = self._query("select sha256, base from synced where key = ?", key)
        return SyncedContent(*rows[0]) if rows else None

    def record(self, key: str, stamps: SyncedStamps, content: SyncedContent) -> None:
        """Record that a file is the same on both sides."""
        self._execute("insert or replace into synced values (?, ?, ?, ?, ?)", key, *stamps, *content)
        self._execute("delete from expected where key = ?", key)

    def note_expected(self, key: str, sha256: str, here: bytes) -> None:
        """Note a write to the other side: the hash of the new version, and the version here that went into it."""
        self._execute("insert or replace into expected values (?, ?, ?)", key, sha256, here)

    def find_expected(self, key: str, sha256: str) -> bytes | None:
        """Return the version here that went into the other side's version, if this mirror wrote that."""
        rows = self._query("select base from expected where key = ? and sha256 = ?", key, sha256)
        return bytes(rows[0][0]) if rows else None

    def mark_owed(self, side: str) -> None:
        """Note before a change of a side that it needs a reindex, or before one of claims that it needs a recovery."""
        self._execute("insert or ignore into owed values (?)", side)

    def list_owed(self) -> frozenset[str]:
        """Return the marks of `mark_owed` that stand."""
        return frozenset(side for (side,) in self._query("select side from owed"))

    def clear_owed(self, side: str) -> None:
        """Clear a mark of `mark_owed`."""
        self._execute("delete from owed where side = ?", side)

    def forget(self, key: str) -> None:
        """Forget a file that is gone on both sides."""
        self._execute("delete from synced where key = ?", key)
        self._execute("delete from expected where key = ?", key)

    def scrub(self, removed: frozenset[str], *, is_due: bool) -> None:
        """Forget the files of removed sessions, and overwrite their bytes in the database.

        `is_due` says that a removed session's entries left a book, whose ancestor may lie in a free page.
        """
        keys = [key for key in self.read_synced() if not find_owner_tokens(key).isdisjoint(removed)]
        for key in keys:
            self.forget(key)
        if keys or is_due:
            with translate_errors(self._path):
                vacuum(self._connection)

    def _query(self, query: str, *values: str) -> list[Any]:
        with translate_errors(self._path):
            return self._connection.execute(query, values).fetchall()

    def _execute(self, statement: str, *values: object) -> None:
        with translate_errors(self._path), self._connection:
            self._connection.execute(statement, values)
