"""Mutexes that are records: watched by the waiter's clock, moved on by who holds them."""

import json
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from lineage.store import BusyError
from lineage.store import record_locks as module
from lineage.store.record_locks import RecordLocks
from tests.support.memory_store import MemoryStore

KEY = ".lineage/locks/m.mutex"


class Clock:
    """Stands in for `time`: sleeping moves it, and calls `on_sleep`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, on_sleep: Callable[[], None] = lambda: None) -> None:
        self.now, self.on_sleep = 0.0, on_sleep
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep))

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self.on_sleep()


def record(store: MemoryStore) -> dict[str, object]:
    found: dict[str, object] = json.loads(store.read(KEY).data)
    return found


def test_the_fence_grows_with_every_holder() -> None:
    store = MemoryStore()
    for number in range(1, 4):
        with RecordLocks(store, f"holder {number}").lock("m", wait=False):
            assert record(store) == {"fence": number, "beat": 0, "holder": f"holder {number}"}
        assert record(store)["holder"] == ""


def test_a_holder_without_renewals_is_overtaken_by_the_waiter_s_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, clock = MemoryStore(), Clock(monkeypatch)
    died = RecordLocks(store, "died").lock("m", wait=True)
    died.__enter__()
    with RecordLocks(store, "waits", ttl=30.0).lock("m", wait=True):
        assert 30.0 <= clock.now < 32.0
        died.__exit__(None, None, None)
        assert record(store) == {"fence": 2, "beat": 0, "holder": "waits"}, "it gave back what is another's by now"


def test_a_holder_with_renewals_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()

    def move() -> None:
        if clock.now < 100.0:
            moved = record(store)
            moved["beat"] = int(str(moved["beat"])) + 1
            store.replace(KEY, json.dumps(moved).encode(), store.read(KEY).version)

    clock = Clock(monkeypatch, move)
    store.create(KEY, b'{"fence": 4, "beat": 0, "holder": "lives"}')
    with RecordLocks(store, "waits", ttl=30.0).lock("m", wait=True):
        assert clock.now >= 130.0
        assert record(store)["fence"] == 5


def test_a_caller_that_does_not_wait_succeeds_once_the_holder_counts_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock = MemoryStore(), Clock(monkeypatch)
    store.create(KEY, b'{"fence": 4, "beat": 0, "holder": "died"}')
    tries = RecordLocks(store, "tries", ttl=30.0)
    for now in (0.0, 15.0, 29.0):
        clock.now = now
        with pytest.raises(BusyError), tries.lock("m", wait=False):
            pass
    clock.now = 30.0
    with tries.lock("m", wait=False):
        assert record(store)["holder"] == "tries"


def test_a_record_of_the_same_holder_is_free() -> None:
    store = MemoryStore()
    store.create(KEY, b'{"fence": 4, "beat": 7, "holder": "me"}')
    with RecordLocks(store, "me").lock("m", wait=False):
        assert record(store) == {"fence": 5, "beat": 0, "holder": "me"}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"7", b'{"fence": null}', b"\xff"])
def test_a_damaged_record_is_free(damage: bytes) -> None:
    store = MemoryStore()
    store.create(KEY, damage)
    with RecordLocks(store, "me").lock("m", wait=False):
        assert record(store)["fence"] == 1


def test_a_live_holder_renews_its_record() -> None:
    moved = threading.Event()

    class Watched(MemoryStore):
        def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
            if json.loads(data)["beat"] == 2:
                moved.set()
            return super().replace(key, data, version, frozen=frozen)

    store = Watched()
    with RecordLocks(store, "lives", ttl=0.03).lock("m", wait=False):
        assert moved.wait(30)
    assert record(store)["holder"] == ""
    with RecordLocks(store, "next").lock("m", wait=False):
        pass


def test_only_one_of_two_gets_a_free_record(monkeypatch: pytest.MonkeyPatch) -> None:
    class Overtaken(MemoryStore):
        tries = 0

        def create(self, key: str, data: bytes, *, frozen: bool = False) -> str:
            self.tries += 1
            if self.tries == 1:
                super().create(key, b'{"fence": 1, "beat": 0, "holder": "faster"}')
            return super().create(key, data)

    Clock(monkeypatch)
    with pytest.raises(BusyError), RecordLocks(Overtaken(), "slower").lock("m", wait=False):
        pass
