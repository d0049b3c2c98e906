"""Work that is spread over processes: bounded in number, and gone with the process that started them."""

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

_CHUNK = 4
_SWITCH_SECONDS = 0.0005  # a tenth of Python's own

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """Processes that wait for work; without a pool this process does it itself."""

    pool: Executor | None = None

    def map_chunks(
        self,
        work: Callable[[Sequence[Item]], list[Result]],
        items: Sequence[Item],
        progress: Callable[[int, int], None],
        *,
        chunk: int = _CHUNK,
    ) -> list[Result]:
        """The result of every item, in the items' order. `work` takes `chunk` at a time, and can be pickled, as can
        what it takes, gives and raises. `progress` is told how many of how many are done."""
        chunks = [items[start : start + chunk] for start in range(0, len(items), chunk)]
        found: list[Result] = []
        for results in self.pool.map(work, chunks) if self.pool and len(chunks) > 1 else map(work, chunks):
            found += results
            progress(len(found), len(items))
        return found


class _LazyProcesses(Executor):
    """Processes that begin with the first work that there is for them: a few files need none."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_start_process)
        return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._pool:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)


@contextmanager
def open_worker_pool(jobs: int) -> Iterator[WorkerPool]:
    """At most `jobs` processes; with one, there is none but this. Raises LineageError where one of them dies."""
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
    """What a process does first. An interrupt is its parent's to decide on; without the parent it has no work.

    SQLite lets go of the interpreter at every row: a thread that writes rows, for which other processes wait, gets it
    back soon from those that compute."""
    os.environ["LINEAGE_SUPPRESS"] = "1"
    sys.setswitchinterval(_SWITCH_SECONDS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
    os._exit(1)
