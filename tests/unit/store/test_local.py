"""What is special to the folder: modes, temporary files, the order of flushes, and a world that fails.

What each guard rests on:
- no temporary file is left or listed: the `finally` of `_temporary`, the prefix in `_scan`.
- durable before visible: `fsync` before `rename_exclusive` and `replace`, `fsync_directory` after them.
- links, pipes and folders in place of files: `O_NOFOLLOW`, `O_NONBLOCK`, `S_ISREG` in `_open_regular_file`.
- short writes: the loop in `_write_all`.
- failures of the system are errors with a hint: `_translate_os_errors`.
- a delete waits for a swap: the lock around `delete`.
"""

import contextlib
import errno
import os
import resource
import signal
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage import file_swap
from lineage.errors import WorkspaceError
from lineage.store import ConflictError, ExistsError, LocalStore, MissingError, commit, modes, update, validate_key
from tests.support.concurrency import read_line, run_unprivileged, start_process
from tests.support.stores import list_temporary_files

KEY = "memory/a.md"


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def build_writes(store: LocalStore) -> dict[str, Callable[[], object]]:
    """Every way to write, against a store that holds `memory/old.md`."""
    version = store.create("memory/old.md", b"old")
    return {
        "create": lambda: store.create(KEY, b"new"),
        "frozen": lambda: store.create(KEY, b"new", frozen=True),
        "replace": lambda: store.replace("memory/old.md", b"new", version),
    }


# keys


@given(st.text("a. /\\:\x00\x1f\x7f\ud800\u0085\u200bé", min_size=1, max_size=3))
def test_a_part_of_a_key_is_a_file_name_on_every_system(part: str) -> None:
    is_usable = not set(part) & set("/\\:\x00\x1f\x7f\ud800") and part[-1] not in ". "
    with contextlib.nullcontext() if is_usable else pytest.raises(WorkspaceError, match="not a usable path"):
        assert validate_key(f"memory/{part.replace('/', '//')}")


# modes


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("shared", "folder", "file", "frozen"), [(False, 0o700, 0o600, 0o400), (True, 0o750, 0o640, 0o440)]
)
@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_modes_are_those_of_the_format_whatever_the_umask(
    tmp_path: Path, mask: int, shared: bool, folder: int, file: int, frozen: int
) -> None:
    if shared:
        (tmp_path / ".lineage").mkdir()
        (tmp_path / modes.SHARED_MARK).touch()
    os.umask(mask)
    store = LocalStore(tmp_path)
    store.create("memory/frozen.md", b"", frozen=True)
    version = store.create("memory/open.md", b"")
    assert mode(tmp_path / "memory/frozen.md") == frozen
    assert mode(tmp_path / "memory/open.md") == file
    store.replace("memory/open.md", b"2", version)
    assert mode(tmp_path / "memory/open.md") == file
    assert mode(tmp_path / "memory") == folder


@pytest.mark.usefixtures("umask")
def test_a_private_store_is_its_owner_s_alone(tmp_path: Path) -> None:
    os.umask(0)
    store = LocalStore(tmp_path / "state", locks=tmp_path / "state" / "locks", private=True)
    version = store.create("spool/deep/job.json", b"1")
    store.replace("spool/deep/job.json", b"2", version)
    store.create("spool/frozen", b"", frozen=True)
    for path in (tmp_path / "state").rglob("*"):
        assert mode(path) == (0o700 if path.is_dir() else 0o400 if path.name == "frozen" else 0o600), path
    assert mode(tmp_path / "state") == 0o700


@pytest.mark.usefixtures("umask")
def test_lock_files_lie_outside_of_the_synced_files(store: LocalStore, tmp_path: Path) -> None:
    update(store, KEY, lambda _: b"1")
    update(store, KEY, lambda _: b"2")
    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["a.md"]
    assert [mode(path) for path in (tmp_path / ".lineage/locks").iterdir()] == [0o600]
    assert mode(tmp_path / ".lineage") == mode(tmp_path / ".lineage/locks") == 0o700


# temporary files and the order of flushes


def test_temporary_files_are_not_keys(store: LocalStore, tmp_path: Path) -> None:
    store.create(KEY, b"")
    (tmp_path / "memory/.lineage-tmp-0123456789abcdef").write_bytes(b"half")
    assert [entry.key for entry in store.list("memory/")] == [KEY]


def test_links_and_pipes_are_not_keys(store: LocalStore, tmp_path: Path) -> None:
    store.create(KEY, b"")
    (tmp_path / "memory/link.md").symlink_to("a.md")
    (tmp_path / "memory/folder").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "memory/pipe.md")
    assert [entry.key for entry in store.list("memory/")] == [KEY]


@pytest.mark.parametrize(
    ("way", "call"),
    [
        *(("create", call) for call in ("open", "write", "fsync", "close", "link")),
        *(("frozen", call) for call in ("open", "write", "fsync", "close", "link")),
        *(("replace", call) for call in ("open", "write", "fsync", "close", "rename", "exchange")),
    ],
)
def test_a_failure_leaves_the_old_state_and_no_temporary_file(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, call: str
) -> None:
    write = build_writes(store)[way]
    monkeypatch.setattr(*find_call(call), fail_for_temporaries(call))
    with pytest.raises(WorkspaceError, match="Input/output error"):
        write()
    monkeypatch.undo()
    assert list_temporary_files(tmp_path) == []
    assert {e.key: store.read(e.key).data for e in store.list("memory/")} == {"memory/old.md": b"old"}
    write()


def find_call(name: str) -> tuple[Any, str]:
    """Where a call of the system stands, and its name."""
    return (file_swap if name == "exchange" else os), name


def fail_for_temporaries(call: str) -> Callable[..., Any]:
    """The system's call, failing for temporary files; a file is closed all the same."""
    genuine = getattr(*find_call(call))

    def failing(*arguments: Any, **options: Any) -> Any:
        if not name_of(arguments[0]).startswith(".lineage-tmp-"):
            return genuine(*arguments, **options)
        if call == "close":
            genuine(*arguments)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    return failing


def test_a_write_is_flushed_before_it_is_visible_and_its_folder_after(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create("memory/old.md", b"old")
    store.delete("memory/none.md")
    calls = record_calls(monkeypatch)
    store.create(KEY, b"new", frozen=True)
    assert calls == [
        "write temporary",
        "fsync temporary",
        "link",
        "fsync memory",
        "unlink temporary",
    ]
    calls.clear()
    store.replace("memory/old.md", b"new", version)
    assert calls[:4] == ["write temporary", "fsync temporary", "rename", "exchange"]
    assert calls[4:] == ["fsync memory", "unlink temporary", "unlink temporary"]  # the name it had, and what came out
    calls.clear()
    store.delete(KEY)
    assert calls == ["unlink a.md", "fsync memory"]


def test_a_new_folder_is_made_durable_in_its_parent(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create("first.md", b"")
    calls = record_calls(monkeypatch)
    store.create("memory/claims/x.md", b"")
    folders = [call for call in calls if call.startswith(("mkdir", "fsync")) and "temporary" not in call]
    assert folders == ["mkdir memory", f"fsync {tmp_path.name}", "mkdir claims", "fsync memory", "fsync claims"]


def test_a_key_of_another_writer_is_durable_before_it_is_reported(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store, KEY, b"data")
    calls = record_calls(monkeypatch)
    assert commit(store, KEY, b"data") is False
    assert "fsync memory" in calls


def test_after_a_failed_flush_a_new_temporary_file_is_written(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def fsync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        if len(synced) == 1:
            raise OSError(errno.EIO, "Input/output error")

    store.create("memory/first.md", b"")
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(WorkspaceError):
        store.create(KEY, b"data")
    assert len(synced) == 1, "a file whose flush failed was flushed again"
    store.create(KEY, b"data")
    assert store.read(KEY).data == b"data"


def record_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A growing list of what is asked of the system: the call, and the name of what it is about. Locks are left out."""
    calls: list[str] = []

    def record(call: str, *, named: bool) -> None:
        genuine = getattr(*find_call(call))

        def recording(*arguments: Any, **options: Any) -> Any:
            name = name_of(arguments[0])
            shown = "temporary" if name.startswith(".lineage-tmp-") else name
            if name not in ("locks", "tmp"):
                calls.append(f"{call} {shown}" if named else call)
            return genuine(*arguments, **options)

        monkeypatch.setattr(*find_call(call), recording)

    for call in ("write", "fsync", "unlink", "mkdir"):
        record(call, named=True)
    for call in ("link", "rename", "exchange"):
        record(call, named=False)
    return calls


def name_of(file: int | str | Path) -> str:
    """The name of a path, or of what a descriptor stands for."""
    return (Path(f"/proc/self/fd/{file}").readlink() if isinstance(file, int) else Path(file)).name


# what lies in a key's place


def test_a_linked_file_is_refused_and_its_target_stays(store: LocalStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"secret")
    (tmp_path / "memory").mkdir()
    (tmp_path / KEY).symlink_to(outside)
    version = store.create("memory/twin.md", b"secret")
    with pytest.raises(WorkspaceError):
        store.read(KEY)
    with pytest.raises(WorkspaceError):
        store.replace(KEY, b"new", version)
    with pytest.raises(WorkspaceError):
        update(store, KEY, lambda _: b"new")
    with pytest.raises(ExistsError):
        store.create(KEY, b"new")
    with pytest.raises(WorkspaceError):
        commit(store, KEY, b"secret")
    assert outside.read_bytes() == b"secret"
    store.delete(KEY)
    assert outside.exists()


def test_a_broken_link_takes_a_key(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / KEY).symlink_to(tmp_path / "nowhere")
    with pytest.raises(ExistsError):
        store.create(KEY, b"new")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_is_a_broken_link_is_a_workspace_error(store: LocalStore, tmp_path: Path) -> None:
    """Not an empty one either: a folder that is not mounted is no sign that everything was removed."""
    (tmp_path / "memory").symlink_to(tmp_path / "unmounted")
    with pytest.raises(WorkspaceError):
        store.create(KEY, b"new")
    with pytest.raises(WorkspaceError):
        store.read(KEY)
    with pytest.raises(WorkspaceError):
        store.list("memory/")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused_at_once(
    store: LocalStore, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "memory").mkdir()
    make(tmp_path / KEY)
    with pytest.raises(WorkspaceError, match="not a regular file"):
        store.read(KEY)
    with pytest.raises(WorkspaceError, match="not a regular file"):
        store.replace(KEY, b"new", "version")
    with pytest.raises(ExistsError):
        store.create(KEY, b"new")


def test_a_folder_is_not_deleted_as_a_key(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / KEY).mkdir(parents=True)
    with pytest.raises(WorkspaceError):
        store.delete(KEY)
    assert (tmp_path / KEY).is_dir()


def test_a_file_in_place_of_a_folder_is_a_workspace_error(store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "memory").write_bytes(b"not a folder")
    with pytest.raises(WorkspaceError):
        store.create(KEY, b"new")
    assert list(store.list("memory/")) == []
    assert (tmp_path / "memory").read_bytes() == b"not a folder"


# a system that does half of what it is asked


@pytest.mark.parametrize("way", ["create", "replace"])
def test_short_writes_are_continued(store: LocalStore, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    genuine = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: genuine(descriptor, data[:1]))
    data = bytes(range(256)) * 4
    version = store.create(KEY, data if way == "create" else b"old")
    if way == "replace":
        store.replace(KEY, data, version)
    assert store.read(KEY).data == data


def test_signals_in_the_middle_of_writing_lose_nothing(store: LocalStore) -> None:
    ticks: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: ticks.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for number in range(50):
            store.create(f"memory/{number}.md", str(number).encode() * 50_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ticks
    for number in range(50):
        assert store.read(f"memory/{number}.md").data == str(number).encode() * 50_000


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_says_what_to_do(store: LocalStore, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def write(descriptor: int, data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(WorkspaceError) as caught:
        store.create(KEY, b"data")
    assert "free some space" in caught.value.hint


def test_an_aborted_write_leaves_the_old_state(tmp_path: Path) -> None:
    """A real refusal by the kernel, after the first 4096 bytes of a file."""
    code = f"""
import resource
from pathlib import Path
from lineage.store import LocalStore
from tests.support.concurrency import describe_outcome
store = LocalStore(Path.cwd())
version = store.create("memory/old.md", b"old")
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, {resource.RLIM_INFINITY}))
print(describe_outcome(lambda: store.create("memory/a.md", b"x" * 10_000)), flush=True)
print(describe_outcome(lambda: store.replace("memory/old.md", b"x" * 10_000, version)), flush=True)
print(describe_outcome(lambda: store.create("memory/small.md", b"x" * 4096)), flush=True)
"""
    with start_process(code, tmp_path) as process:
        assert [read_line(process) for _ in range(3)] == ["WorkspaceError", "WorkspaceError", "ok"]
    store = LocalStore(tmp_path)
    assert [entry.key for entry in store.list("memory/")] == ["memory/old.md", "memory/small.md"]
    assert store.read("memory/old.md").data == b"old"
    assert list_temporary_files(tmp_path) == []


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(["mount", *options], check=False, capture_output=True)
    except FileNotFoundError:
        pytest.skip("NOT TESTED: a really full disk. There is no `mount` here")
    if mounted.returncode != 0:
        pytest.skip("NOT TESTED: a really full disk. Nobody but root can mount a tiny file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_loses_nothing(tiny: Path) -> None:
    store = LocalStore(tiny)
    store.create(KEY, b"old")
    with pytest.raises(WorkspaceError) as caught:
        for number in range(100):
            store.create(f"memory/{number}.md", b"x" * 5000)
    assert "free some space" in caught.value.hint
    assert list_temporary_files(tiny) == []
    assert all(store.read(e.key).data in (b"old", b"x" * 5000) for e in store.list("memory/"))
    with pytest.raises(WorkspaceError):
        store.replace(KEY, b"y" * 60_000, store.read(KEY).version)
    assert store.read(KEY).data == b"old"
    store.delete("memory/0.md")
    store.create("memory/again.md", b"fits")


@pytest.mark.parametrize("frozen_mode", [0o555, 0o000], ids=["read-only", "closed"])
def test_an_unwritable_folder_is_reported(tmp_path: Path, frozen_mode: int) -> None:
    store = LocalStore(tmp_path)
    store.create(KEY, b"old")
    with store.lock("warm"):
        pass
    (tmp_path / "memory").chmod(frozen_mode)
    code = """
create = lambda: store.create("memory/b.md", b"new")
delete = lambda: store.delete("memory/a.md")
for action in (create, delete, lambda: list(store.list("memory/"))):
    try:
        action()
        print("ok")
    except WorkspaceError as error:
        print(error.hint)
"""
    imports = (
        "from pathlib import Path; from lineage.errors import WorkspaceError\n"
        "from lineage.store import LocalStore; store = LocalStore(Path('.'), locks=Path('.'))"
    )
    tmp_path.chmod(0o777)
    answers = run_unprivileged(imports, code, tmp_path).splitlines()
    (tmp_path / "memory").chmod(0o755)
    assert all("not writable" in answer for answer in answers[:2]), answers
    assert answers[2] == "ok" if frozen_mode else "not writable" in answers[2]
    assert store.read(KEY).data == b"old"
    assert list_temporary_files(tmp_path) == []


# file systems without hard links


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_key_is_created_once_without_hard_links(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)
    store.create(KEY, b"first", frozen=True)
    with pytest.raises(ExistsError):
        store.create(KEY, b"second", frozen=True)
    assert store.read(KEY).data == b"first"
    assert list_temporary_files(tmp_path) == []


# swaps and deletions


def test_a_delete_waits_for_a_swap_that_has_compared_already(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create(KEY, b"old")
    deleting = threading.Thread(target=store.delete, args=(KEY,))
    genuine = file_swap.exchange

    def exchange(source: Path, target: Path) -> bool:
        deleting.start()
        deleting.join(0.3)
        return genuine(source, target)

    monkeypatch.setattr(file_swap, "exchange", exchange)
    store.replace(KEY, b"new", version)
    deleting.join()
    with pytest.raises(MissingError):
        store.read(KEY)


def test_a_hand_edit_in_between_makes_the_swap_fail(store: LocalStore, tmp_path: Path) -> None:
    version = store.create(KEY, b"old")
    (tmp_path / KEY).write_bytes(b"by hand")
    with pytest.raises(ConflictError):
        store.replace(KEY, b"new", version)
    assert store.read(KEY).data == b"by hand"


KILLED = """
import os
from pathlib import Path
from lineage.store import LocalStore
genuine = os.{call}
def stopping(*arguments, **options):
    print("there", flush=True)
    input()
os.{call} = stopping
LocalStore(Path.cwd()).create("memory/a.md", b"data" * 1000)
"""


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_a_killed_writer_leaves_no_key_and_blocks_nobody(tmp_path: Path, call: str) -> None:
    store = LocalStore(tmp_path)
    with store.lock("warm"):
        pass
    store.create("memory/old.md", b"")
    with start_process(KILLED.format(call=call), tmp_path) as process:
        assert read_line(process) == "there"
        process.kill()
        process.wait()
    assert [entry.key for entry in store.list("memory/")] == ["memory/old.md"]
    store.create(KEY, b"mine")
    assert store.read(KEY).data == b"mine"
