"""The worker's process: one for a workspace, bounded in time and memory, gone when there is nothing left to do."""

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from lineage.app import STATE, now, with_house
from lineage.canon import Signals
from lineage.core import doorbell
from lineage.pipeline.house import CAPTURED, House
from lineage.pipeline.incoming.locating import Machine
from lineage.pipeline.incoming.sweeping import IDLE_MINUTES, Swept, sweep
from lineage.pipeline.incoming.working import Drained, drain
from lineage.store import BusyError, LocalStore

_MOST_SECONDS = 600
_LONGEST_WAIT = 60.0
_LOOK_AGAIN = 0.5
_MOST_MEMORY = 4 << 30


def machine() -> Machine:
    return Machine(Path.home(), os.environ)


def work(root: Path) -> list[Drained]:
    """Drains the spool until nothing is due, waiting for what is tried again soon; what was done, round by round.

    Where another worker runs, it does it: a signal that comes while that one ends is seen by one of the two.
    """
    with _bounded_memory():
        return _turns(root)


def _turns(root: Path) -> list[Drained]:
    handed_over = _handed_over(root)
    private = LocalStore(root / STATE, locks=root / STATE / "locks", private=True)
    deadline = time.monotonic() + _MOST_SECONDS
    done: list[Drained] = []
    while time.monotonic() < deadline:
        try:
            with handed_over or private.mutex(doorbell.WORKER, wait=False):
                done += _rounds(root, private, deadline)
        except BusyError:
            break
        handed_over = None
        if not _is_due(private):
            break
    return done


def _handed_over(root: Path) -> AbstractContextManager[object] | None:
    """The worker's lock, where the doorbell took it for this process; None where somebody called the command."""
    with contextlib.suppress(OSError):
        lock = (root / STATE / "locks" / f"{doorbell.WORKER}.lock").stat()
        if os.path.samestat(os.fstat(doorbell.LOCK_DESCRIPTOR), lock):
            os.set_inheritable(doorbell.LOCK_DESCRIPTOR, False)
            return open(doorbell.LOCK_DESCRIPTOR, "rb")  # noqa: PTH123  (a descriptor, closed where it is used)
    return None


def swept(root: Path, *, idle_minutes: int) -> Swept:
    """What hooks signalled first, then the sessions that ended without a signal."""

    def both(house: House) -> Swept:
        drain(house, machine())
        return sweep(house, machine(), idle_minutes=idle_minutes)

    return with_house(root, both)


def _rounds(root: Path, private: LocalStore, deadline: float) -> list[Drained]:
    done = []
    while time.monotonic() < deadline:
        done.append(with_house(root, lambda house: _round(house, deadline, private), create=True))
        due = done[-1].next_due
        if not due or _seconds_until(due) > _LONGEST_WAIT:
            break
        while not _is_due(private) and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN)
    return done


def _is_due(private: LocalStore) -> bool:
    moment = now()
    return any(rung.not_before <= moment for rung in Signals(private).pending())


def _round(house: House, deadline: float, private: LocalStore) -> Drained:
    done = drain(house, machine(), may_go_on=lambda: time.monotonic() < deadline)
    if done.started:
        swept = sweep(house, machine(), idle_minutes=IDLE_MINUTES)
        done.outcomes.update({CAPTURED: len(swept.captured)} if swept.captured else {})
        done.put_off += swept.failed
    if house.embedding is not None:
        _embed(house, deadline, private, done)
    return done


def _embed(house: House, deadline: float, private: LocalStore, done: Drained) -> None:
    """Embeds some of what has no vector, until a signal waits or a bound is reached: captures can't wait, this can."""
    from lineage.pipeline.embedding import embed

    if house.embedding is None:
        return
    until = min(deadline, time.monotonic() + house.embedding.seconds)
    made = embed(
        house,
        most=house.embedding.passages,
        may_go_on=lambda: time.monotonic() < until and not _is_due(private),
    )
    done.embedded, done.unembedded = made.embedded, made.failed


def _seconds_until(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() - time.time()


@contextlib.contextmanager
def _bounded_memory() -> Iterator[None]:
    """A transcript that is read into memory must not take the machine's; where there are no such limits, there are
    none. The process has its own limit again afterwards: it may be more than a worker."""
    with contextlib.ExitStack() as undo:
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            before = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, before[1]))
            undo.callback(resource.setrlimit, resource.RLIMIT_AS, before)
        yield
