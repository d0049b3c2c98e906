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

from lineage.database.sqlite import connect, delete_database, translate_errors
from lineage.errors import DatabaseDamaged

FILE_NAME = "waiting.db"

_TABLE = (
    "create table if not exists waiting (ticket integer primary key autoincrement, agent_id text, token text,"
    " membership text, paths text)"
)
_SELECT_OLDEST = "select ticket, agent_id, token, membership, paths from waiting where agent_id = ? and membership <= ?"


class QueuedCapture(NamedTuple):
    """A capture whose files are durable: its agent, its session's token, its time, and the paths that get a row."""

    agent_id: str
    token: str
    membership: str
    paths: tuple[str, ...]


class SqlitePublishQueue:
    """See `base.Queue`. A damaged database is begun anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached_connection: sqlite3.Connection | None = None

    def enqueue(self, capture: QueuedCapture) -> int:
        """The ticket of a capture that waits from now on."""
        values = (*capture[:3], json.dumps(capture.paths))
        with self._transaction() as connection:
            sql = "insert into waiting (agent_id, token, membership, paths) values (?, ?, ?, ?)"
            return int(connection.execute(sql, values).lastrowid or 0)

    def is_done(self, ticket: int) -> bool:
        """Whether somebody took the capture in."""
        with translate_errors(self._path):
            found = self._get_connection().execute("select 1 from waiting where ticket = ?", (ticket,)).fetchone()
        return found is None

    def wait(self, ticket: int, seconds: float) -> bool:
        """`is_done` after so many seconds; nobody on this machine waits for long."""
        time.sleep(seconds)
        return self.is_done(ticket)

    def notify(self) -> None:
        """Nobody is asleep for longer than it takes to be called."""

    def peek(self, agent_id: str, until: str, limit: int) -> list[tuple[int, QueuedCapture]]:
        """The tickets of an agent's captures up to a time, with the captures, oldest ticket first."""
        if not self._path.exists():
            return []
        with translate_errors(self._path):
            rows = (
                self._get_connection()
                .execute(f"{_SELECT_OLDEST} order by ticket limit ?", (agent_id, until, limit))
                .fetchall()
            )
        return [(row[0], QueuedCapture(row[1], row[2], row[3], tuple(json.loads(row[4])))) for row in rows]

    def mark_done(self, tickets: Iterable[int]) -> None:
        """Says to those who wait that MEMORY.md and rows have what they captured."""
        gone = [(ticket,) for ticket in tickets]
        if gone:
            with self._transaction() as connection:
                connection.executemany("delete from waiting where ticket = ?", gone)

    def delete_session(self, token: str) -> None:
        """Drops what waits of a session: it was removed."""
        if self._path.exists():
            with self._transaction() as connection:
                connection.execute("delete from waiting where token = ?", (token,))

    def close(self) -> None:
        if self._cached_connection:
            self._cached_connection.close()
            self._cached_connection = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._get_connection()
        with translate_errors(self._path), connection:
            yield connection

    def _get_connection(self) -> sqlite3.Connection:
        if self._cached_connection is None:
            try:
                self._cached_connection = self._open()
            except DatabaseDamaged:
                delete_database(self._path)
                self._cached_connection = self._open()
        return self._cached_connection

    def _open(self) -> sqlite3.Connection:
        connection = connect(self._path)
        try:
            with translate_errors(self._path), connection:
                connection.execute(_TABLE)
        except BaseException:
            connection.close()
            raise
        return connection
