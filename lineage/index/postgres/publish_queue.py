"""Captures that wait for a render, in PostgreSQL: machines that share a workspace wait together. (index/base.py)"""

from collections.abc import Iterable

from lineage.database.postgres import Postgres
from lineage.index.publish_queue import QueuedCapture

_ENQUEUE = """
    insert into waiting (agent_id, token, membership, paths) values (%s, %s, %s, %s::text[]) returning ticket
"""
_SELECT_OLDEST = """
    select ticket, agent_id, token, membership, paths from waiting
    where agent_id = %s and membership <= %s order by ticket limit %s
"""

_CHANNEL = "rendered"


class PostgresPublishQueue:
    """See `base.Queue`."""

    def __init__(self, database: Postgres) -> None:
        self._database = database

    def enqueue(self, capture: QueuedCapture) -> int:
        return int(self._database.execute(_ENQUEUE, (*capture[:3], list(capture.paths)))[0][0])

    def is_done(self, ticket: int) -> bool:
        return not self._database.execute("select 1 from waiting where ticket = %s", (ticket,))

    def wait(self, ticket: int, seconds: float) -> bool:
        if seconds:
            self._database.wait_for_notification(_CHANNEL, seconds)
        return self.is_done(ticket)

    def notify(self) -> None:
        self._database.notify(_CHANNEL)

    def peek(self, agent_id: str, until: str, limit: int) -> list[tuple[int, QueuedCapture]]:
        rows = self._database.execute(_SELECT_OLDEST, (agent_id, until, limit))
        return [(ticket, QueuedCapture(agent, token, at, tuple(paths))) for ticket, agent, token, at, paths in rows]

    def mark_done(self, tickets: Iterable[int]) -> None:
        gone = list(tickets)
        if gone:
            self._database.execute("delete from waiting where ticket = any(%s::bigint[])", (gone,))

    def delete_session(self, token: str) -> None:
        """Drops what waits of a session: it was removed."""
        self._database.execute("delete from waiting where token = %s", (token,))
