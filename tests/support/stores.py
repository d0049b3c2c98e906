"""Every implementation of the store, opened for a test, and a clock that the test moves."""

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lineage.documents.archive.archived_store import ArchivedStore
from lineage.documents.archive.archives import Archives
from lineage.store import LocalStore, Store, helpers
from lineage.store import acquire_lease as lease_function
from lineage.store.overlay import OverlayStore
from tests.support.engines import create_bucket
from tests.support.memory_store import MemoryStore

OPENERS: dict[str, Callable[[Path], Store]] = {
    "local": LocalStore,
    "private": lambda folder: LocalStore(folder / "state", locks=folder / "state" / "locks", private=True),
    "memory": lambda folder: MemoryStore(),
    "overlay": lambda folder: OverlayStore(LocalStore(folder / "front"), LocalStore(folder / "behind")),
    "archived": lambda folder: ArchivedStore(LocalStore(folder), Archives(LocalStore(folder))),
}

SERVERS: dict[str, Callable[[Path], Store]] = {
    "bucket": lambda folder: create_bucket(locks=folder / "locks"),
    "other machines": lambda folder: create_bucket(),
    "azure": lambda folder: create_bucket("azurite"),
    "google": lambda folder: create_bucket("google"),
}
"""Stores behind servers. Those without a folder for locks exclude each other as machines do."""


class FakeClock:
    """Stands in for `time` in the lease's module: sleeping moves it, and calls `on_sleep`, at no cost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, on_sleep: Callable[[], None] = lambda: None) -> None:
        self.now = 0.0
        self._on_sleep = on_sleep
        stand_in = SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        _replace_time_of_leases(monkeypatch, stand_in)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self._on_sleep()


def hurry_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases of holders that died elsewhere are over a hundred times as soon."""
    _replace_time_of_leases(monkeypatch, SimpleNamespace(monotonic=lambda: time.monotonic() * 100, sleep=time.sleep))


def _replace_time_of_leases(monkeypatch: pytest.MonkeyPatch, stand_in: SimpleNamespace) -> None:
    monkeypatch.setitem(lease_function.__wrapped__.__globals__, "time", stand_in)  # type: ignore[attr-defined]


def skip_sleeps() -> None:
    """An `on_sleep` for leases that must be had at once."""
    raise AssertionError("waited for a lease that was to be had at once")


def skip_update_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets `update` try again at once, for whoever overtakes it every time: waiting changes nothing then."""
    monkeypatch.setattr(helpers, "sleep", lambda _: None)


def list_temporary_files(folder: Path) -> list[Path]:
    """Temporary files that somebody left anywhere below a folder."""
    return sorted(folder.rglob(".lineage-tmp-*"))
