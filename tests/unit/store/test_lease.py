"""Whose lease may be taken over: by what its record says of the holder.

What each guard rests on: `_is_dead` and each of its conditions (machine, running, start of the process); `_held`;
`_WaitPolicy`, and its check before the lease is taken.
"""

import errno
import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from lineage.store import LeaseUnneeded, LocalStore, acquire_lease
from tests.support.stores import FakeClock, skip_sleeps

KEY = ".lineage/locks/x.lease"


def write_own_record(store: LocalStore) -> dict[str, object]:
    """The record of a lease that this process holds."""
    with acquire_lease(store, "x"):
        record: dict[str, object] = json.loads(store.read(KEY).data)
    return record


def set_holder(store: LocalStore, holder: str) -> None:
    record = {"generation": 5, "holder": holder, "free": False}
    store.replace(KEY, json.dumps(record).encode(), store.read(KEY).version)


def test_the_holder_id_has_machine_process_and_start_time(tmp_path: Path) -> None:
    machine, pid, start = str(write_own_record(LocalStore(tmp_path))["holder"]).split(" ")
    assert machine
    assert int(pid) == os.getpid()
    assert start.isdigit()


def test_a_reused_process_id_holds_no_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    machine, pid, start = str(write_own_record(store)["holder"]).split(" ")
    set_holder(store, f"{machine} {pid} {int(start) - 1}")
    FakeClock(monkeypatch, on_sleep=skip_sleeps)
    with acquire_lease(store, "x") as held:
        assert held.generation == 6


class FullStore(LocalStore):
    """A folder on a disk that may be full: a write fails before anything is written, or behind it."""

    fails = ""

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        written = "" if self.fails == "before" else super().replace(key, data, version, frozen=frozen)
        if self.fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written


def test_a_lease_that_could_not_be_given_back_is_had_again_at_once_by_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FullStore(tmp_path)
    FakeClock(monkeypatch, on_sleep=skip_sleeps)
    with pytest.raises(OSError, match="No space"), acquire_lease(store, "x"):
        store.fails = "before"
    store.fails = ""
    with acquire_lease(store, "x") as held:
        assert held.generation == 2


def test_nor_is_one_waited_for_that_was_taken_by_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FullStore(tmp_path)
    write_own_record(store)
    FakeClock(monkeypatch, on_sleep=skip_sleeps)
    store.fails = "behind"
    with pytest.raises(OSError, match="No space"), acquire_lease(store, "x"):
        raise AssertionError("it was not taken")
    store.fails = ""
    with acquire_lease(store, "x") as held:
        assert held.generation == 3


@pytest.mark.parametrize("foreign", ["elsewhere 1 1", "elsewhere 999999999 1", "", "x", "a b c d", "elsewhere -1 1"])
def test_a_holder_on_another_machine_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, foreign: str
) -> None:
    store = LocalStore(tmp_path)
    write_own_record(store)
    set_holder(store, foreign)
    clock = FakeClock(monkeypatch)
    with acquire_lease(store, "x", ttl=3.0) as held:
        assert held.generation == 6
        assert clock.now >= 3.0


def test_a_running_holder_of_another_user_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    machine, _, start = str(write_own_record(store)["holder"]).split(" ")
    set_holder(store, f"{machine} {os.getppid()} {start}")

    def kill(_: int, __: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    clock = FakeClock(monkeypatch)
    with acquire_lease(store, "x", ttl=3.0):
        assert clock.now >= 3.0


def test_another_process_namespace_of_this_machine_is_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path)
    machine, _, _ = str(write_own_record(store)["holder"]).split(" ")
    assert machine.endswith(str(Path("/proc/self/ns/pid").readlink()))


def test_a_waiter_can_end_the_wait(tmp_path: Path) -> None:
    """Asked only while it has to wait: a lease that is free is taken without a question."""
    store, asked = LocalStore(tmp_path), list[bool]()

    def is_done(_: float) -> bool:
        asked.append(len(asked) >= 2)
        return asked[-1]

    with acquire_lease(store, "x", waiter=is_done) as held:
        assert (held.generation, asked) == (1, [])
        with pytest.raises(LeaseUnneeded), acquire_lease(store, "x", waiter=is_done):
            pass
    assert asked == [False, False, True]
    with acquire_lease(store, "x") as held:
        assert held.generation == 2


def test_the_waiter_is_called_again_before_the_lease_is_taken(tmp_path: Path) -> None:
    store, answers = LocalStore(tmp_path), [False, True]
    with ExitStack() as first:
        first.enter_context(acquire_lease(store, "x"))

        def is_done(_: float) -> bool:
            first.close()
            return answers.pop(0)

        with pytest.raises(LeaseUnneeded), acquire_lease(store, "x", waiter=is_done):
            pass
    assert answers == []
