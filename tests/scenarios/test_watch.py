"""`lineage admin watch` as people run it: a process beside those who change the files. No test asserts a time.

What each guard rests on:
- nothing lost in a burst: the scan after each hint; the timer, where no hint comes at all.
- one more look at its own writes, and sleep: the folders that are heard of, and `is_hint`; without both of these the
  index and the leases of a look are the hint to the next.
- folders that came or were replaced: `Observed.listen`, the identity of a folder and its marks.
- one watcher: the mutex. The end: the handler of SIGTERM.
- a sudden loss is told, not confirmed: `confirmed` is left out in `reconcile`.
"""

import contextlib
import errno
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lineage.app import fs_events
from lineage.app.fs_events import FileEvents
from lineage.app.workspace_watcher import open_watcher, reconcile
from lineage.core.base import naming
from lineage.errors import LineageError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.maintenance.finish_pending import NO_SENTENCE
from lineage.pipeline.maintenance.watch import TIMER, Watch, iter_occasions
from lineage.store import BusyError
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand, run_process
from tests.support.workspace import (
    build_end_request,
    end_session,
    open_memory_workspace,
    open_test_workspace,
    read_store,
    write_capture,
)

pytestmark = pytest.mark.slow

NEVER = "86400"
PATIENCE = 90.0
SENTENCE = "In demo the reader lost a line in reader.py, and the session told its first sentence about it."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one session."""
    root = tmp_path / "vault"
    with open_test_workspace(root) as ws:
        end_session(ws, "s-0")
    return root


class Running:
    """A watch as a process of its own, whose output lies in files."""

    def __init__(self, root: Path, *options: str) -> None:
        self._files = [root.with_name(f"{root.name}-{name}.txt") for name in ("out", "err")]
        with self._files[0].open("w") as out, self._files[1].open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lineage", "--workspace", str(root), "watch", *options],
                stdout=out,
                stderr=err,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  (else `&` ignores it)
            )

    @property
    def out(self) -> str:
        return self._files[0].read_text()

    @property
    def err(self) -> str:
        return self._files[1].read_text()

    def ended(self, by: int = signal.SIGTERM) -> int:
        """The exit code after a signal."""
        self.process.send_signal(by)
        return self.process.wait(PATIENCE)


@contextmanager
def running(root: Path, *options: str) -> Iterator[Running]:
    """A watch that has begun; killed where the test did not end it."""
    watch = Running(root, *options)
    try:
        eventually(lambda: watch.out.startswith("watching ") or "--json" in options)
        yield watch
    finally:
        watch.process.kill()
        watch.process.wait()


def eventually(is_so: Callable[[], bool]) -> None:
    """Waits until something is so; the deadline is only there so that a failing test ends."""
    latest = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < latest, "it never came to be"
        time.sleep(0.05)


def indexed(root: Path) -> set[str] | None:
    """The paths that have a row, read beside whoever writes; None while it cannot be read."""
    try:
        address = f"{(root / '.lineage' / 'index.db').as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=30)) as database:
            return {row[0] for row in database.execute("select source_path from artifacts")}
    except sqlite3.DatabaseError:
        return None


def on_disk(root: Path) -> set[str]:
    return {key for path in (root / "memory").glob("*.md") if naming.parse_path(key := f"memory/{path.name}")}


def is_in_step(root: Path) -> bool:
    return indexed(root) == on_disk(root)


def found(root: Path, word: str) -> list[str]:
    return [hit["session_id"] for hit in run_process(root, "search", f'"{word}"', "--json").json["results"]]


def captures(folder: Path, count: int, first: int = 1) -> dict[str, bytes]:
    """The files of the sessions `s-<first>` and so on, as a sync client would bring them: four each."""
    files: dict[str, bytes] = {}
    numbers = range(first, first + count)
    for begin in range(0, count, 100):  # each capture looks through all that is in its workspace
        with open_memory_workspace(folder) as ws:
            for number in numbers[begin : begin + 100]:
                at = f"2026-11-20T{10 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
                write_capture(
                    ws, f"s-{number}", sentence=SENTENCE, captured_at=at, transcript=f"word{number} reader.py"
                )
            files |= read_store(ws.documents.store, naming.MEMORY)
        shutil.rmtree(folder)
    return files


def lay(root: Path, files: dict[str, bytes]) -> None:
    for key, data in files.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def memory_md(root: Path) -> str:
    return (root / "MEMORY.md").read_text()


def test_what_a_sync_client_brings_and_takes_is_found_without_another_command(root: Path, tmp_path: Path) -> None:
    files = captures(tmp_path / "elsewhere", 1)
    with running(root, "--every", NEVER) as watch:
        lay(root, captures(tmp_path / "elsewhere", 1, first=2) | files)
        eventually(lambda: found(root, "word1") == ["s-1"])
        eventually(lambda: "session=s-1 " in memory_md(root))
        for key in files:
            (root / key).unlink()
        eventually(lambda: found(root, "word1") == [])
        eventually(lambda: "session=s-1 " not in memory_md(root))
        assert "session=s-2 " in memory_md(root)
        assert (watch.ended(), watch.err) == (0, "")
    assert "3 dropped, 1 MEMORY.md written" in watch.out


def test_hand_edits_of_the_settings_are_followed_and_a_slip_ends_nothing(root: Path) -> None:
    with running(root, "--every", NEVER) as watch:
        (root / "lineage.toml").write_text("[ledger\n")
        eventually(lambda: "lineage.toml is not valid TOML" in watch.err)
        assert "session=s-0" in memory_md(root)
        (root / "lineage.toml").write_text('[ledger]\nrow_style = "compact"\n')
        eventually(lambda: "session=s-0" not in memory_md(root))
        assert watch.ended() == 0
    assert watch.err.count("TOML") == 1


@pytest.mark.parametrize("sessions", [500, pytest.param(2500, marks=pytest.mark.slow)])
def test_a_burst_loses_nothing(root: Path, tmp_path: Path, sessions: int) -> None:
    files = captures(tmp_path / "elsewhere", sessions)
    assert len(files) == 4 * sessions
    with running(root, "--every", "2") as watch:
        lay(root, files)
        eventually(lambda: is_in_step(root))
        eventually(lambda: f"session=s-{sessions} " in memory_md(root))
        assert (watch.ended(), watch.err) == (0, "")
    assert len(on_disk(root)) == 3 * sessions + 3


@pytest.mark.parametrize("at_once", [True, False])
def test_folders_that_come_later_or_are_replaced_are_heard_of(tmp_path: Path, at_once: bool) -> None:
    root = tmp_path / "vault"
    run_process(root, "init")
    files = [captures(tmp_path / "elsewhere", 1, first=number) for number in range(1, 5)]
    with running(root, "--every", NEVER) as watch:
        lay(root, files[0])
        eventually(lambda: len(indexed(root) or ()) == 3)
        shutil.rmtree(root / "memory")
        eventually(lambda: at_once or "3 of 3 indexed files are gone" in watch.err)
        lay(root, files[0] | files[1])
        for number in (2, 3):
            eventually(lambda count=3 * number: len(indexed(root) or ()) == count)
            lay(root, files[number])
        eventually(lambda: is_in_step(root))
        assert watch.ended() == 0
    assert len(on_disk(root)) == 12


def test_a_folder_made_anew_under_the_same_number_is_heard_of(tmp_path: Path) -> None:
    """File systems give the number of a folder that went to the next one that comes."""
    memory = tmp_path / "memory"
    memory.mkdir()
    with FileEvents(tmp_path) as hints:
        hints.listen()
        memory.rmdir()
        memory.mkdir()
        eventually(lambda: hints.wait(0.1))
        while hints.wait(0.5):
            pass
        hints.listen()
        (memory / "2026-03-28T22-34-06.792Z--h7k3n4p2m2x6q3r5--summary.md").touch()
        eventually(lambda: hints.wait(0.1))


@pytest.mark.leaves_findings
def test_what_is_not_canonical_never_gets_a_row(root: Path, tmp_path: Path) -> None:
    """Whole files of other sessions under the names that sync clients, writers and backups give."""
    files = captures(tmp_path / "elsewhere", 1)
    (summary,) = [key for key in files if key.endswith("--summary.md")]
    stem = summary.removesuffix(".md")
    leftovers = [f"{stem}.sync-conflict-20261121-100000-ABCDEFG.md", f"{stem} (conflicted copy).md", f"{stem} 2.md"]
    leftovers += [f"memory/.{Path(summary).name}.icloud", "memory/.lineage-tmp-0123456789abcdef", "memory/MEMORY.md"]
    leftovers += ["MEMORY.md.bak", "MEMORY 2.md", "agents/ann/MEMORY.md.bak", ".lineage/old/" + Path(summary).name]
    with running(root, "--every", "1") as watch:
        lay(root, dict.fromkeys(leftovers, files[summary]))
        eventually(lambda: "5 not ours" in watch.out)
        lay(root, captures(tmp_path / "elsewhere", 1, first=2))
        eventually(lambda: is_in_step(root))
        assert found(root, "word1") == []
        assert watch.ended() == 0
    assert len(indexed(root) or ()) == 6


def until_quiet(why: Iterable[str], root: Path, change: Callable[[], object], seen: list[str]) -> Iterator[str]:
    """The occasions until the timer alone woke the watch four times in a row, at most forty; `change` at the first."""
    for number, occasion in enumerate(why):
        seen.append(occasion)
        yield occasion
        if number == 0:
            change()
            seen.clear()
        if seen[-4:] == [TIMER] * 4 or len(seen) == 40:
            return


def test_its_own_writes_do_not_keep_it_awake(root: Path, tmp_path: Path) -> None:
    """It writes MEMORY.md and a claim, somebody else a whole session; then it looks on the timer only."""

    def change() -> None:
        lay(root, {key: data for key, data in captures(tmp_path / "elsewhere", 1).items() if "/claims/" not in key})
        (root / "MEMORY.md").write_text("# mine\n")

    seen: list[str] = []
    errors: list[LineageError] = []
    reports: list[object] = []
    with FileEvents(root) as hints:
        why = until_quiet(iter_occasions(hints, time.monotonic, every=0.8), root, change, seen)
        watch = Watch(hints.listen, lambda: reconcile(root), (), on_report=reports.append, on_error=errors.append)
        watch.run(why)
    assert seen[-4:] == [TIMER] * 4
    assert errors == []
    assert is_in_step(root)
    assert "session=s-1 " in memory_md(root)


def test_what_waits_in_the_spool_is_finished_on_the_timer(root: Path) -> None:
    with running(root, "--every", "0.5") as watch, open_test_workspace(root) as ws:
        ws.documents.spool.put(
            sessions.build_job(build_end_request(ws, "s-9", transcript="word9 reader.py"), NO_SENTENCE)
        )
        eventually(lambda: found(root, "word9") == ["s-9"])
        eventually(lambda: not ws.documents.spool.list_pending())
        assert (watch.ended(), watch.err) == (0, "")


def test_a_sudden_loss_is_told_not_confirmed_and_survived(root: Path, tmp_path: Path) -> None:
    memory, away = root / "memory", tmp_path / "away"
    before = indexed(root)
    with running(root, "--every", NEVER) as watch:
        memory.rename(away)
        eventually(lambda: "3 of 3 indexed files are gone" in watch.err)
        assert indexed(root) == before
        away.rename(memory)
        lay(root, captures(tmp_path / "elsewhere", 1))
        eventually(lambda: is_in_step(root))
        assert watch.ended() == 0
    assert len(indexed(root) or ()) == 6
    assert watch.err.count("are gone") == 1
    assert "lineage reindex --yes" in watch.err


def test_a_damaged_index_is_begun_anew(root: Path, tmp_path: Path) -> None:
    """Also where it is damaged under the very eyes of a round: that one may fail, the next does not."""
    with running(root, "--every", "1") as watch:
        (tmp_path / "damaged").write_bytes(b"no database " * 1000)
        (tmp_path / "damaged").replace(root / ".lineage" / "index.db")
        lay(root, captures(tmp_path / "elsewhere", 1))
        eventually(lambda: is_in_step(root) and "session=s-1 " in memory_md(root))
        assert watch.ended() == 0


def test_a_second_watcher_is_refused_a_single_look_is_not(root: Path) -> None:
    with running(root) as watch:
        refused = run_process(root, "watch", "--every", "1")
        assert (refused.code, refused.out) == (1, "")
        assert "is watched already\n  one watcher is enough" in refused.err
        assert run_process(root, "watch", "--once").code == 0
        assert watch.ended() == 0
    with running(root) as watch:
        assert watch.ended() == 0


def test_an_interrupt_ends_it_as_it_ends_other_commands(root: Path) -> None:
    """A shell shows 130 in both cases: where the interrupt strikes while a class is made out of text, `python -m` ends
    with the signal itself, although it was caught."""
    with running(root) as watch:
        assert watch.ended(by=signal.SIGINT) in {130, -signal.SIGINT}
    assert "interrupted" in watch.err


def test_the_round_that_runs_is_finished(root: Path) -> None:
    done: list[str] = []

    def first(_: Workspace) -> None:
        watching.stop()
        done.append("first")

    with open_watcher(root) as watching:
        chores = (first, lambda ws: done.append(ws.now))
        watching.run(interval_seconds=60, on_report=done.append, on_error=done.append, tasks=chores)
    assert done[0] == "first"
    assert len(done) == 2


def test_a_system_that_tells_of_nothing_leaves_the_timer(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the limit of watches is reached."""

    def none_left() -> None:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(fs_events, "Observer", none_left)
    errors: list[str] = []
    rounds = iter((lambda: lay(root, captures(tmp_path / "elsewhere", 1)), lambda: None))
    with open_watcher(root) as watching:
        chores = [lambda _: next(rounds, watching.stop)()]
        watching.run(interval_seconds=0.1, on_report=str, on_error=lambda e: errors.append(e.message), tasks=chores)
    assert is_in_step(root)
    assert errors == ["changes are not seen as they happen: inotify instance limit reached"]


def test_one_watcher_holds_the_right_until_it_ends(root: Path) -> None:
    with open_watcher(root), pytest.raises(BusyError), open_watcher(root):
        pass
    with open_watcher(root):
        pass


def test_json_is_an_object_a_line(root: Path, tmp_path: Path) -> None:
    with running(root, "--json") as watch:
        lay(root, captures(tmp_path / "elsewhere", 1))
        eventually(lambda: is_in_step(root))
        eventually(lambda: watch.out.endswith("\n"))
        assert watch.ended() == 0
    told = [json.loads(line) for line in watch.out.splitlines()]
    assert sum(line["added"] for line in told) == 3
    keys = ["at", "added", "changed", "dropped", "unchanged", "claims_rebuilt", "books", "memory_md"]
    assert all(list(line) == [*keys, "problems", "strays", "buried"] for line in told)


def test_once_looks_does_what_is_due_and_says_what_changed(lineage: LineageCommand, tmp_path: Path) -> None:
    assert lineage("watch", "--once").code == 1
    lineage("init")
    lay(lineage.root, captures(tmp_path / "elsewhere", 1))
    with open_test_workspace(lineage.root) as ws:
        ws.documents.spool.put(sessions.build_job(build_end_request(ws, "s-9"), NO_SENTENCE))
    once = lineage("watch", "--once", "--json").json
    assert (once["added"], once["unchanged"], once["memory_md"]) == (3, 0, 1)
    assert lineage("watch", "--once", "--json").json["unchanged"] == 6
    assert lineage("watch", "--once").out == "nothing changed\n"
    for path in (lineage.root / "memory").glob("*.md"):
        path.rename(tmp_path / path.name)
    lost = lineage("watch", "--once")
    assert (lost.code, "lineage reindex --yes" in lost.err) == (1, True)
    for path in tmp_path.glob("*.md"):
        path.rename(lineage.root / "memory" / path.name)
