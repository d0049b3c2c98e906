"""Checks of a store's promises, alone and with processes that race for the same keys.

The checks write below `.lineage/probe-…/` of the store and delete that afterwards. A race needs a store that another
process can open.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from typing import Any, TypeVar

from lineage.interrupts import hold_interrupts
from lineage.store.base import ConflictError, ExistsError, Store
from lineage.store.helpers import read_or_none

PROCESSES = 16

_KEYS = 12
_SWAPS = 6
_WAIT_SECONDS = 120
_DATA = bytes(range(256)) * 1200

Result = TypeVar("Result")

_barrier: Any = None


@dataclass(frozen=True, slots=True)
class ConformanceResult:
    """A promise of the store's protocol and its violation, "" if there is none."""

    name: str
    violation: str


def check_conformance(store: Store, processes: int = PROCESSES) -> Iterator[ConformanceResult]:
    """Yield the result of each check as soon as it is known. Raises the store's error if it cannot be used."""
    with _probe_folder(store) as folder:
        for name, check in _SEQUENTIAL_CHECKS.items():
            yield ConformanceResult(name, check(store, folder))
        with _ProcessRace(processes) as race:
            violation = _check_concurrent_creates(store, folder, race)
            yield ConformanceResult("of many who create a key one succeeds", violation)
            yield ConformanceResult("no swap is lost", _check_concurrent_swaps(store, folder, race))


def find_sequential_violation(store: Store) -> str:
    """Return the first violation without a race, "" if there is none.

    A store without conditional writes has one.
    """
    with _probe_folder(store) as folder:
        results = ((name, check(store, folder)) for name, check in _SEQUENTIAL_CHECKS.items())
        return next((f"{name}: {violation}" for name, violation in results if violation), "")


@contextmanager
def _probe_folder(store: Store) -> Iterator[str]:
    folder = f".lineage/probe-{secrets.token_hex(8)}/"
    try:
        yield folder
    finally:
        for entry in list(store.list(folder)):
            store.delete(entry.key)


def _check_read_back(store: Store, folder: str) -> str:
    version = store.create(f"{folder}kept", _DATA)
    blob = store.read(f"{folder}kept")
    if blob.data != _DATA:
        return f"{len(_DATA)} bytes were written, {len(blob.data)} others read"
    return "" if blob.version == version else "the version that is read is not the one that was written"


def _check_create_once(store: Store, folder: str) -> str:
    store.create(f"{folder}once", b"first")
    try:
        store.create(f"{folder}once", b"second")
    except ExistsError:
        return "" if store.read(f"{folder}once").data == b"first" else "what was refused is there all the same"
    return "a key that was taken was created again"


def _check_compare_and_swap(store: Store, folder: str) -> str:
    key = f"{folder}swapped"
    first = store.create(key, b"1")
    second = store.replace(key, b"2", first)
    if second == first:
        return "a version stayed the same when the content changed"
    if not _has_conflict(store, key, first) or store.read(key).data != b"2":
        return "a write over an old version was not refused"
    store.delete(key)
    if not _has_conflict(store, key, second) or read_or_none(store, key):
        return "a write over a deleted key was not refused"
    return ""


def _has_conflict(store: Store, key: str, version: str) -> bool:
    try:
        store.replace(key, b"stale", version)
    except ConflictError:
        return True
    return False


def _check_listing(store: Store, folder: str) -> str:
    keys = [f"{folder}listed/{name}" for name in ("Z", "a", "a-b", "a.b", "ä")]
    for key in reversed(keys):
        store.create(key, b"")
        if key not in _list_keys(store, f"{folder}listed/"):
            return "a key that was created is not listed"
    if _list_keys(store, f"{folder}listed/") != keys:
        return "a listing is not in the order of the keys"
    stamps = {entry.key: entry.stamp for entry in store.list(f"{folder}listed/")}
    if stamps[keys[0]] != store.read(keys[0]).stamp:
        return "a listing shows another stamp than a reading"
    store.delete(keys[0])
    return "a key that was deleted is listed" if keys[0] in _list_keys(store, f"{folder}listed/") else ""


def _list_keys(store: Store, prefix: str) -> list[str]:
    return [entry.key for entry in store.list(prefix)]


def _check_delete(store: Store, folder: str) -> str:
    key = f"{folder}deleted"
    store.create(key, b"")
    for _ in range(2):
        store.delete(key)
        if read_or_none(store, key):
            return "a key that was deleted can be read"
    return ""


_SEQUENTIAL_CHECKS: dict[str, Callable[[Store, str], str]] = {
    "what is written is read": _check_read_back,
    "a key is created once": _check_create_once,
    "a key is replaced by version": _check_compare_and_swap,
    "a listing shows what was written": _check_listing,
    "a key is deleted, and again": _check_delete,
}


class _ProcessRace:
    """A pool of numbered processes that start each piece of work at the same moment."""

    def __init__(self, processes: int) -> None:
        context: Any = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
        with hold_interrupts():  # it starts a process that tracks resources
            self._size, barrier = processes, context.Barrier(processes)
        self._pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_set_barrier, initargs=(barrier,))

    def __enter__(self) -> "_ProcessRace":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run_all(self, work: Callable[[Store, str, int], Result], store: Store, folder: str) -> Sequence[Result]:
        """Run the work once in each process and return the results."""
        with hold_interrupts():  # it may start processes
            futures = [self._pool.submit(_run, work, store, folder, number) for number in range(self._size)]
        return [future.result() for future in futures]


def _set_barrier(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603  (a barrier reaches a process only when it starts)
    _barrier = barrier


def _run(work: Callable[[Store, str, int], Result], store: Store, folder: str, number: int) -> Result:
    _barrier.wait(_WAIT_SECONDS)
    return work(store, folder, number)


def _check_concurrent_creates(store: Store, folder: str, race: _ProcessRace) -> str:
    created = race.run_all(_create_many, store, folder)
    for number in range(_KEYS):
        winners = [process for process, numbers in enumerate(created) if number in numbers]
        if len(winners) != 1:
            return f"of {len(created)} who created a key {len(winners)} were told that they did"
        if store.read(f"{folder}race-{number}").data != _payload(winners[0]):
            return "a key holds what somebody wrote who was told that it was taken"
    return ""


def _create_many(store: Store, folder: str, process: int) -> set[int]:
    created = set()
    for number in range(_KEYS):
        with suppress(ExistsError):
            store.create(f"{folder}race-{number}", _payload(process))
            created.add(number)
    return created


def _payload(process: int) -> bytes:
    return str(process).encode() * 1000


def _check_concurrent_swaps(store: Store, folder: str, race: _ProcessRace) -> str:
    store.create(f"{folder}count", b"0")
    expected = sum(race.run_all(_count_up, store, folder))
    found = int(store.read(f"{folder}count").data)
    return "" if found == expected else f"of {expected} swaps that succeeded {expected - found} are lost"


def _count_up(store: Store, folder: str, process: int) -> int:
    """Add one to a shared counter several times and return the number of times."""
    del process
    swaps = 0
    while swaps < _SWAPS:
        blob = store.read(f"{folder}count")
        with suppress(ConflictError):
            store.replace(f"{folder}count", str(int(blob.data) + 1).encode(), blob.version)
            swaps += 1
    return swaps
