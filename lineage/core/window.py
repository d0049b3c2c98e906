"""The rolling window of the ledger. (spec: window semantics)"""

from typing import NamedTuple

from lineage.core.times import shifted

DAYS = 30


class Window(NamedTuple):
    """`[since, until]`, both ends included, as canonical UTC times."""

    since: str
    until: str

    @staticmethod
    def ending(now: str) -> "Window":
        """The last 30 days before `now`.

        >>> Window.ending("2026-03-31T00:00:00.000Z").since
        '2026-03-01T00:00:00.000Z'
        """
        return Window(shifted(now, days=-DAYS), now)

    def holds(self, membership: str) -> bool:
        return self.since <= membership <= self.until


def membership(ended_at: str | None, captured_at: str) -> str:
    """A session belongs to the time it ended or, where that is unknown, to the time it was captured."""
    return ended_at or captured_at
