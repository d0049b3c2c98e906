"""Watch: a change of the workspace wakes a loop, and the loop reconciles by a scan.

Events are hints. They come late, in bursts, or not at all, so none is believed: after each of them, and on a timer
without any, files and rows are compared. What the loop itself wrote is a hint once; the scan after it finds nothing,
and it sleeps.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from lineage.config import SETTINGS_FILE
from lineage.core.base import naming
from lineage.errors import LineageError
from lineage.pipeline.maintenance.reindex import ReindexReport, SuddenLoss

TIMER = "timer"
HINT = "hint"

QUIET_SECONDS = 0.2
MAX_DELAY_SECONDS = 1.0

BOOKS = "books/"
FOLDERS = ("", *(prefix.rstrip("/") for prefix in (naming.MEMORY, naming.CLAIMS, naming.TOMBSTONES, BOOKS)))
"""The folders that hold what is canonical, the workspace itself first; all but that and books hold files alone."""

_CURATED = ("AGENT_MEMORY.md", SETTINGS_FILE)
_HIDDEN = re.compile(r"(?:^|/)\.")
_SYNC_LEFTOVER = re.compile(r"\.sync-conflict-|conflicted copy| \d+\.md$|\.icloud$", re.IGNORECASE)


class Hints(Protocol):
    """Where hints come from."""

    @property
    def ended(self) -> bool:
        """Whether somebody asked for the end."""
        ...

    def wait(self, seconds: float) -> bool:
        """Waits for a hint, at most so long, and takes all that came; whether there was any since the last call. It
        may return early, and does where the end is asked for."""
        ...


def is_hint(key: str) -> bool:
    """Whether a change at a path of the workspace may change what is canonical.

    Neither hidden nor temporary files, nor what a sync client left beside the real one, nor MEMORY.md: a hand edit of
    that is put right by the next round.

    >>> [is_hint(f"books/global/note{end}") for end in (".md", ".sync-conflict-20260328.md", " 2.md")]
    [True, False, False]
    """
    if key in FOLDERS or key in _CURATED:
        return True
    if key.startswith(naming.MEMORY):
        return naming.parse_path(key) is not None or naming.is_claim_or_tombstone(key)
    return key.startswith(BOOKS) and not _HIDDEN.search(key) and not is_sync_leftover(key)


def is_sync_leftover(key: str) -> bool:
    """Whether a file's name is one that sync clients give to what they couldn't bring together."""
    return _SYNC_LEFTOVER.search(key) is not None


def iter_occasions(hints: Hints, clock: Callable[[], float], *, every: float) -> Iterator[str]:
    """When to compare, and why: TIMER at once and every so many seconds, HINT when hints have been quiet for 0.2 s,
    1 s after the first at the latest. Until the end is asked for."""
    due = clock()
    while True:
        hinted = hints.wait(max(0.0, due - clock()))
        if hinted:
            _wait_until_quiet(hints, clock)
        if hints.ended:
            return
        if clock() >= due:
            due = clock() + every
            yield TIMER
        elif hinted:
            yield HINT


def _wait_until_quiet(hints: Hints, clock: Callable[[], float]) -> None:
    """Waits until what began to change is quiet."""
    latest = clock() + MAX_DELAY_SECONDS
    while not hints.ended and (left := latest - clock()) > 0 and hints.wait(min(QUIET_SECONDS, left)):
        pass


class Watch:
    """What is done at each occasion: listen to folders that came, reconcile and, on the timer, the chores.

    `on_report` gets what a round changed, or found wrong and the round before did not; `on_error` gets each failure
    when it is new. No failure of the world ends a watch.
    """

    def __init__(
        self,
        listen: Callable[[], object],
        reconcile: Callable[[], ReindexReport],
        chores: Sequence[Callable[[], object]],
        *,
        on_report: Callable[[ReindexReport], object],
        on_error: Callable[[LineageError], object],
    ) -> None:
        self._listen, self._reconcile, self._chores = listen, reconcile, chores
        self._on_report, self._on_error = on_report, on_error
        self._last_problems = _list_problems(ReindexReport())
        self._errors: dict[int, str] = {}

    def run(self, occasions: Iterable[str]) -> None:
        """One round for each occasion, to its end."""
        for occasion in occasions:
            self._round(self._chores if occasion == TIMER else ())

    def _round(self, chores: Sequence[Callable[[], object]]) -> None:
        """Where files look lost nothing is confirmed and no chore is done: what it wrote might be lost with them."""
        for number, step in enumerate((self._listen, self._compare, *chores)):
            try:
                step()
                self._errors.pop(number, None)
            except LineageError as error:
                if error.message not in self._errors.values():
                    self._on_error(error)
                self._errors[number] = error.message
                if isinstance(error, SuddenLoss):
                    return

    def _compare(self) -> None:
        report = self._reconcile()
        before, self._last_problems = self._last_problems, _list_problems(report)
        if has_changes(report) or self._last_problems != before:
            self._on_report(report)


def has_changes(report: ReindexReport) -> bool:
    """Whether a reindex did anything."""
    counts = (report.added, report.changed, report.dropped, report.books, report.claims_rebuilt)
    return any(counts) or any(published.written for published in report.published)


def _list_problems(report: ReindexReport) -> tuple[object, ...]:
    """What a reindex finds again each time until somebody mends it."""
    return report.problems, report.strays, report.buried
