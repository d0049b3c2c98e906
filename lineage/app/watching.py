"""`lineage watch`: the loop of pipeline/incoming/watching.py over real folders, a real clock and houses opened anew."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import open_house, with_house
from lineage.app.places import shown
from lineage.app.working import machine
from lineage.core import doorbell
from lineage.errors import LineageError
from lineage.pipeline.house import House
from lineage.pipeline.incoming.parallel import workers
from lineage.pipeline.incoming.sweeping import sweep
from lineage.pipeline.incoming.watching import Watch, occasions
from lineage.pipeline.incoming.working import drain
from lineage.pipeline.upkeep.reindexing import Report, reindex
from lineage.store import BusyError, LocalStore

if TYPE_CHECKING:
    from lineage.app.observing import Observed

_MOST_JOBS = 4

Chore = Callable[[House], object]


def _drained(house: House) -> None:
    """What hooks have signalled; where a worker is at it, it does it."""
    with ExitStack() as held:
        try:
            held.enter_context(house.canon.signals.store.mutex(doorbell.WORKER, wait=False))
        except BusyError:
            return
        drain(house, machine())


def _swept(house: House) -> None:
    sweep(house, machine())


CHORES: Sequence[Chore] = (_drained, _swept)
"""What is done on the timer, each in a house of its own, so that each reads the time once."""


class Watcher:
    """The one watcher of a workspace; `end` may be called from a signal handler."""

    def __init__(self, root: Path, hints: "Observed") -> None:
        self._root, self._hints = root, hints

    def run(
        self,
        *,
        every: float,
        on_report: Callable[[Report], object],
        on_error: Callable[[LineageError], object],
        chores: Sequence[Chore] = CHORES,
    ) -> None:
        """Watches until `end` is called, and finishes the round that runs then. `every` is in seconds.

        What the parameters get is told by `Watch`.
        """
        bound = [_in_house(self._root, chore) for chore in chores]
        watch = Watch(self._hints.listen, lambda: reconcile(self._root), bound, on_report=on_report, on_error=on_error)
        watch.run(occasions(self._hints, time.monotonic, every=every))

    def end(self) -> None:
        """Asks for the end."""
        self._hints.end()


@contextmanager
def watcher(root: Path) -> Iterator[Watcher]:
    """The right to watch a workspace, held until the block ends.

    Raises BusyError where somebody watches it, WorkspaceError where there is none, InvalidInput for its settings.
    """
    from lineage.app.observing import Observed

    open_house(root).close()
    with ExitStack() as held:
        try:
            held.enter_context(LocalStore(root).mutex("watch", wait=False))
        except BusyError as error:
            hint = "one watcher is enough: end the other one first"
            raise BusyError(f"{shown(root)} is watched already", hint=hint) from error
        yield Watcher(root, held.enter_context(Observed(root)))


def once(root: Path, chores: Sequence[Chore] = CHORES) -> Report:
    """A single round, with the chores. Raises SuddenLoss, having changed nothing."""
    report = reconcile(root)
    for chore in chores:
        with_house(root, chore)
    return report


def reconcile(root: Path) -> Report:
    """Makes rows and MEMORY.md what the files say; an index that is missing or damaged is begun anew. A burst is read
    by several processes, which end with it."""
    with workers(min(os.cpu_count() or 1, _MOST_JOBS)) as pool:
        return with_house(root, partial(reindex, executor=pool.pool), needs_index=False)


def _in_house(root: Path, chore: Chore) -> Callable[[], object]:
    return lambda: with_house(root, chore)
