"""The store's protocol, on every implementation of it. (scale: the store protocol)

What each guard rests on:
- a key is created once: `ExistsError` in `create`; in a folder the hard link, which replaces nothing.
- a replace is a compare-and-swap: the comparison of versions and, in a folder, the lock around it and around `delete`.
- listings: `sorted`, the test on `after`, the prefix that is a folder.
- hostile keys: `validate_key` and `validate_prefix`.
- commit and update: the comparison of bytes, the loop.
- leases: the comparison of the whole record in `guarded` and in `put`, there between the reading of the key and its
  swap; `_is_dead`; the waiter's clock.
- several at a time: the pool in `together`, and its order.
"""

import contextlib
import json
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from lineage.errors import ImmutableError, LineageError, WorkspaceError
from lineage.store import (
    ConflictError,
    ExistsError,
    LeaseLost,
    LocalStore,
    MissingError,
    Store,
    acquire_lease,
    commit,
    map_concurrently,
    read_or_none,
    update,
)
from tests.support.concurrency import read_line, run_concurrently, start_process, write_line
from tests.support.parametrize import each
from tests.support.stores import FakeClock, skip_sleeps, skip_update_pauses

KEY = "memory/a.md"
HOSTILE = (
    "",
    ".",
    "..",
    "../a.md",
    "memory/../../a.md",
    "memory/..",
    "memory/./a.md",
    "/etc/passwd",
    "//server/share",
    "C:/a.md",
    "memory/C:a.md",
    "memory\\a.md",
    "..\\a.md",
    "memory//a.md",
    "memory/",
    "memory/a\0.md",
    "memory/a\n.md",
    "memory/a\x7f.md",
    "memory/a.md.",
    "memory/a.md ",
    "memory /a.md",
    "memory/\udcff.md",
    "memory/" + "a" * 256,
    "memory/" + "é" * 128,
)


def keys(store: Store, prefix: str = "memory/", after: str = "") -> list[str]:
    return [entry.key for entry in store.list(prefix, after)]


def stamps(store: Store) -> dict[str, str]:
    return {entry.key: entry.stamp for entry in store.list("memory/")}


# create and read


@pytest.mark.parametrize("data", [b"", b"\0\r\n\xff", "text é\n".encode(), b"x" * 3_000_000], ids=len)
def test_what_was_created_is_read_back_byte_for_byte(store: Store, data: bytes) -> None:
    version = store.create(KEY, data)
    blob = store.read(KEY)
    assert (blob.data, blob.version) == (data, version)


@pytest.mark.parametrize("pieces", [[], [b""], [b"one", b"", b"two"], [b"x" * 3_000_000] * 3], ids=len)
def test_what_comes_in_pieces_is_what_it_is_at_once(store: Store, pieces: list[bytes]) -> None:
    version = store.create(KEY, pieces)
    blob = store.read(KEY)
    assert (blob.data, blob.version) == (b"".join(pieces), version)
    with store.open(KEY) as found:
        assert found.data in (None, blob.data)
        assert (b"".join(found.chunks), found.stamp) == (blob.data, blob.stamp)


def test_what_is_opened_is_one_whole_write(store: Store) -> None:
    """Fails where a piece is read by the key again."""
    first = store.create(KEY, [b"1" * 5_000_000, b"1" * 5_000_000])
    with store.open(KEY) as found:
        store.replace(KEY, b"2", first)
        assert b"".join(found.chunks) == b"1" * 10_000_000
    with pytest.raises(MissingError, match=r"memory/b\.md"), store.open("memory/b.md"):
        pass


def test_pieces_are_committed_once(store: Store) -> None:
    assert commit(store, KEY, [b"one", b"two"])
    assert not commit(store, KEY, [b"o", b"netwo"])
    assert not commit(store, KEY, b"onetwo")
    with pytest.raises(ImmutableError):
        commit(store, KEY, [b"onetw"])


@pytest.mark.parametrize("frozen", [False, True])
def test_a_taken_key_is_not_created_again(store: Store, frozen: bool) -> None:
    store.create(KEY, b"first", frozen=frozen)
    for data in (b"first", b"second"):
        with pytest.raises(ExistsError):
            store.create(KEY, data, frozen=frozen)
    assert store.read(KEY).data == b"first"


@pytest.mark.parametrize("key", [KEY, "MEMORY.md", "memory/deeper/b.md", "memory/a.md/b.md"])
def test_reading_a_key_that_holds_nothing_says_so(store: Store, key: str) -> None:
    store.create("memory/other.md", b"")
    with pytest.raises(MissingError, match=key):
        store.read(key)
    assert read_or_none(store, key) is None


@pytest.mark.parametrize("key", ["a", "memory/ä b é.md", "memory/日本語.md", "memory/.hidden", "a/" + "x" * 255, "~/a"])
def test_unusual_keys_that_are_no_danger_are_kept_as_they_are(store: Store, key: str) -> None:
    store.create(key, b"data")
    assert store.read(key).data == b"data"
    if "/" in key:
        assert keys(store, key.rpartition("/")[0] + "/") == [key]


# replace


def test_a_replace_that_knows_the_version_succeeds_and_gives_the_next_one(store: Store) -> None:
    first = store.create(KEY, b"1")
    second = store.replace(KEY, b"2", first)
    third = store.replace(KEY, b"3", second)
    assert len({first, second, third}) == 3
    blob = store.read(KEY)
    assert (blob.data, blob.version) == (b"3", third)


def test_a_replace_with_an_old_version_changes_nothing(store: Store) -> None:
    first = store.create(KEY, b"1")
    store.replace(KEY, b"2", first)
    with pytest.raises(ConflictError):
        store.replace(KEY, b"mine", first)
    assert store.read(KEY).data == b"2"


def test_a_key_that_is_gone_is_not_replaced(store: Store) -> None:
    with pytest.raises(ConflictError):
        store.replace(KEY, b"2", "any")
    version = store.create(KEY, b"1")
    store.delete(KEY)
    with pytest.raises(ConflictError):
        store.replace(KEY, b"2", version)
    assert keys(store) == []


# list


def test_a_listing_is_in_key_order_and_holds_one_folder(store: Store) -> None:
    inside = ["memory/Z.md", "memory/a-b.md", "memory/a.md", "memory/a/b.md", "memory/ä.md", "memory/claims/x.md"]
    for key in [*reversed(inside), "memory2/a.md", "MEMORY.md", "books/memory/a.md"]:
        store.create(key, b"")
    assert keys(store) == sorted(inside)
    assert keys(store, "memory/claims/") == ["memory/claims/x.md"]
    assert keys(store, "nothing/") == []
    assert keys(store, "memory/a.md/") == []


@pytest.mark.parametrize("prefix", ["", "memory/", "memory/claims/", "nothing/"])
def test_stamps_are_those_of_the_listing(store: Store, prefix: str) -> None:
    for key in ("memory/b.md", "memory/a.md", "memory/claims/x.md", "MEMORY.md", ".lineage/x.md"):
        store.create(key, key.encode())
    assert store.stat_all(prefix) == {entry.key: entry.stamp for entry in store.list(prefix)}
    assert store.is_empty(prefix) == (not keys(store, prefix))


def test_hidden_keys_leave_a_store_empty(store: Store) -> None:
    assert store.is_empty("")
    store.create(".lineage/x.md", b"")
    assert store.is_empty("")
    assert not store.is_empty(".lineage/")


def test_a_listing_begins_behind_the_key_it_is_given(store: Store) -> None:
    for name in "abcd":
        store.create(f"memory/{name}.md", b"")
    assert keys(store, after="memory/b.md") == ["memory/c.md", "memory/d.md"]
    assert keys(store, after="memory/bb.md") == ["memory/c.md", "memory/d.md"]
    assert keys(store, after="memory/d.md") == []


BEHIND = ("a", "a-b", "a-b/c", "a.b", "a/b", "a/b-c", "a/b/d", "a0", "ab", "b", "2026/x", "2026-11--t", "2026-12--t")


@pytest.mark.slow
@pytest.mark.parametrize("after", [*BEHIND, "2026-11", "2026", "a-", "a/", "zz", "0"])
def test_a_listing_begins_behind_any_key_in_the_order_of_bytes(store: Store, after: str) -> None:
    """A server that lists folder by folder has `a/b` before `a-b`, and `2026/x` before `2026-11--t`."""
    there = [f"memory/{key}.md" for key in BEHIND]
    for key in there:
        store.create(key, b"")
    assert keys(store, after=f"memory/{after}") == sorted(key for key in there if key > f"memory/{after}")
    assert keys(store, after=f"memory/{after}.md") == sorted(key for key in there if key > f"memory/{after}.md")


def test_a_stamp_stays_while_nothing_happens_and_changes_with_the_content(store: Store) -> None:
    version = store.create(KEY, b"one")
    store.create("memory/other.md", b"one")
    before = stamps(store)
    assert stamps(store) == before
    assert store.read(KEY).stamp == before[KEY]
    store.replace(KEY, b"two", version)
    after = stamps(store)
    assert after[KEY] != before[KEY]
    assert after["memory/other.md"] == before["memory/other.md"]
    assert store.read(KEY).stamp == after[KEY]


# delete


def test_deleting_twice_is_as_good_as_once(store: Store) -> None:
    store.create(KEY, b"1", frozen=True)
    store.create("memory/b.md", b"2")
    for _ in range(2):
        store.delete(KEY)
        assert keys(store) == ["memory/b.md"]
    store.delete("nowhere/at/all.md")
    store.delete("memory/b.md/c.md")
    store.create(KEY, b"again")
    assert store.read(KEY).data == b"again"


# hostile keys


@pytest.mark.slow
@each("key", HOSTILE, ids=lambda key: ascii(key)[:24])
def test_a_hostile_key_is_refused_by_every_method(store: Store, key: str, tmp_path: Path) -> None:
    before = _list_reachable(tmp_path)
    methods: tuple[Callable[[], object], ...] = (
        lambda: store.create(key, b""),
        lambda: store.read(key),
        lambda: store.replace(key, b"", "version"),
        lambda: store.delete(key),
        lambda: commit(store, key, b""),
        lambda: update(store, key, lambda data: b""),
        lambda: list(store.list(key + "/")),
    )
    for method in methods:
        with pytest.raises(WorkspaceError, match="not a usable path"):
            method()
    assert _list_reachable(tmp_path) == before


def _list_reachable(folder: Path) -> list[Path]:
    """Everything in a store's folder and the names beside it: no key here climbs further than there."""
    return sorted([*folder.parent.iterdir(), *folder.rglob("*")])


def test_an_empty_prefix_lists_everything_that_is_not_hidden(store: Store) -> None:
    for key in ("MEMORY.md", "memory/a.md", "notes/deep/er/b.md", ".hidden/c.md", ".d.md"):
        store.create(key, b"")
    assert keys(store, "") == ["MEMORY.md", "memory/a.md", "notes/deep/er/b.md"]
    assert keys(store, ".hidden/") == [".hidden/c.md"]
    assert keys(store, "", "memory/a.md") == ["notes/deep/er/b.md"]


@pytest.mark.parametrize("prefix", ["memory", "memory/a"])
def test_a_prefix_is_a_folder(store: Store, prefix: str) -> None:
    with pytest.raises(WorkspaceError, match="not a folder of keys"):
        list(store.list(prefix))


# commit and update


def test_a_commit_succeeds_again_with_the_same_bytes_and_never_with_others(store: Store) -> None:
    assert commit(store, KEY, b"once") is True
    assert commit(store, KEY, b"once") is False
    with pytest.raises(ImmutableError):
        commit(store, KEY, b"other")
    assert store.read(KEY).data == b"once"


def test_an_update_makes_changes_and_leaves_alone(store: Store) -> None:
    seen: list[bytes | None] = []

    def appended(data: bytes | None) -> bytes | None:
        seen.append(data)
        return (data or b"") + b"x" if len(data or b"") < 2 else None

    assert [update(store, KEY, appended) for _ in range(3)] == [True, True, False]
    assert seen == [None, b"x", b"xx"]
    stamp = store.read(KEY).stamp
    assert update(store, KEY, lambda data: data) is False
    assert store.read(KEY).stamp == stamp


def test_an_update_that_was_overtaken_starts_again_from_what_lies_there(store: Store) -> None:
    store.create(KEY, b"a")
    seen: list[bytes | None] = []

    def overtaken(data: bytes | None) -> bytes:
        seen.append(data)
        if len(seen) == 1:
            store.replace(KEY, b"b", store.read(KEY).version)
        if len(seen) == 2:
            store.delete(KEY)
        if len(seen) == 3:
            store.create(KEY, b"c")
        return (data or b"") + b"!"

    assert update(store, KEY, overtaken) is True
    assert seen == [b"a", b"b", None, b"c"]
    assert store.read(KEY).data == b"c!"


def test_an_update_that_is_always_overtaken_gives_up_with_a_clear_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_update_pauses(monkeypatch)
    numbers = iter(range(10_000))

    def overtaken(data: bytes | None) -> bytes:
        store.delete(KEY)
        store.create(KEY, str(next(numbers)).encode())
        return b"mine"

    with pytest.raises(ConflictError, match="kept changing"):
        update(store, KEY, overtaken)
    assert store.read(KEY).data != b"mine"


# several at a time


def test_what_is_asked_together_is_answered_in_order(store: Store) -> None:
    for number in range(40):
        store.create(f"memory/{number:02}.md", b"%d" % number)
    keys = [f"memory/{number:02}.md" for number in (7, 39, 0, 7)]
    assert map_concurrently(store, lambda key: store.read(key).data, keys) == [b"7", b"39", b"0", b"7"]
    assert map_concurrently(store, store.read, []) == []
    with pytest.raises(MissingError):
        map_concurrently(store, store.read, [*keys, "memory/none.md"])


def test_a_remote_store_is_asked_at_a_time(store: Store) -> None:
    meeting = Barrier(4 if store.is_remote else 1)
    assert map_concurrently(store, lambda number: meeting.wait(10) >= 0 and number, range(1, 5)) == [1, 2, 3, 4]


# mutex


def test_a_mutex_is_free_again_after_an_error(store: Store) -> None:
    for _ in range(3):
        with pytest.raises(KeyError), store.lock("m"):
            raise KeyError
    with store.lock("m"), store.lock("another"):
        pass


@pytest.mark.slow
def test_a_mutex_lets_one_in_at_a_time(store: Store) -> None:
    store.create(KEY, b"0")
    run_concurrently(store, increment_in_mutex, [(10,)] * 4)
    assert store.read(KEY).data == b"40"


def test_the_mutex_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from lineage.store import LocalStore
with LocalStore(Path.cwd()).lock("m"):
    print("held", flush=True)
    input()
"""
    with start_process(code, tmp_path) as process:
        assert read_line(process) == "held"
        process.kill()
        process.wait()
        with LocalStore(tmp_path).lock("m"):
            pass


# lease


def test_generations_grow_with_every_holder(store: Store) -> None:
    generations = []
    for _ in range(3):
        with acquire_lease(store, "x") as held:
            generations.append(held.generation)
            assert held.run_guarded(lambda: True) is True
            assert held.run_guarded(lambda: False) is False
    assert generations == [1, 2, 3]


def test_leases_of_other_names_are_independent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeClock(monkeypatch, on_sleep=skip_sleeps)
    with acquire_lease(store, "x") as one, acquire_lease(store, "y") as other:
        assert (one.generation, other.generation) == (1, 1)


def test_a_lease_is_given_back_after_an_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeClock(monkeypatch, on_sleep=skip_sleeps)
    with pytest.raises(KeyError), acquire_lease(store, "x"):
        raise KeyError
    with acquire_lease(store, "x") as held:
        assert held.generation == 2


def test_a_lease_that_was_given_back_writes_nothing_more(store: Store) -> None:
    with acquire_lease(store, "x") as held:
        pass
    with pytest.raises(LeaseLost):
        held.run_guarded(lambda: update(store, KEY, lambda _: b"stale"))
    assert read_or_none(store, KEY) is None


@pytest.mark.slow
def test_a_stalled_holder_is_overtaken_after_its_time_and_writes_nothing_stale(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock(monkeypatch)
    with acquire_lease(store, "x") as stalled:
        with acquire_lease(store, "x", ttl=7.0) as held:
            assert clock.now >= 7.0
            assert held.generation == stalled.generation + 1
            assert held.run_guarded(lambda: update(store, KEY, lambda _: b"new"))
            with pytest.raises(LeaseLost):
                stalled.run_guarded(lambda: update(store, KEY, lambda _: b"stale"))
        with pytest.raises(LeaseLost):
            stalled.run_guarded(lambda: update(store, KEY, lambda _: b"stale"))
    assert store.read(KEY).data == b"new"


def test_a_holder_puts_what_a_key_is_to_hold_until_it_is_overtaken(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeClock(monkeypatch)
    with acquire_lease(store, "x") as stalled:
        assert [stalled.write(KEY, data) for data in (b"old", b"old", b"older")] == [True, False, True]
        with acquire_lease(store, "x", ttl=1.0) as held:
            with pytest.raises(LeaseLost):
                stalled.write(KEY, b"stale")
            assert held.write(KEY, b"new")
        with pytest.raises(LeaseLost):
            stalled.write(KEY, b"stale")
    assert store.read(KEY).data == b"new"


def test_who_is_overtaken_while_it_puts_does_not_write_over_the_later_holder(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any request of a put the later holder comes and is done: what is there in the end is the later one's."""
    FakeClock(monkeypatch)
    commit(store, KEY, b"old")
    for step in range(3 if store.is_remote else 0):
        with acquire_lease(store, "x") as stalled, ExitStack() as later:
            interrupted = Interrupted(store, step, lambda later=later: published(store, later, b"new"))  # type: ignore[misc]
            with contextlib.suppress(LeaseLost):
                replace(stalled, store=interrupted).write(KEY, b"stale")
            assert store.read(KEY).data == b"new", step
        update(store, KEY, lambda _: b"old")


class Interrupted:
    """A store that something happens to before the request of a number."""

    def __init__(self, store: Store, number: int, happens: Callable[[], object]) -> None:
        self._store, self._left, self._happens = store, number, happens

    def __getattr__(self, name: str) -> object:
        if name in ("read", "create", "replace"):
            self._left -= 1
            if self._left == -1:
                self._happens()
        return getattr(self._store, name)


def published(store: Store, held: ExitStack, data: bytes) -> None:
    assert held.enter_context(acquire_lease(store, "x", ttl=1.0)).write(KEY, data)


def test_a_lease_of_a_remote_store_is_one_object_and_no_mutex(store: Store) -> None:
    with acquire_lease(store, "x", waiter=lambda _: False) as held:
        held.write(KEY, b"new")
    keys = [entry.key for entry in store.list(".lineage/locks/")]
    assert keys == [".lineage/locks/x.lease"] or not store.is_remote


def test_a_stalled_holder_gives_back_only_what_is_still_its_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeClock(monkeypatch)
    stalled = acquire_lease(store, "x")
    stalled.__enter__()
    with acquire_lease(store, "x", ttl=1.0) as held:
        stalled.__exit__(None, None, None)
        assert held.run_guarded(lambda: True)


@pytest.mark.slow
def test_a_waiter_waits_anew_for_every_holder_that_moves(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ".lineage/locks/x.lease"
    moves = [3.0, 6.0, 9.0]

    def move() -> None:
        if moves and clock.now >= moves[0]:
            moves.pop(0)
            record = json.loads(store.read(key).data)
            record |= {"generation": record["generation"] + 1, "holder": "another-machine 1 1"}
            store.replace(key, json.dumps(record).encode(), store.read(key).version)

    clock = FakeClock(monkeypatch, on_sleep=move)
    with acquire_lease(store, "x"), acquire_lease(store, "x", ttl=4.0) as held:
        assert clock.now >= 9.0 + 4.0
        assert held.generation == 5


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"7", b'{"generation": "x"}', b'{"generation": null, "holder": 5, "free": []}', b"\xff"],
)
def test_a_damaged_lease_is_free(store: Store, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    FakeClock(monkeypatch, on_sleep=skip_sleeps)
    store.create(".lineage/locks/x.lease", damage)
    with acquire_lease(store, "x") as held:
        assert held.run_guarded(lambda: True)


@pytest.mark.parametrize("name", ["../x", "a/../../x", "a\\b", "a\0"])
def test_a_hostile_lease_is_refused(store: Store, name: str) -> None:
    with pytest.raises(WorkspaceError), acquire_lease(store, name):
        pass


HOLDER = """
from pathlib import Path
from lineage.store import LeaseLost, LocalStore, acquire_lease, update
store = LocalStore(Path.cwd())
with acquire_lease(store, "x") as held:
    print("held", flush=True)
    input()
    try:
        held.run_guarded(lambda: update(store, "memory/a.md", lambda _: b"stale"))
        print("wrote", flush=True)
    except LeaseLost:
        print("lost", flush=True)
"""


@pytest.mark.parametrize("collected", [True, False], ids=["collected", "zombie"])
def test_the_lease_of_a_killed_process_is_taken_over_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: bool
) -> None:
    FakeClock(monkeypatch, on_sleep=skip_sleeps)
    with start_process(HOLDER, tmp_path) as process:
        assert read_line(process) == "held"
        process.kill()
        if collected:
            process.wait()
        else:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and not collected
        with acquire_lease(LocalStore(tmp_path), "x") as held:
            assert held.generation == 2


@pytest.mark.slow
def test_a_process_that_was_stopped_and_wakes_up_publishes_nothing_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock(monkeypatch)
    store = LocalStore(tmp_path)
    with start_process(HOLDER, tmp_path) as process:
        assert read_line(process) == "held"
        process.send_signal(signal.SIGSTOP)
        with acquire_lease(store, "x", ttl=5.0) as held:
            assert clock.now >= 5.0
            assert held.run_guarded(lambda: update(store, KEY, lambda _: b"new"))
        write_line(process)
        process.send_signal(signal.SIGCONT)
        assert read_line(process) == "lost"
    assert store.read(KEY).data == b"new"


# races


@pytest.mark.slow
def test_of_many_creators_exactly_one_wins(store: Store) -> None:
    won = run_concurrently(store, create_many, [(who, 25) for who in range(8)])
    for number in range(25):
        winners = [who for who, numbers in enumerate(won) if number in numbers]
        assert len(winners) == 1
        assert store.read(f"memory/{number}.md").data == f"{winners[0]} {number}".encode() * 1000


@pytest.mark.slow
def test_of_many_who_commit_the_same_bytes_one_writes_and_all_succeed(store: Store) -> None:
    written = run_concurrently(store, commit_same, [(20,)] * 8)
    assert [sum(column) for column in zip(*written, strict=True)] == [1] * 20


@pytest.mark.slow
def test_no_swap_is_lost_and_the_swaps_form_one_unforked_path(store: Store) -> None:
    version = store.create(KEY, b"0 -1")
    swaps = [swap for found in run_concurrently(store, swap_many, [(who, 15) for who in range(8)]) for swap in found]
    path = dict(swaps)
    assert len(path) == len(swaps) == 8 * 15, "two swaps began at the same version"
    for _ in range(len(swaps)):
        version = path.pop(version)
    assert store.read(KEY).version == version
    assert store.read(KEY).data.split()[0] == b"120"


@pytest.mark.slow
def test_many_updates_of_one_key_all_survive(store: Store) -> None:
    run_concurrently(store, add_lines, [(who, 10) for who in range(12)])
    lines = store.read(KEY).data.decode().split()
    assert sorted(lines) == sorted(f"{who}-{number}" for who in range(12) for number in range(10))


@pytest.mark.slow
def test_a_deleted_key_stays_away_whoever_was_replacing_it(store: Store) -> None:
    for number in range(150):
        store.create(f"memory/{number}.md", b"1")
    run_concurrently(store, replace_or_delete, [(who, 150) for who in range(4)])
    assert keys(store) == []


@pytest.mark.slow
def test_a_reader_sees_whole_writes_only(store: Store) -> None:
    store.create(KEY, b"0" * 200_000)
    assert all(run_concurrently(store, write_or_read, [(who, 40) for who in range(4)]))


@pytest.mark.slow
def test_of_many_holders_of_a_lease_none_writes_over_another(store: Store) -> None:
    store.create(KEY, b"0")
    generations = [g for found in run_concurrently(store, increment_under_lease, [(5,)] * 6) for g in found]
    assert store.read(KEY).data == b"30"
    assert sorted(generations) == sorted(set(generations))


def increment_in_mutex(store: Store, times: int) -> None:
    """Reads, then writes by force: only the mutex keeps the count right."""
    for _ in range(times):
        with store.lock("counter"):
            number = int(store.read(KEY).data)
            store.delete(KEY)
            store.create(KEY, str(number + 1).encode())


def create_many(store: Store, who: int, count: int) -> set[int]:
    won = set()
    for number in range(count):
        try:
            store.create(f"memory/{number}.md", f"{who} {number}".encode() * 1000)
            won.add(number)
        except ExistsError:
            pass
    return won


def commit_same(store: Store, count: int) -> list[bool]:
    return [commit(store, f"memory/{number}.md", b"same" * 1000) for number in range(count)]


def swap_many(store: Store, who: int, count: int) -> list[tuple[str, str]]:
    """(version before, version after) of every swap that succeeded; each writes a number and its name."""
    swaps: list[tuple[str, str]] = []
    while len(swaps) < count:
        blob = store.read(KEY)
        number = int(blob.data.split()[0])
        try:
            swaps.append((blob.version, store.replace(KEY, f"{number + 1} {who}".encode(), blob.version)))
        except ConflictError:
            continue
    return swaps


def add_lines(store: Store, who: int, count: int) -> None:
    for number in range(count):
        line = f"{who}-{number}\n".encode()
        assert update(store, KEY, lambda data, line=line: (data or b"") + line)  # type: ignore[misc]


def replace_or_delete(store: Store, who: int, count: int) -> None:
    for number in range(count):
        key = f"memory/{number}.md"
        if who == 0:
            store.delete(key)
            continue
        blob = read_or_none(store, key)
        try:
            if blob:
                store.replace(key, f"{who}".encode(), blob.version)
        except ConflictError:
            pass


def write_or_read(store: Store, who: int, count: int) -> bool:
    if who == 0:
        return all(update(store, KEY, lambda _, n=n: str(n % 10).encode() * 200_000) for n in range(1, count))  # type: ignore[misc]
    return all(len(data) == 200_000 and len(set(data)) == 1 for data in (store.read(KEY).data for _ in range(count)))


def increment_under_lease(store: Store, count: int) -> list[int]:
    generations: list[int] = []
    while len(generations) < count:
        with acquire_lease(store, "counter") as held:
            number = int(store.read(KEY).data)
            try:
                held.run_guarded(lambda number=number: update(store, KEY, lambda _: str(number + 1).encode()))  # type: ignore[misc]
                generations.append(held.generation)
            except LineageError:
                continue
    return generations
