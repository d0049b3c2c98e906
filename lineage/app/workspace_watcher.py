"""`lineage admin watch`: the loop of pipeline/maintenance/watch.py over real folders and a real clock."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from lineage.app.documents import detect_machine
from lineage.app.fs_events import FileEvents
from lineage.app.locations import format_location
from lineage.app.workspace import open_workspace, run_in_workspace
from lineage.core.base import hook_protocol
from lineage.errors import LineageError
from lineage.pipeline.ingest.worker import drain, sweep
from lineage.pipeline.ingest.worker_pool import count_readers, open_worker_pool
from lineage.pipeline.maintenance.reindex import ReindexReport, reindex
from lineage.pipeline.maintenance.watch import Watch, iter_occasions
from lineage.store import BusyError, LocalStore
from lineage.workspace.workspace import Workspace

PeriodicTask = Callable[[Workspace], object]


def _drain_hooks(ws: Workspace) -> None:
    """Drain the hook queue, unless a worker is doing it."""
    with ExitStack() as lock:
        try:
            lock.enter_context(ws.documents.hook_queue.store.lock(hook_protocol.WORKER_LOCK, wait=False))
        except BusyError:
            return
        drain(ws, detect_machine())


PERIODIC_TASKS: Sequence[PeriodicTask] = (_drain_hooks, lambda ws: sweep(ws, detect_machine()))
"""The tasks on the timer. Each opens the workspace anew: the time is read once per use case."""


class Watcher:
    """The one watcher of a workspace."""

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
        """Watch until `stop` is called, and finish the running round. The callbacks are those of `Watch`."""
        bound_tasks = [partial(run_in_workspace, self._root, task) for task in tasks]
        watch = Watch(
            self._hints.listen, lambda: reconcile(self._root), bound_tasks, on_report=on_report, on_error=on_error
        )
        watch.run(iter_occasions(self._hints, time.monotonic, every=interval_seconds))

    def stop(self) -> None:
        """End the watch. Safe in a signal handler."""
        self._hints.stop()


@contextmanager
def open_watcher(root: Path) -> Iterator[Watcher]:
    """Hold the right to watch a workspace until the block ends.

    Raises BusyError for a watched workspace, WorkspaceError for a missing one, InvalidInput for its settings.
    """
    open_workspace(root).close()  # errors of the settings show now, not in the first round
    with ExitStack() as stack:
        try:
            stack.enter_context(LocalStore(root).lock("watch", wait=False))
        except BusyError as error:
            hint = "one watcher is enough: end the other one first"
            raise BusyError(f"{format_location(root)} is watched already", hint=hint) from error
        yield Watcher(root, stack.enter_context(FileEvents(root)))


def run_once(root: Path, tasks: Sequence[PeriodicTask] = PERIODIC_TASKS) -> ReindexReport:
    """Run a single round with its tasks. Raises SuddenLoss, having changed nothing."""
    report = reconcile(root)
    for task in tasks:
        run_in_workspace(root, task, in_place=True)
    return report


def reconcile(root: Path) -> ReindexReport:
    """Bring rows and MEMORY.md up to the files; a missing or damaged index is built anew.

    Several processes read a burst of changes, and end with it.
    """
    with open_worker_pool(count_readers()) as pool:
        return run_in_workspace(root, partial(reindex, executor=pool.pool), needs_index=False, in_place=True)
