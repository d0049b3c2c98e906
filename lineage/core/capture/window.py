"""The rolling window of the ledger (spec: window semantics)."""

from dataclasses import dataclass

from lineage.core.base.times import shift_time

WINDOW_DAYS = 30


@dataclass(frozen=True, slots=True)
class Window:
    """The range from `since` to `until`, both included, as canonical UTC times."""

    since: str
    until: str

    @staticmethod
    def from_end(now: str) -> "Window":
        """Return the window of the last 30 days before `now`.

        >>> Window.from_end("2026-03-31T00:00:00.000Z").since
        '2026-03-01T00:00:00.000Z'
        """
        return Window(shift_time(now, days=-WINDOW_DAYS), now)

    def contains(self, membership: str) -> bool:
        """Return whether a time lies in the window."""
        return self.since <= membership <= self.until


def compute_membership(ended_at: str | None, captured_at: str) -> str:
    """Return the time of a session in the ledger: its end or, without one, its capture."""
    return ended_at or captured_at
