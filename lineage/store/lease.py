"""Leases: a record with a generation that grows by one with every holder. (spec: concurrency contract).

A lease saves work. A key is safe because the generation is checked in one critical section with the write, and because
writes compare and swap. A remote store's locks pass on like leases, so there the lease moves by a swap, and its
generation is checked between the read of a key and the swap. Expiry goes by the waiter's own monotonic clock: a lease
that has not changed for its whole time to live is taken over.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass

from lineage.errors import LineageError
from lineage.store.base import Blob, BusyError, ConflictError, ExistsError, Store, validate_key
from lineage.store.helpers import read_or_none, update
from lineage.store.platform import get_machine_id

_PREFIX = ".lineage/locks/"
_POLL_SECONDS = 0.005
_QUEUE_POLL_SECONDS = 0.02  # slower: a queue may be long
_REMOTE_POLL, _MAX_REMOTE_POLL, _GROWTH = 0.05, 0.5, 1.5  # each poll is a request

_held = list[tuple[str, int]]()
"""Names and generations of the leases that this process holds, or is about to. Of others that say so, it failed to take
or to give back the lease, as on a full disk: nobody holds them."""


@dataclass(frozen=True, slots=True)
class _Record:
    """The content of the lease's key. `holder` names a process: machine, id and start time."""

    generation: int = 0
    holder: str = ""
    free: bool = True

    def as_bytes(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True).encode()


class LeaseLost(LineageError):
    """The lease passed on: results that were made under it are out of date."""


class LeaseUnneeded(LineageError):
    """The lease's holder did the work while this process was waiting for the lease."""


# Waits for so many seconds at most, and tells whether the lease is no longer needed.
LeaseWaiter = Callable[[float], bool]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write `name` until a later generation is held. `version` is that of the lease's record."""

    store: Store
    name: str
    generation: int
    version: str

    def run_guarded(self, write: Callable[[], bool]) -> bool:
        """Run `write` in the critical section, after a check that this generation still holds.

        Raises LeaseLost if the lease was taken over, given back or deleted: the caller has to render again.
        """
        with _lock_locally(self.store, f"guard-{self.name}"):
            self._check_held()
            return write()

    def write(self, key: str, data: bytes) -> bool:
        """Write these bytes to a key; return False if it has them already.

        Raises LeaseLost as `run_guarded` does: the write of a later generation is never overwritten.
        """
        if not self.store.is_remote:
            return self.run_guarded(lambda: update(self.store, key, lambda _: data))

        def check_and_write(_: bytes | None) -> bytes:
            self._check_held()
            return data

        return update(self.store, key, check_and_write)

    def _check_held(self) -> None:
        expected = _Record(self.generation, _holder_id(), free=False)
        if _parse_record(read_or_none(self.store, _key(self.name))) != expected:
            raise LeaseLost(f"the lease of {self.name} passed on", hint="run the command again")


@contextmanager
def acquire_lease(store: Store, name: str, ttl: float = 10.0, *, waiter: LeaseWaiter | None = None) -> Iterator[Lease]:
    """Hold the lease `name` (letters, digits, dashes).

    Waits for another holder, at most `ttl` seconds after the record's last change; a dead holder on this machine is
    overtaken at once. `waiter` replaces the sleep of each wait, and is called once more before the lease is taken after
    a wait. Raises LeaseUnneeded if it returns True.
    """
    validate_key(_key(name))
    held = _acquire(store, name, _WaitPolicy(ttl, waiter))
    try:
        yield held
    finally:
        try:
            with contextlib.suppress(ConflictError):
                store.replace(_key(name), _Record(held.generation).as_bytes(), held.version)
        finally:
            _held.remove((name, held.generation))


class _WaitPolicy:
    """The time to live of a lease, and the caller's own way to wait for it."""

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


@contextmanager
def _hold_queue_head(store: Store, name: str, policy: _WaitPolicy) -> Iterator[None]:
    with ExitStack() as stack:
        while policy.waiter:
            try:
                stack.enter_context(_lock_locally(store, f"turn-{name}", wait=False))
                break
            except BusyError:
                policy.wait(_QUEUE_POLL_SECONDS)
        else:
            stack.enter_context(_lock_locally(store, f"turn-{name}"))
        yield


def _acquire(store: Store, name: str, policy: _WaitPolicy) -> Lease:
    """Take the lease with a new generation."""
    # Only the head of the queue polls: a crowd would keep the holder from its own writes.
    own = _holder_id()
    with _hold_queue_head(store, name, policy):
        watched, since = "", time.monotonic()
        pause = _REMOTE_POLL if store.is_remote else _POLL_SECONDS
        while True:
            blob = read_or_none(store, _key(name))
            record = _parse_record(blob)
            if blob and blob.version != watched:
                watched, since = blob.version, time.monotonic()
            is_left = record.holder == own and (name, record.generation) not in _held
            if record.free or is_left or _is_dead(record.holder) or time.monotonic() - since >= policy.ttl:
                if policy.has_waited and policy.waiter:
                    policy.wait(0.0)  # the holder may have done the work just now
                taken = _Record(record.generation + 1, own, free=False)
                with (
                    contextlib.suppress(BusyError, ConflictError, ExistsError),  # another process was faster
                    _lock_locally(store, f"guard-{name}", wait=False),
                ):
                    return _take(store, name, taken, blob)
            policy.wait(pause)
            pause = min(pause * _GROWTH, _MAX_REMOTE_POLL) if store.is_remote else pause


def _take(store: Store, name: str, taken: _Record, blob: Blob | None) -> Lease:
    """Write the record over the one that was read."""
    _held.append((name, taken.generation))
    try:
        data = taken.as_bytes()
        version = store.replace(_key(name), data, blob.version) if blob else store.create(_key(name), data)
    except BaseException:
        _held.remove((name, taken.generation))
        raise
    return Lease(store, name, taken.generation, version)


def _lock_locally(store: Store, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
    # A remote lock can be lost without notice: there only the swaps protect.
    return nullcontext() if store.is_remote else store.lock(name, wait=wait)


def _parse_record(blob: Blob | None) -> _Record:
    """Return the lease's record; a missing or damaged one is free, and generations start again."""
    if blob is None:
        return _Record()
    try:
        fields = json.loads(blob.data)
        return _Record(int(fields["generation"]), str(fields["holder"]), bool(fields["free"]))
    except (ValueError, TypeError, KeyError):
        return _Record()


def _key(name: str) -> str:
    return f"{_PREFIX}{name}.lease"


def _read_start_time(pid: int) -> str:
    """Return a process's start time, to tell it from a later one with its id; "" if unknown, and for a zombie."""
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
