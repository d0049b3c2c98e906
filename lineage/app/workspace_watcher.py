"""`lineage watch`: the loop of pipeline/incoming/watching.py over real folders, a real clock and houses opened anew."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from lineage.app.fs_events import FileEvents
from lineage.app.locations import format_location
from lineage.app.machine_config import detect_machine
from lineage.app.workspace import open_workspace, run_in_workspace
from lineage.core.base import hook_protocol
from lineage.errors import LineageError
from lineage.pipeline.ingest.sweep import sweep
from lineage.pipeline.ingest.worker import drain
from lineage.pipeline.ingest.worker_pool import open_worker_pool
from lineage.pipeline.maintenance.reindex import ReindexReport, reindex
from lineage.pipeline.maintenance.watch import Watch, iter_occasions
from lineage.store import BusyError, LocalStore
from lineage.workspace.workspace import Workspace

_MAX_JOBS = 4

PeriodicTask = Callable[[Workspace], object]


def _drain_hooks(ws: Workspace) -> None:
    """What hooks have signalled; where a worker is at it, it does it."""
    with ExitStack() as held:
        try:
            held.enter_context(ws.documents.hook_queue.store.lock(hook_protocol.WORKER_LOCK, wait=False))
        except BusyError:
            return
        drain(ws, detect_machine())


def _sweep_sessions(ws: Workspace) -> None:
    sweep(ws, detect_machine())


PERIODIC_TASKS: Sequence[PeriodicTask] = (_drain_hooks, _sweep_sessions)
"""What is done on the timer, each in a house of its own, so that each reads the time once."""


class Watcher:
    """The one watcher of a workspace; `end` may be called from a signal handler."""

    def __init__(self, root: Path, hints: FileEvents) -> None:
        self._root, self._hints = root, hints

    def run(
        self,
        *,
        interval_seconds: float,
        on_report: Callable[[ReindexReport], object],
        on_error: Callable[[LineageError], object],
        tasks: Sequence[PeriodicTask] = PERIODIC_TASKS,
    ) -> None:
        """Watches until `end` is called, and finishes the round that runs then. `every` is in seconds.

        What the parameters get is told by `Watch`.
        """
        bound = [_bind_task(self._root, chore) for chore in tasks]
        watch = Watch(self._hints.listen, lambda: reconcile(self._root), bound, on_report=on_report, on_error=on_error)
        watch.run(iter_occasions(self._hints, time.monotonic, every=interval_seconds))

    def stop(self) -> None:
        """Asks for the end."""
        self._hints.stop()


@contextmanager
def open_watcher(root: Path) -> Iterator[Watcher]:
    """The right to watch a workspace, held until the block ends.

    Raises BusyError where somebody watches it, WorkspaceError where there is none, InvalidInput for its settings.
    """
    open_workspace(root).close()
    with ExitStack() as held:
        try:
            held.enter_context(LocalStore(root).lock("watch", wait=False))
        except BusyError as error:
            hint = "one watcher is enough: end the other one first"
            raise BusyError(f"{format_location(root)} is watched already", hint=hint) from error
        yield Watcher(root, held.enter_context(FileEvents(root)))


def run_once(root: Path, tasks: Sequence[PeriodicTask] = PERIODIC_TASKS) -> ReindexReport:
    """A single round, with the chores. Raises SuddenLoss, having changed nothing."""
    report = reconcile(root)
    for chore in tasks:
        run_in_workspace(root, chore)
    return report


def reconcile(root: Path) -> ReindexReport:
    """Makes rows and MEMORY.md what the files say; an index that is missing or damaged is begun anew. A burst is read
    by several processes, which end with it."""
    with open_worker_pool(min(os.cpu_count() or 1, _MAX_JOBS)) as pool:
        return run_in_workspace(root, partial(reindex, executor=pool.pool), needs_index=False)


def _bind_task(root: Path, task: PeriodicTask) -> Callable[[], object]:
    return lambda: run_in_workspace(root, task)
