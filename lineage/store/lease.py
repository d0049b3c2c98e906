"""Leases: a record with a generation that grows by one with every holder. (spec: concurrency contract)

The lease saves work; what keeps a key safe is that the generation is checked in the same critical section as the
write, and the compare-and-swap after it. Expiry is measured by the waiter's own monotonic clock: a lease that has not
moved for its whole time to live is taken over, whatever anybody's wall clock says.
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from lineage.errors import LineageError
from lineage.store.base import Blob, ConflictError, ExistsError, Store
from lineage.store.operations import read_or_none

_PREFIX = ".lineage/locks/"
_POLL_SECONDS = 0.02


class LeaseLost(LineageError):
    """Somebody else holds the lease by now: what was made under it is out of date."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A held lease: the right to write `name` for as long as nobody holds a later generation."""

    store: Store
    name: str
    generation: int

    def guarded(self, write: Callable[[], bool]) -> bool:
        """Runs `write` in the critical section, after checking that this generation still holds.

        Raises LeaseLost where a later holder exists: the caller renders again.
        """
        with self.store.mutex(f"guard-{self.name}"):
            record = _record(read_or_none(self.store, _key(self.name)))
            if record["generation"] != self.generation:
                raise LeaseLost(f"the lease of {self.name} passed on", hint="run the command again")
            return write()


@contextmanager
def lease(store: Store, name: str, ttl: float = 10.0) -> Iterator[Lease]:
    """Holds the lease `name` (letters, digits, dashes). Waits for its holder, at most `ttl` seconds after its last
    move; the lease of a holder on this machine that no longer runs is taken over at once."""
    held = Lease(store, name, _acquired(store, name, ttl))
    try:
        yield held
    finally:
        with contextlib.suppress(ConflictError, LeaseLost):
            held.guarded(lambda: _swap(store, name, held.generation, free=True))


def _acquired(store: Store, name: str, ttl: float) -> int:
    watched, since = "", time.monotonic()
    while True:
        blob = read_or_none(store, _key(name))
        record = _record(blob)
        if blob and blob.version != watched:
            watched, since = blob.version, time.monotonic()
        takeable = record["free"] or _is_dead(record["holder"]) or time.monotonic() - since >= ttl
        if takeable:
            with contextlib.suppress(ConflictError, ExistsError), store.mutex(f"guard-{name}"):
                _write(
                    store,
                    name,
                    blob,
                    {"generation": record["generation"] + 1, "holder": _myself(), "free": False},
                )
                return int(record["generation"]) + 1
        time.sleep(_POLL_SECONDS)


def _swap(store: Store, name: str, generation: int, *, free: bool) -> bool:
    blob = read_or_none(store, _key(name))
    _write(store, name, blob, {"generation": generation, "holder": "", "free": free})
    return True


def _write(store: Store, name: str, blob: Blob | None, record: dict[str, Any]) -> None:
    data = json.dumps(record, sort_keys=True).encode()
    if blob:
        store.replace(_key(name), data, blob.version)
    else:
        store.create(_key(name), data)


def _record(blob: Blob | None) -> dict[str, Any]:
    """The lease's record; a missing or damaged one is free, its generation starts again."""
    empty = {"generation": 0, "holder": "", "free": True}
    if blob is None:
        return empty
    try:
        return empty | dict(json.loads(blob.data))
    except (ValueError, TypeError):
        return empty


def _key(name: str) -> str:
    return f"{_PREFIX}{name}.lease"


@cache
def _machine() -> str:
    """This boot of this machine: a process id means nothing elsewhere."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    return socket.gethostname()


def _started(pid: int) -> str:
    """When a process started, so that a reused id is not mistaken for its former owner; empty where unknown."""
    with (
        contextlib.suppress(OSError, IndexError),
        open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file,
    ):
        return file.read().rpartition(")")[2].split()[19]
    return ""


def _myself() -> str:
    return f"{_machine()} {os.getpid()} {_started(os.getpid())}"


def _is_dead(holder: str) -> bool:
    parts = holder.split(" ")
    if len(parts) != 3 or parts[0] != _machine() or not parts[1].isdigit():
        return False
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return bool(parts[2]) and _started(int(parts[1])) != parts[2]
