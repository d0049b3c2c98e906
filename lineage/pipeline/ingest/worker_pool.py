"""A pool of worker processes, bounded in number, that ends with its parent."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from lineage.errors import LineageError
from lineage.interrupts import hold_interrupts

_CHUNK = 4
_MAX_READERS = 4
_SWITCH_SECONDS = 0.0005  # a tenth of Python's own

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """Worker processes; without a pool this process does the work."""

    pool: Executor | None = None

    def map_chunks(
        self,
        work: Callable[[Sequence[Item]], list[Result]],
        items: Sequence[Item],
        progress: Callable[[int, int], None],
        *,
        chunk: int = _CHUNK,
    ) -> list[Result]:
        """Return the result of every item, in order.

        `work` gets `chunk` items at a time; it, its items, results and errors can be pickled. `progress` is called with
        (done, total).
        """
        chunks = [items[start : start + chunk] for start in range(0, len(items), chunk)]
        results: list[Result] = []
        for part in self.pool.map(work, chunks) if self.pool and len(chunks) > 1 else map(work, chunks):
            results += part
            progress(len(results), len(items))
        return results


class _LazyProcesses(Executor):
    """Processes that start with the first work: a few files need none."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        if self._pool is None:
            # Not fork: this process has threads and open databases.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_start_process)
        with hold_interrupts():  # it may start processes
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._pool:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)


def count_readers() -> int:
    """Return the default number of processes that read files for one that writes rows."""
    # The writer keeps a processor busy; with one more, sending rows costs about what reading beside it gains.
    processors = os.cpu_count() or 1
    return min(processors, _MAX_READERS) if processors > 2 else 1


@contextmanager
def open_worker_pool(jobs: int) -> Iterator[WorkerPool]:
    """Open a pool of at most `jobs` processes; with one, this process. Raise LineageError if one of them dies."""
    if jobs == 1:
        yield WorkerPool()
        return
    pool = _LazyProcesses(jobs)
    try:
        yield WorkerPool(pool)
    except BrokenProcessPool as error:
        raise LineageError(
            "a process died in the middle of its work: was there too little memory?",
            hint="run the command again, with `--jobs 1` if it happens again: it goes on where it was",
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _start_process() -> None:
    os.environ["LINEAGE_SUPPRESS"] = "1"
    # SQLite releases the interpreter at every row. The thread that writes rows, for which other processes wait, must
    # get it back soon from threads that compute.
    sys.setswitchinterval(_SWITCH_SECONDS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides on an interrupt, on Windows too
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    # A killed parent cannot stop its children: each waits for its end in a thread.
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)
