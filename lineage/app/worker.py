"""The worker's process: one for a workspace, bounded in time and memory, gone when there is nothing left to do."""

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from lineage.app import clock
from lineage.app.locations import open_private_store
from lineage.app.machine_config import STATE_FOLDER, detect_machine
from lineage.app.workspace import run_in_workspace
from lineage.core.base import hook_protocol
from lineage.documents import HookQueue
from lineage.pipeline.capture.result import CAPTURED
from lineage.pipeline.ingest.sweep import IDLE_MINUTES, SweepResult, sweep
from lineage.pipeline.ingest.worker import DrainResult, drain
from lineage.pipeline.search.embeddings import embed_pending
from lineage.store import BusyError, LocalStore
from lineage.workspace.workspace import Workspace

_MAX_SECONDS = 600
_MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.5
_MAX_MEMORY_BYTES = 4 << 30


def run_worker(root: Path) -> list[DrainResult]:
    """Drains the spool until nothing is due, waiting for what is tried again soon; what was done, round by round.

    Where another worker runs, it does it: a signal that comes while that one ends is seen by one of the two.
    """
    with _limit_memory():
        return _drain_until_idle(root)


def _drain_until_idle(root: Path) -> list[DrainResult]:
    handed_over = _take_inherited_lock(root)
    private = open_private_store(root)
    deadline = time.monotonic() + _MAX_SECONDS
    done: list[DrainResult] = []
    while time.monotonic() < deadline:
        try:
            with handed_over or private.lock(hook_protocol.WORKER_LOCK, wait=False):
                done += _run_rounds(root, private, deadline)
        except BusyError:
            break
        handed_over = None
        if not _is_due(private):
            break
    return done


def _take_inherited_lock(root: Path) -> AbstractContextManager[object] | None:
    """The worker's lock, where the doorbell took it for this process; None where somebody called the command."""
    with contextlib.suppress(OSError):
        lock = (root / STATE_FOLDER / "locks" / f"{hook_protocol.WORKER_LOCK}.lock").stat()
        if os.path.samestat(os.fstat(hook_protocol.WORKER_LOCK_FD), lock):
            os.set_inheritable(hook_protocol.WORKER_LOCK_FD, False)
            return open(hook_protocol.WORKER_LOCK_FD, "rb")  # noqa: PTH123  (a descriptor, closed where it is used)
    return None


def drain_and_sweep(root: Path, *, idle_minutes: int) -> SweepResult:
    """What hooks signalled first, then the sessions that ended without a signal."""

    def both(ws: Workspace) -> SweepResult:
        drain(ws, detect_machine())
        return sweep(ws, detect_machine(), idle_minutes=idle_minutes)

    return run_in_workspace(root, both)


def _run_rounds(root: Path, private: LocalStore, deadline: float) -> list[DrainResult]:
    done = []
    while time.monotonic() < deadline:
        done.append(run_in_workspace(root, lambda ws: _run_round(ws, deadline, private), create=True))
        due = done[-1].next_due
        if not due or _seconds_until(due) > _MAX_WAIT_SECONDS:
            break
        while not _is_due(private) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    return done


def _is_due(private: LocalStore) -> bool:
    moment = clock.now()
    return any(rung.not_before <= moment for rung in HookQueue(private).list_pending())


def _run_round(ws: Workspace, deadline: float, private: LocalStore) -> DrainResult:
    done = drain(ws, detect_machine(), should_continue=lambda: time.monotonic() < deadline)
    if done.started:
        swept = sweep(ws, detect_machine(), idle_minutes=IDLE_MINUTES)
        done.outcomes.update({CAPTURED: len(swept.captured)} if swept.captured else {})
        done.put_off += swept.failed
    if ws.embedding is not None:
        _embed(ws, deadline, private, done)
    return done


def _embed(ws: Workspace, deadline: float, private: LocalStore, done: DrainResult) -> None:
    """Embeds some of what has no vector, until a signal waits or a bound is reached: captures can't wait, this can."""
    if ws.embedding is None:
        return
    until = min(deadline, time.monotonic() + ws.embedding.max_seconds)
    made = embed_pending(
        ws,
        max_passages=ws.embedding.max_passages,
        should_continue=lambda: time.monotonic() < until and not _is_due(private),
    )
    done.embedded, done.unembedded = made.embedded, made.failed


def _seconds_until(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() - time.time()


@contextlib.contextmanager
def _limit_memory() -> Iterator[None]:
    """A transcript that is read into memory must not take the machine's; where there are no such limits, there are
    none. The process has its own limit again afterwards: it may be more than a worker."""
    with contextlib.ExitStack() as undo:
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            before = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, before[1]))
            undo.callback(resource.setrlimit, resource.RLIMIT_AS, before)
        yield
