"""The worker's process: one for a workspace, bounded in time and memory, gone when there is nothing left to do."""

import contextlib
import os
import time
from datetime import datetime
from pathlib import Path

from lineage.app import STATE, now, with_house
from lineage.canon import Signals
from lineage.core import doorbell
from lineage.pipeline.house import House
from lineage.pipeline.locating import Machine
from lineage.pipeline.sweeping import IDLE_MINUTES, Swept, sweep
from lineage.pipeline.working import Drained, drain
from lineage.store import BusyError, LocalStore

_MOST_SECONDS = 600
_LONGEST_WAIT = 60.0
_MOST_MEMORY = 4 << 30


def machine() -> Machine:
    return Machine(Path.home(), os.environ)


def work(root: Path) -> list[Drained]:
    """Drains the spool until nothing is due, waiting for what is tried again soon; what was done, round by round.

    Where another worker runs, it does it: a signal that comes while that one ends is seen by one of the two.
    """
    _bound_memory()
    private = LocalStore(root / STATE, locks=root / STATE / "locks", private=True)
    deadline = time.monotonic() + _MOST_SECONDS
    done: list[Drained] = []
    while time.monotonic() < deadline:
        try:
            with private.mutex(doorbell.WORKER, wait=False):
                done += _rounds(root, deadline)
        except BusyError:
            break
        if not any(rung.not_before <= now() for rung in Signals(private).pending()):
            break
    return done


def swept(root: Path, *, idle_minutes: int) -> Swept:
    """What hooks signalled first, then the sessions that ended without a signal."""

    def both(house: House) -> Swept:
        drain(house, machine())
        return sweep(house, machine(), idle_minutes=idle_minutes)

    return with_house(root, both)


def _rounds(root: Path, deadline: float) -> list[Drained]:
    done = []
    while time.monotonic() < deadline:
        done.append(with_house(root, _round, create=True))
        due = done[-1].next_due
        wait = _seconds_until(due) if due else None
        if wait is None or wait > _LONGEST_WAIT:
            break
        time.sleep(max(wait, 0))
    return done


def _round(house: House) -> Drained:
    done = drain(house, machine())
    if done.started:
        sweep(house, machine(), idle_minutes=IDLE_MINUTES)
    return done


def _seconds_until(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() - time.time()


def _bound_memory() -> None:
    """A transcript that is read into memory must not take the machine's; where there are no such limits, there are
    none."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, resource.RLIM_INFINITY))
