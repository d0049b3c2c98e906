"""Files that trade places, and what programs write into the one that comes out.

What each guard rests on: the second comparison in `file_swap.swap`; `keep` in it; the lease in `is_open_elsewhere`;
`find_known`; `_undo_half_swap`; `is_recent`; `collect_abandoned` in `LocalStore._temporary`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage import file_swap
from lineage.store import ConflictError, LocalStore, modes
from lineage.store.temporaries import TEMP_PREFIX, Displaced, name_displaced, parse_displaced
from tests.support.stores import list_temporary_files

KEY = "books/global/a b:c.md".replace(":", "-")


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def merged(store: LocalStore) -> list[tuple[str, bytes, bytes]]:
    found: list[tuple[str, bytes, bytes]] = []
    store.merge_displaced(lambda *arguments: found.append(arguments))
    return found


def write_before(monkeypatch: pytest.MonkeyPatch, edit: Callable[[], object], call: int = 1) -> None:
    """The edit comes before the nth exchange of names."""
    genuine, calls = file_swap.exchange, iter(range(1, 9))

    def exchange(one: Path, other: Path) -> bool:
        if next(calls) == call:
            edit()
        return genuine(one, other)

    monkeypatch.setattr(file_swap, "exchange", exchange)


def save(path: Path, text: bytes) -> None:
    """Saves as an editor does that renames a new file."""
    new = path.with_name("editor's own")
    new.write_bytes(text)
    new.replace(path)


def test_a_name_tells_its_key_and_both_contents() -> None:
    name = name_displaced(KEY, b"old", b"new")
    displaced = parse_displaced(name)
    assert isinstance(displaced, Displaced)
    assert displaced.key == KEY
    assert displaced.find_known(b"old and more") == b"old"
    assert displaced.find_known(b"newer") == b"new"
    assert displaced.find_known(b"other") is None
    assert parse_displaced(f"{TEMP_PREFIX}0123456789abcdef") is None


@pytest.mark.parametrize("text", [b"by hand", b"old\nand a line\n"])
def test_a_save_between_comparison_and_exchange_keeps_its_place(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    version = store.create(KEY, b"old\n")
    write_before(monkeypatch, lambda: save(tmp_path / KEY, text))
    with pytest.raises(ConflictError):
        store.replace(KEY, b"new", version)
    assert store.read(KEY).data == text


def test_a_save_of_what_was_there_between_two_exchanges_loses_no_save_before_it(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create(KEY, b"old\n")
    write_before(monkeypatch, lambda: save(tmp_path / KEY, b"old\nfirst\n"))
    with pytest.raises(ConflictError):
        store.replace(KEY, b"old\nnew\n", version)
    save(tmp_path / KEY, b"old\nnew\nsecond\n")  # its editor read the file between the exchanges
    assert merged(store) == [(KEY, b"old\n", b"old\nfirst\n")]
    assert merged(store) == [(KEY, b"old\n", b"old\nfirst\n")]  # again, as long as that editor may save again


def test_what_grows_in_a_file_that_came_out_is_merged_while_it_is_open(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineage.store.temporaries._OVERWRITE_SECONDS", 0)
    version = store.create(KEY, b"old\n")
    with (tmp_path / KEY).open("ab", buffering=0) as program:
        store.replace(KEY, b"new\n", version)
        assert merged(store) == []
        program.write(b"one\n")
        assert merged(store) == [(KEY, b"old\n", b"old\none\n")]
        program.write(b"two\n")
        assert merged(store) == [(KEY, b"old\none\n", b"old\none\ntwo\n")]
        assert merged(store) == []
        assert list_temporary_files(tmp_path)
    assert merged(store) == []
    assert list_temporary_files(tmp_path) == []


def test_what_was_written_just_before_the_file_was_closed_is_merged(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create(KEY, b"old\n")
    genuine = file_swap.is_open_elsewhere
    program = (tmp_path / KEY).open("ab")

    def look(descriptor: int) -> bool:
        if not program.closed:
            program.write(b"late\n")
            program.close()
        return genuine(descriptor)

    monkeypatch.setattr(file_swap, "is_open_elsewhere", look)
    store.replace(KEY, b"new\n", version)
    assert merged(store) == [(KEY, b"old\n", b"old\nlate\n")]


@pytest.mark.parametrize("died", ["before the first", "between the two", "after the last"])
def test_a_writer_that_died_while_it_exchanged_leaves_every_word(store: LocalStore, tmp_path: Path, died: str) -> None:
    store.create(KEY, b"old\n")
    file = tmp_path / ".lineage/tmp" / name_displaced(KEY, b"old\n", b"new\n")
    file.write_bytes(b"new\n")
    if died != "before the first":
        if died == "between the two":
            save(tmp_path / KEY, b"by hand\n")
        assert file_swap.exchange(file, tmp_path / KEY)
    assert merged(store) == []
    expected = {"before the first": b"old\n", "between the two": b"by hand\n", "after the last": b"new\n"}
    assert store.read(KEY).data == expected[died]
    assert list_temporary_files(tmp_path) == []


@pytest.mark.parametrize("private", [False, True])
def test_no_file_is_left_without_a_program_that_has_it_open(tmp_path: Path, private: bool) -> None:
    store = LocalStore(tmp_path / "w", locks=tmp_path / "w" / "locks", private=private)
    version = store.create(KEY, b"1", frozen=True)
    store.replace(KEY, b"2", version, frozen=True)
    assert list_temporary_files(tmp_path) == []


def test_what_a_dead_writer_left_is_named(store: LocalStore, tmp_path: Path) -> None:
    store.create(KEY, b"old")
    left = tmp_path / "memory" / f"{TEMP_PREFIX}0123456789abcdef"
    left.parent.mkdir()
    left.write_bytes(b"half")
    assert store.find_abandoned() == (left.relative_to(tmp_path).as_posix(),)
    assert store.collect_garbage() == 1
    assert store.find_abandoned() == ()


@pytest.mark.parametrize("folder", [".lineage/tmp", "."])
def test_the_next_writer_deletes_what_a_dead_one_left(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / f"{TEMP_PREFIX}0123456789abcdef").write_bytes(b"half")
    elsewhere = None if folder == ".lineage/tmp" else tmp_path / "elsewhere"
    LocalStore(tmp_path, locks=elsewhere).create("a.md", b"")
    assert list_temporary_files(tmp_path) == []


def test_without_an_exchange_of_names_the_comparison_still_comes_last(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create(KEY, b"old")
    monkeypatch.setattr(file_swap, "can_exchange", lambda: False)
    monkeypatch.setattr(file_swap, "exchange", lambda *_: False)
    genuine = os.fsync

    def fsync(descriptor: int) -> None:
        genuine(descriptor)
        save(tmp_path / KEY, b"by hand")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(ConflictError):
        store.replace(KEY, b"new", version)
    monkeypatch.setattr(os, "fsync", genuine)
    assert store.read(KEY).data == b"by hand"
    store.replace(KEY, b"new", store.read(KEY).version)
    assert store.read(KEY).data == b"new"


def test_a_state_folder_on_another_file_system_is_no_obstacle(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(genuine: Callable[..., Any]) -> Callable[..., Any]:
        def call(one: Path, other: Path) -> Any:
            if Path(one).parent != Path(other).parent:
                raise OSError(18, "Invalid cross-device link")
            return genuine(one, other)

        return call

    monkeypatch.setattr(os, "link", refuse(os.link))
    monkeypatch.setattr(file_swap, "exchange", refuse(file_swap.exchange))
    version = store.create(KEY, b"old")
    again = LocalStore(tmp_path)
    again.replace(KEY, b"new", version)
    assert again.read(KEY).data == b"new"
    assert list_temporary_files(tmp_path) == []
    assert modes.find_exposed(tmp_path) == []
