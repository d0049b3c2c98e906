"""The watch loop: a change of the workspace wakes it, and it reconciles by a scan.

Events are hints: they come late, in bursts, or not at all. So every hint, and a timer, starts a comparison of files and
rows. The loop's own writes cause one more hint; the scan after it finds no change.
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

QUIET_SECONDS = 0.2  # an editor or a sync client writes a file in several steps
MAX_DELAY_SECONDS = 1.0

BOOKS = "books/"
FOLDERS = ("", *(prefix.rstrip("/") for prefix in (naming.MEMORY, naming.CLAIMS, naming.TOMBSTONES, BOOKS)))
"""The folders with documents, the workspace itself first; only that and books have subfolders."""

_CURATED = ("AGENT_MEMORY.md", SETTINGS_FILE)
_HIDDEN = re.compile(r"(?:^|/)\.")
_COPY_MARK = re.compile(r"(?:\.sync-conflict-[^./]*| ?\([^()/]*conflicted copy[^()/]*\)| \d+)(?=\.\w+$)", re.IGNORECASE)
_SYNC_LEFTOVER = re.compile(r"\.sync-conflict-|conflicted copy| \d+\.md$|\.icloud$", re.IGNORECASE)


class Hints(Protocol):
    """The source of hints."""

    @property
    def ended(self) -> bool:
        """Whether the watch shall end."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` for a hint, less once `ended`; return whether any came since the last call."""
        ...


def is_hint(key: str) -> bool:
    """Return whether a change at a path may change a document.

    False for hidden and temporary files, a sync client's copies, and MEMORY.md: the next round restores that.

    >>> [is_hint(f"books/global/note{end}") for end in (".md", ".sync-conflict-20260328.md", " 2.md")]
    [True, False, False]
    """
    if key in FOLDERS or key in _CURATED:
        return True
    if key.startswith(naming.MEMORY):
        return naming.parse_path(key) is not None or naming.is_claim_or_tombstone(key)
    return key.startswith(BOOKS) and not _HIDDEN.search(key) and not is_sync_leftover(key)


def is_sync_leftover(key: str) -> bool:
    """Return whether a file has the name of a sync client's conflicting copy."""
    return _SYNC_LEFTOVER.search(key) is not None


def find_original(key: str) -> str:
    """Return the name without what a sync client puts into that of a copy, before its ending.

    >>> find_original("AGENT_MEMORY (conflicted copy).md"), find_original("projects/Rome 2019.md")
    ('AGENT_MEMORY.md', 'projects/Rome.md')
    """
    return _COPY_MARK.sub("", key)


def iter_occasions(hints: Hints, clock: Callable[[], float], *, every: float) -> Iterator[str]:
    """Yield TIMER at once and every so many seconds, and HINT after a burst of hints, until the end.

    A burst ends after 0.2 s without a hint, or 1 s after its first.
    """
    due = clock()
    while True:
        hinted = hints.wait(max(0.0, due - clock()))
        if hinted:
            latest = clock() + MAX_DELAY_SECONDS
            while not hints.ended and (left := latest - clock()) > 0 and hints.wait(min(QUIET_SECONDS, left)):
                pass
        if hints.ended:
            return
        if clock() >= due:
            due = clock() + every
            yield TIMER
        elif hinted:
            yield HINT


class Watch:
    """The work of each round: listen to new folders, reconcile and, on the timer, run the chores.

    `on_report` gets the report of a round with changes or new problems, `on_error` each new error. No LineageError ends
    a watch.
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
        """Run one round for each occasion."""
        for occasion in occasions:
            self._round(self._chores if occasion == TIMER else ())

    def _round(self, chores: Sequence[Callable[[], object]]) -> None:
        """Run the steps, up to a SuddenLoss: a chore might write into a folder that is not mounted."""
        for number, step in enumerate((self._listen, self._compare, *chores)):
            try:
                step()
                self._errors.pop(number, None)
            except LineageError as error:
                if error.message not in self._errors.values():
                    self._on_error(error)
                self._errors[number] = error.message
                if isinstance(error, SuddenLoss):  # never confirmed here: the folder may come back
                    return

    def _compare(self) -> None:
        report = self._reconcile()
        before, self._last_problems = self._last_problems, _list_problems(report)
        if has_changes(report) or self._last_problems != before:
            self._on_report(report)


def has_changes(report: ReindexReport) -> bool:
    """Return whether a reindex changed anything."""
    counts = (report.added, report.changed, report.dropped, report.books, report.claims_rebuilt)
    return any(counts) or any(published.written for published in report.published)


def _list_problems(report: ReindexReport) -> tuple[object, ...]:
    """Return the problems that a reindex finds again until somebody mends them."""
    return report.problems, report.strays, report.buried
