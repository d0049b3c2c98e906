"""`.lineage/waiting.db`: captures that wait until MEMORY.md shows them. (index/base.py)

A database of its own, for whoever renders is writing rows all the while, and saying that one waits must not wait for
that. Where nobody had to wait there is no file.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lineage.errors import DamagedIndex
from lineage.store.databases import connect, discard, guarded

FILE = "waiting.db"

_TABLE = (
    "create table if not exists waiting (ticket integer primary key autoincrement, agent_id text, token text,"
    " membership text, paths text)"
)
_FIRST = "select ticket, agent_id, token, membership, paths from waiting where agent_id = ? and membership <= ?"


class Waiting(NamedTuple):
    """A capture whose files are durable: its agent, its session's token, its time, and the paths that get a row."""

    agent_id: str
    token: str
    membership: str
    paths: tuple[str, ...]


class SqliteQueue:
    """See `base.Queue`. A damaged database is begun anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None

    def enlist(self, capture: Waiting) -> int:
        """The ticket of a capture that waits from now on."""
        values = (*capture[:3], json.dumps(capture.paths))
        with self._writing() as connection:
            sql = "insert into waiting (agent_id, token, membership, paths) values (?, ?, ?, ?)"
            return int(connection.execute(sql, values).lastrowid or 0)

    def is_taken(self, ticket: int) -> bool:
        """Whether somebody took the capture in."""
        with guarded(self._path):
            found = self._connection().execute("select 1 from waiting where ticket = ?", (ticket,)).fetchone()
        return found is None

    def wait(self, ticket: int, seconds: float) -> bool:
        """`is_taken` after so many seconds; nobody on this machine waits for long."""
        time.sleep(seconds)
        return self.is_taken(ticket)

    def call(self) -> None:
        """Nobody is asleep for longer than it takes to be called."""

    def first(self, agent_id: str, until: str, limit: int) -> list[tuple[int, Waiting]]:
        """The tickets of an agent's captures up to a time, with the captures, oldest ticket first."""
        if not self._path.exists():
            return []
        with guarded(self._path):
            rows = self._connection().execute(f"{_FIRST} order by ticket limit ?", (agent_id, until, limit)).fetchall()
        return [(row[0], Waiting(row[1], row[2], row[3], tuple(json.loads(row[4])))) for row in rows]

    def take(self, tickets: Iterable[int]) -> None:
        """Says to those who wait that MEMORY.md and rows have what they captured."""
        gone = [(ticket,) for ticket in tickets]
        if gone:
            with self._writing() as connection:
                connection.executemany("delete from waiting where ticket = ?", gone)

    def forget(self, token: str) -> None:
        """Drops what waits of a session: it was removed."""
        if self._path.exists():
            with self._writing() as connection:
                connection.execute("delete from waiting where token = ?", (token,))

    def close(self) -> None:
        if self._opened:
            self._opened.close()
            self._opened = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        with guarded(self._path), connection:
            yield connection

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            try:
                self._opened = self._open()
            except DamagedIndex:
                discard(self._path)
                self._opened = self._open()
        return self._opened

    def _open(self) -> sqlite3.Connection:
        connection = connect(self._path)
        try:
            with guarded(self._path), connection:
                connection.execute(_TABLE)
        except BaseException:
            connection.close()
            raise
        return connection
