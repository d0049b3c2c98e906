"""`.lineage/waiting.db`: captures that wait for a render of MEMORY.md. (index/base.py).

It is a database of its own: a process that renders holds the index's write lock meanwhile, and those that come to wait
must not wait for that lock. The file exists only if a capture had to wait.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lineage.database.sqlite import connect, delete_database, translate_errors
from lineage.errors import DatabaseDamaged

FILE_NAME = "waiting.db"

# autoincrement: a ticket is never issued twice, so a missing one means a finished capture
_TABLE = (
    "create table if not exists waiting (ticket integer primary key autoincrement, agent_id text, token text,"
    " membership text, paths text)"
)
_ENQUEUE = "insert into waiting (agent_id, token, membership, paths) values (?, ?, ?, ?)"
_SELECT_OLDEST = (
    "select ticket, agent_id, token, membership, paths from waiting where agent_id = ? and membership <= ?"
    " order by ticket limit ?"
)


@dataclass(frozen=True, slots=True)
class QueuedCapture:
    """A capture with durable files: its agent, its session's token, its time, and the paths that get a row."""

    agent_id: str
    token: str
    membership: str
    paths: tuple[str, ...]


class SqlitePublishQueue:
    """Implement `index.base.PublishQueue`. A damaged database is deleted and recreated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached_connection: sqlite3.Connection | None = None

    def enqueue(self, capture: QueuedCapture) -> int:
        values = (capture.agent_id, capture.token, capture.membership, json.dumps(capture.paths))
        with self._transaction() as connection:
            return int(connection.execute(_ENQUEUE, values).lastrowid or 0)

    def is_done(self, ticket: int) -> bool:
        with translate_errors(self._path):
            sql = "select 1 from waiting where ticket = ?"
            return self._get_connection().execute(sql, (ticket,)).fetchone() is None

    def wait(self, ticket: int, seconds: float) -> bool:
        """Sleep, then return `is_done`. On one machine nobody waits for long."""
        time.sleep(seconds)
        return self.is_done(ticket)

    def notify(self) -> None:
        """Do nothing: local waiters poll."""

    def peek(self, agent_id: str, until: str, limit: int) -> list[tuple[int, QueuedCapture]]:
        # Most machines never have the file: reading must not create it.
        if not self._path.exists():
            return []
        with translate_errors(self._path):
            rows = self._get_connection().execute(_SELECT_OLDEST, (agent_id, until, limit)).fetchall()
        return [
            (ticket, QueuedCapture(agent, token, at, tuple(json.loads(paths))))
            for ticket, agent, token, at, paths in rows
        ]

    def mark_done(self, tickets: Iterable[int]) -> None:
        rows = [(ticket,) for ticket in tickets]
        if rows:
            with self._transaction() as connection:
                connection.executemany("delete from waiting where ticket = ?", rows)

    def delete_session(self, token: str) -> None:
        """Remove the captures of a removed session."""
        if self._path.exists():
            with self._transaction() as connection:
                connection.execute("delete from waiting where token = ?", (token,))

    def close(self) -> None:
        """Close the connection, if there is one."""
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
