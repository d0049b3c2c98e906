"""Leases: a record with a generation that grows by one with every holder. (spec: concurrency contract)

The lease saves work; what keeps a key safe is that the generation is checked in the same critical section as the
write, and the compare-and-swap after it. In a remote store, whose mutexes pass on as leases do, a critical section
promises no more than the swaps: there the lease moves by a swap, and its generation is checked between the reading of
a key and the key's swap. Expiry is measured by the waiter's own monotonic clock: a lease that has not moved for its
whole time to live is taken over, whatever anybody's wall clock says.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from typing import NamedTuple

from lineage.errors import LineageError
from lineage.store.base import Blob, BusyError, ConflictError, ExistsError, Store, validate_key
from lineage.store.helpers import read_or_none, update

_PREFIX = ".lineage/locks/"
_POLL_SECONDS = 0.005
_QUEUE_POLL_SECONDS = 0.02  # there may be many who wait for their turn
_REMOTE_POLL, _MAX_REMOTE_POLL, _GROWTH = 0.05, 0.5, 1.5  # a request each


class _Record(NamedTuple):
    """What the lease's key holds. `holder` names a running process: machine, id and start."""

    generation: int = 0
    holder: str = ""
    free: bool = True

    def as_bytes(self) -> bytes:
        return json.dumps(self._asdict(), sort_keys=True).encode()


class LeaseLost(LineageError):
    """Somebody else holds the lease by now: what was made under it is out of date."""


class LeaseUnneeded(LineageError):
    """While it was waited for, the lease's holder did what it was wanted for."""


LeaseWaiter = Callable[[float], bool]
"""Waits for so many seconds at most; whether the lease is not needed any more."""


class Lease(NamedTuple):
    """A held lease: the right to write `name` for as long as nobody holds a later generation. `version` is that of the
    record that says so."""

    store: Store
    name: str
    generation: int
    version: str

    def run_guarded(self, write: Callable[[], bool]) -> bool:
        """Runs `write` in the critical section, after checking that this generation still holds.

        Raises LeaseLost where the lease was taken over, given back or is gone: the caller renders again.
        """
        with _guard_lock(self.store, self.name):
            self._check_held()
            return write()

    def write(self, key: str, data: bytes) -> bool:
        """Makes a key hold these bytes; False where it does already. Whoever holds a later generation and wrote the key
        is not written over: raises LeaseLost as `guarded` does."""
        if not self.store.is_remote:
            return self.run_guarded(lambda: update(self.store, key, lambda _: data))
        return update(self.store, key, lambda _: self._check_held() or data)

    def _check_held(self) -> None:
        if _parse_record(read_or_none(self.store, _key(self.name))) != _Record(
            self.generation, _holder_id(), free=False
        ):
            raise LeaseLost(f"the lease of {self.name} passed on", hint="run the command again")


@contextmanager
def acquire_lease(store: Store, name: str, ttl: float = 10.0, *, waiter: LeaseWaiter | None = None) -> Iterator[Lease]:
    """Holds the lease `name` (letters, digits, dashes). Waits for its holder, at most `ttl` seconds after its last
    move; the lease of a holder on this machine that no longer runs is taken over at once.

    `unless` is what waits, each time that there is something to wait for, and is asked before the lease is taken after
    that: raises LeaseUnneeded where the answer is True.
    """
    validate_key(_key(name))
    held = _acquire(store, name, _WaitPolicy(ttl, waiter))
    try:
        yield held
    finally:
        with contextlib.suppress(ConflictError):
            store.replace(_key(name), _Record(held.generation).as_bytes(), held.version)


class _WaitPolicy:
    """How long a lease may stand still, and what else ends the waiting for it."""

    def __init__(self, ttl: float, waiter: LeaseWaiter | None) -> None:
        self.ttl = ttl
        self.waiter = waiter
        self.has_waited = False

    def wait(self, seconds: float) -> None:
        self.has_waited = True
        if not self.waiter:
            time.sleep(seconds)
        elif self.waiter(seconds):
            raise LeaseUnneeded("somebody else did it")

    def check(self) -> None:
        if self.has_waited and self.waiter:
            self.wait(0.0)


@contextmanager
def _hold_queue_head(store: Store, name: str, policy: _WaitPolicy) -> Iterator[None]:
    """The first place in the queue for a lease."""
    with ExitStack() as held:
        while policy.waiter:
            try:
                held.enter_context(_store_lock(store, f"turn-{name}", wait=False))
                break
            except BusyError:
                policy.wait(_QUEUE_POLL_SECONDS)
        else:
            held.enter_context(_store_lock(store, f"turn-{name}"))
        yield


def _acquire(store: Store, name: str, policy: _WaitPolicy) -> Lease:
    """The lease with a generation of this process's own. The others queue: one watches the lease, so that a crowd of
    losers does not keep the winner from its own write."""
    with _hold_queue_head(store, name, policy):
        watched, since = "", time.monotonic()
        pause = _REMOTE_POLL if store.is_remote else _POLL_SECONDS
        while True:
            blob = read_or_none(store, _key(name))
            record = _parse_record(blob)
            if blob and blob.version != watched:
                watched, since = blob.version, time.monotonic()
            if record.free or _is_dead(record.holder) or time.monotonic() - since >= policy.ttl:
                policy.check()
                with contextlib.suppress(BusyError, ConflictError, ExistsError), _guard_lock(store, name, wait=False):
                    return _take(store, name, blob, record.generation + 1)
            policy.wait(pause)
            pause = min(pause * _GROWTH, _MAX_REMOTE_POLL) if store.is_remote else pause


def _guard_lock(store: Store, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
    """The critical section in which the lease moves and its holder writes."""
    return _store_lock(store, f"guard-{name}", wait=wait)


def _store_lock(store: Store, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
    """A mutex of the store, nothing where it is remote: there the swaps are what counts."""
    return nullcontext() if store.is_remote else store.lock(name, wait=wait)


def _take(store: Store, name: str, blob: Blob | None, generation: int) -> Lease:
    """Raises ConflictError and ExistsError where somebody else was faster."""
    data = _Record(generation, _holder_id(), free=False).as_bytes()
    version = store.replace(_key(name), data, blob.version) if blob else store.create(_key(name), data)
    return Lease(store, name, generation, version)


def _parse_record(blob: Blob | None) -> _Record:
    """The lease's record; a missing or damaged one is free, its generation starts again."""
    if blob is None:
        return _Record()
    try:
        found = json.loads(blob.data)
        return _Record(int(found["generation"]), str(found["holder"]), bool(found["free"]))
    except (ValueError, TypeError, KeyError):
        return _Record()


def _key(name: str) -> str:
    return f"{_PREFIX}{name}.lease"


@cache
def get_machine_id() -> str:
    """This boot of this machine and, in a container, its process namespace: a process id means nothing elsewhere."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()}-{os.readlink('/proc/self/ns/pid')}"
    import socket  # noqa: PLC0415  (Linux tells who this is)

    return socket.gethostname()


def _read_start_time(pid: int) -> str:
    """When a process started, so that a reused id is not mistaken for its former owner; empty where unknown, and for
    one that ended and was not collected by its parent yet."""
    with (
        contextlib.suppress(OSError, IndexError),
        open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file,
    ):
        state, *fields = file.read().rpartition(")")[2].split()
        return "" if state in "ZX" else fields[18]
    return ""


def _holder_id() -> str:
    return f"{get_machine_id()} {os.getpid()} {_read_start_time(os.getpid())}"


def _is_dead(holder: str) -> bool:
    parts = holder.split(" ")
    if len(parts) != 3 or parts[0] != get_machine_id() or not parts[1].isdigit():
        return False
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return bool(parts[2]) and _read_start_time(int(parts[1])) != parts[2]
