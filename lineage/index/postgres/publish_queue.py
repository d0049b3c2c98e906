"""Captures that wait for a render, in PostgreSQL: the machines of a workspace share one queue. (index/base.py)."""

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
    """Implement `index.base.PublishQueue`."""

    def __init__(self, database: Postgres) -> None:
        self._database = database

    def enqueue(self, capture: QueuedCapture) -> int:
        values = (capture.agent_id, capture.token, capture.membership, list(capture.paths))
        return int(self._database.execute(_ENQUEUE, values)[0][0])

    def is_done(self, ticket: int) -> bool:
        return not self._database.execute("select 1 from waiting where ticket = %s", (ticket,))

    def wait(self, ticket: int, seconds: float) -> bool:
        if seconds:
            self._database.wait_for_notification(_CHANNEL, seconds)
        return self.is_done(ticket)

    def notify(self) -> None:
        """Wake waiters on all machines."""
        self._database.notify(_CHANNEL)

    def peek(self, agent_id: str, until: str, limit: int) -> list[tuple[int, QueuedCapture]]:
        rows = self._database.execute(_SELECT_OLDEST, (agent_id, until, limit))
        return [(ticket, QueuedCapture(agent, token, at, tuple(paths))) for ticket, agent, token, at, paths in rows]

    def mark_done(self, tickets: Iterable[int]) -> None:
        numbers = list(tickets)
        if numbers:
            self._database.execute("delete from waiting where ticket = any(%s::bigint[])", (numbers,))

    def delete_session(self, token: str) -> None:
        """Remove the captures of a removed session."""
        self._database.execute("delete from waiting where token = %s", (token,))
