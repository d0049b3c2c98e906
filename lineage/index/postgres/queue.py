"""Captures that wait for a render, in PostgreSQL: machines that share a workspace wait together. (index/base.py)"""

from collections.abc import Iterable

from lineage.index.queue import Waiting
from lineage.store.postgres import Postgres

_ENLIST = """
    insert into waiting (agent_id, token, membership, paths) values (%s, %s, %s, %s::text[]) returning ticket
"""
_FIRST = """
    select ticket, agent_id, token, membership, paths from waiting
    where agent_id = %s and membership <= %s order by ticket limit %s
"""

_CALLS = "rendered"


class PostgresQueue:
    """See `base.Queue`."""

    def __init__(self, database: Postgres) -> None:
        self._database = database

    def enlist(self, capture: Waiting) -> int:
        return int(self._database.rows(_ENLIST, (*capture[:3], list(capture.paths)))[0][0])

    def is_taken(self, ticket: int) -> bool:
        return not self._database.rows("select 1 from waiting where ticket = %s", (ticket,))

    def wait(self, ticket: int, seconds: float) -> bool:
        if seconds:
            self._database.called(_CALLS, seconds)
        return self.is_taken(ticket)

    def call(self) -> None:
        self._database.call(_CALLS)

    def first(self, agent_id: str, until: str, limit: int) -> list[tuple[int, Waiting]]:
        rows = self._database.rows(_FIRST, (agent_id, until, limit))
        return [(ticket, Waiting(agent, token, at, tuple(paths))) for ticket, agent, token, at, paths in rows]

    def take(self, tickets: Iterable[int]) -> None:
        gone = list(tickets)
        if gone:
            self._database.rows("delete from waiting where ticket = any(%s::bigint[])", (gone,))

    def forget(self, token: str) -> None:
        """Drops what waits of a session: it was removed."""
        self._database.rows("delete from waiting where token = %s", (token,))
