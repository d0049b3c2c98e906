"""The rolling window of the ledger. (spec: window semantics)"""

from typing import NamedTuple

from lineage.core.base.times import shift_time

WINDOW_DAYS = 30


class Window(NamedTuple):
    """`[since, until]`, both ends included, as canonical UTC times."""

    since: str
    until: str

    @staticmethod
    def from_end(now: str) -> "Window":
        """The last 30 days before `now`.

        >>> Window.from_end("2026-03-31T00:00:00.000Z").since
        '2026-03-01T00:00:00.000Z'
        """
        return Window(shift_time(now, days=-WINDOW_DAYS), now)

    def contains(self, membership: str) -> bool:
        return self.since <= membership <= self.until


def compute_membership(ended_at: str | None, captured_at: str) -> str:
    """A session belongs to the time it ended or, where that is unknown, to the time it was captured."""
    return ended_at or captured_at
