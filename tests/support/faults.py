"""Processes that die: a fuse that burns at the k-th mutating call, across stores, index and telemetry."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any
from unittest.mock import patch

from lineage.documents import Documents
from lineage.store import Data, Store
from lineage.workspace.workspace import Workspace

_STORE = frozenset({"create", "replace", "delete"})
_INDEX = frozenset(
    {"upsert", "update_stamps", "delete_paths", "mark_complete", "delete_session", "scrub", "index_books"}
)
_TELEMETRY = frozenset({"count_capture", "count_drops", "count_access", "mark", "forget", "scrub"})
_NO_PROCESS = 2**22 + 1  # above the highest process id that Linux gives out


class Crash(BaseException):
    """The process died here. Nothing in the workspace may catch it."""


@dataclass
class CrashPoint:
    """Dies at mutating call number `at` (from 1): before it takes effect or, with `after`, when it has.

    `calls` names every call that was made; `effects` counts those that took effect. What a dead process does on its way
    out (finally blocks, context managers) has no effect either.
    """

    call_number: int | None = None
    after: bool = False
    calls: list[str] = field(default_factory=list)
    effects: int = 0
    is_dead: bool = False

    def run(self, name: str, call: Callable[[], Any]) -> Any:
        if self.is_dead:
            raise Crash(f"dead already, at {name}")
        self.calls.append(name)
        last = len(self.calls) == self.call_number
        if last and not self.after:
            self._die(name)
        result = call()
        self.effects += 1
        if last:
            self._die(name)
        return result

    def _die(self, name: str) -> None:
        self.is_dead = True
        raise Crash(f"{'after' if self.after else 'before'} call {self.call_number}, {name}")


class CrashingProxy:
    """Anything whose methods named in `mutating` go through a fuse; the others are those of `inner`."""

    def __init__(self, inner: Any, fuse: CrashPoint, mutating: Iterable[str], label: str) -> None:
        self._inner, self._fuse, self._mutating, self._label = inner, fuse, frozenset(mutating), label

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._mutating:
            return method

        def mortal(*args: Any, **kwargs: Any) -> Any:
            what = f"{self._label}.{name}({args[0] if args and isinstance(args[0], str) else ''})"
            return self._fuse.run(what, lambda: method(*args, **kwargs))

        return mortal


class CrashingIndex(CrashingProxy):
    """An index that goes through a fuse: what it stages takes effect where the block is left, in one transaction."""

    def __init__(self, inner: Any, fuse: CrashPoint) -> None:
        super().__init__(inner, fuse, _INDEX, "index")

    @contextmanager
    def upsert_in_transaction(self, rows: Iterable[Any]) -> Iterator[None]:
        block = self._inner.upsert_in_transaction(rows)
        block.__enter__()
        try:
            yield
            self._fuse.run("index.upsert_in_transaction()", lambda: block.__exit__(None, None, None))
        except BaseException as error:
            if self._fuse.calls[-1:] != ["index.upsert_in_transaction()"] or not self._fuse.after:
                block.__exit__(type(error), error, error.__traceback__)
            raise


def with_crash_point(ws: Workspace, store: Store, private: Store, fuse: CrashPoint) -> Workspace:
    """Return the workspace of a process that dies when the fuse burns, over the stores that it was opened over."""
    canon = Documents(CrashingProxy(store, fuse, _STORE, "store"), CrashingProxy(private, fuse, _STORE, "private"))
    return replace(
        ws,
        documents=canon,
        index=CrashingIndex(ws.index, fuse),
        telemetry=CrashingProxy(ws.telemetry, fuse, _TELEMETRY, "telemetry"),
    )


@contextmanager
def run_as_other_process() -> Iterator[None]:
    """Leases taken inside belong to a process that no longer runs: the next one need not wait for them."""
    lease: Any = import_module("lineage.store.lease")  # the package's own name `lease` is the function
    with patch.object(lease, "_holder_id", lambda: f"{lease.get_machine_id()} {_NO_PROCESS} 0"):
        yield


def crashes(run: Callable[[], object]) -> bool:
    """Runs it as a process of its own. Whether it died."""
    with run_as_other_process():
        try:
            run()
        except Crash:
            return True
    return False


class CountingStore:
    """A store that counts what is read, and what is written. Listings are no reads."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.reads: list[str] = []
        self.written: Counter[str] = Counter()

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        self.written[key] += 1
        return self._inner.create(key, data, frozen=frozen)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        self.written[key] += 1
        return self._inner.replace(key, data, version, frozen=frozen)

    def read(self, key: str) -> Any:
        self.reads.append(key)
        return self._inner.read(key)

    def open(self, key: str) -> Any:
        self.reads.append(key)
        return self._inner.open(key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
