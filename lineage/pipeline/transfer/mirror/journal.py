"""What was in step the last time, file by file: written after each, so that a mirror that was cut off goes on.

It lies on this machine only, and can be lost: then both sides are compared anew, and what was deleted by hand on one of
them meanwhile comes back. Of files that are merged it keeps the text that both began from.
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
    """What a file was on both sides: its hash, and its content where that is kept."""

    sha256: str
    base: bytes | None


class MirrorJournal:
    """The journal of one pair of stores, in the database at `path`. Raises what `guarded` raises."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection = connect(path)
        with translate_errors(path):
            self._connection.executescript(_TABLES)

    def close(self) -> None:
        self._connection.close()

    def read_synced(self) -> dict[str, SyncedStamps]:
        """The stamps of every file that was in step."""
        return {
            key: SyncedStamps(here, there) for key, here, there in self._query("select key, here, there from synced")
        }

    def find_content(self, key: str) -> SyncedContent | None:
        return next(
            (SyncedContent(*row) for row in self._query("select sha256, base from synced where key = ?", key)), None
        )

    def record(self, key: str, stamps: SyncedStamps, content: SyncedContent) -> None:
        """The file is the same on both sides."""
        self._execute("insert or replace into synced values (?, ?, ?, ?, ?)", key, *stamps, *content)
        self._execute("delete from expected where key = ?", key)

    def note_expected(self, key: str, sha256: str, here: bytes) -> None:
        """About to write to the other side what this hash is of, and what `here` went into."""
        self._execute("insert or replace into expected values (?, ?, ?)", key, sha256, here)

    def find_expected(self, key: str, sha256: str) -> bytes | None:
        """What went from here into the version of this hash on the other side, where this mirror wrote that."""
        found = self._query("select base from expected where key = ? and sha256 = ?", key, sha256)
        return next((bytes(base) for (base,) in found), None)

    def mark_owed(self, side: str) -> None:
        """About to change files of a side: its rows and MEMORY.md are to follow, whoever dies in between. The same for
        what is to follow a change of claims."""
        self._execute("insert or ignore into owed values (?)", side)

    def list_owed(self) -> frozenset[str]:
        """What is to follow still."""
        return frozenset(side for (side,) in self._query("select side from owed"))

    def clear_owed(self, side: str) -> None:
        self._execute("delete from owed where side = ?", side)

    def forget(self, key: str) -> None:
        """The file is gone on both sides."""
        self._execute("delete from synced where key = ?", key)
        self._execute("delete from expected where key = ?", key)

    def scrub(self, removed: frozenset[str], *, is_due: bool) -> None:
        """Forgets the files of removed sessions. Where there were any, or `is_due` says that words of one went from a
        book, nothing of them is left in the database's free pages."""
        gone = [key for key in self.read_synced() if not find_owner_tokens(key).isdisjoint(removed)]
        for key in gone:
            self.forget(key)
        if gone or is_due:
            with translate_errors(self._path):
                vacuum(self._connection)

    def _query(self, query: str, *values: str) -> list[Any]:
        with translate_errors(self._path):
            return self._connection.execute(query, values).fetchall()

    def _execute(self, statement: str, *values: object) -> None:
        with translate_errors(self._path), self._connection:
            self._connection.execute(statement, values)
