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
from lineage.store.base import Blob, BusyError, ConflictError, ExistsError, Store, checked_key
from lineage.store.operations import read_or_none, update

_PREFIX = ".lineage/locks/"
_POLL_SECONDS = 0.005
_TURN_SECONDS = 0.02  # there may be many who wait for their turn
_REMOTE_POLL, _LONGEST_POLL, _GROWTH = 0.05, 0.5, 1.5  # a request each


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


Unless = Callable[[float], bool]
"""Waits for so many seconds at most; whether the lease is not needed any more."""


class Lease(NamedTuple):
    """A held lease: the right to write `name` for as long as nobody holds a later generation. `version` is that of the
    record that says so."""

    store: Store
    name: str
    generation: int
    version: str

    def guarded(self, write: Callable[[], bool]) -> bool:
        """Runs `write` in the critical section, after checking that this generation still holds.

        Raises LeaseLost where the lease was taken over, given back or is gone: the caller renders again.
        """
        with _guard(self.store, self.name):
            self._check()
            return write()

    def put(self, key: str, data: bytes) -> bool:
        """Makes a key hold these bytes; False where it does already. Whoever holds a later generation and wrote the key
        is not written over: raises LeaseLost as `guarded` does."""
        if not self.store.is_remote:
            return self.guarded(lambda: update(self.store, key, lambda _: data))
        return update(self.store, key, lambda _: self._check() or data)

    def _check(self) -> None:
        if _record(read_or_none(self.store, _key(self.name))) != _Record(self.generation, _myself(), free=False):
            raise LeaseLost(f"the lease of {self.name} passed on", hint="run the command again")


@contextmanager
def lease(store: Store, name: str, ttl: float = 10.0, *, unless: Unless | None = None) -> Iterator[Lease]:
    """Holds the lease `name` (letters, digits, dashes). Waits for its holder, at most `ttl` seconds after its last
    move; the lease of a holder on this machine that no longer runs is taken over at once.

    `unless` is what waits, each time that there is something to wait for, and is asked before the lease is taken after
    that: raises LeaseUnneeded where the answer is True.
    """
    checked_key(_key(name))
    held = _acquired(store, name, _Patience(ttl, unless))
    try:
        yield held
    finally:
        with contextlib.suppress(ConflictError):
            store.replace(_key(name), _Record(held.generation).as_bytes(), held.version)


class _Patience:
    """How long a lease may stand still, and what else ends the waiting for it."""

    def __init__(self, ttl: float, unless: Unless | None) -> None:
        self.ttl = ttl
        self.unless = unless
        self.waited = False

    def wait(self, seconds: float) -> None:
        self.waited = True
        if not self.unless:
            time.sleep(seconds)
        elif self.unless(seconds):
            raise LeaseUnneeded("somebody else did it")

    def check(self) -> None:
        if self.waited and self.unless:
            self.wait(0.0)


@contextmanager
def _turn(store: Store, name: str, patience: _Patience) -> Iterator[None]:
    """The first place in the queue for a lease."""
    with ExitStack() as held:
        while patience.unless:
            try:
                held.enter_context(_mutex(store, f"turn-{name}", wait=False))
                break
            except BusyError:
                patience.wait(_TURN_SECONDS)
        else:
            held.enter_context(_mutex(store, f"turn-{name}"))
        yield


def _acquired(store: Store, name: str, patience: _Patience) -> Lease:
    """The lease with a generation of this process's own. The others queue: one watches the lease, so that a crowd of
    losers does not keep the winner from its own write."""
    with _turn(store, name, patience):
        watched, since = "", time.monotonic()
        pause = _REMOTE_POLL if store.is_remote else _POLL_SECONDS
        while True:
            blob = read_or_none(store, _key(name))
            record = _record(blob)
            if blob and blob.version != watched:
                watched, since = blob.version, time.monotonic()
            if record.free or _is_dead(record.holder) or time.monotonic() - since >= patience.ttl:
                patience.check()
                with contextlib.suppress(BusyError, ConflictError, ExistsError), _guard(store, name, wait=False):
                    return _taken(store, name, blob, record.generation + 1)
            patience.wait(pause)
            pause = min(pause * _GROWTH, _LONGEST_POLL) if store.is_remote else pause


def _guard(store: Store, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
    """The critical section in which the lease moves and its holder writes."""
    return _mutex(store, f"guard-{name}", wait=wait)


def _mutex(store: Store, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
    """A mutex of the store, nothing where it is remote: there the swaps are what counts."""
    return nullcontext() if store.is_remote else store.mutex(name, wait=wait)


def _taken(store: Store, name: str, blob: Blob | None, generation: int) -> Lease:
    """Raises ConflictError and ExistsError where somebody else was faster."""
    data = _Record(generation, _myself(), free=False).as_bytes()
    version = store.replace(_key(name), data, blob.version) if blob else store.create(_key(name), data)
    return Lease(store, name, generation, version)


def _record(blob: Blob | None) -> _Record:
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
def machine() -> str:
    """This boot of this machine and, in a container, its process namespace: a process id means nothing elsewhere."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()}-{os.readlink('/proc/self/ns/pid')}"
    import socket  # noqa: PLC0415  (Linux tells who this is)

    return socket.gethostname()


def _started(pid: int) -> str:
    """When a process started, so that a reused id is not mistaken for its former owner; empty where unknown, and for
    one that ended and was not collected by its parent yet."""
    with (
        contextlib.suppress(OSError, IndexError),
        open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file,
    ):
        state, *fields = file.read().rpartition(")")[2].split()
        return "" if state in "ZX" else fields[18]
    return ""


def _myself() -> str:
    return f"{machine()} {os.getpid()} {_started(os.getpid())}"


def _is_dead(holder: str) -> bool:
    parts = holder.split(" ")
    if len(parts) != 3 or parts[0] != machine() or not parts[1].isdigit():
        return False
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return bool(parts[2]) and _started(int(parts[1])) != parts[2]
