"""An editor saves while lineage writes the same file: no word of it is lost, whenever it does. (law 2)

Every writer of a file that people edit is stopped before every system call of its replacement of the file, for longer
than an editor needs: it saves by renaming a new file, by opening, appending and closing, or it has the file open all
along; before each call one of these, and on three days all of them. Then a run of anything else finishes. A further
writer joins by a line of WRITERS.

The settings' writer is also killed, and failed by a full and by a broken disk, at each of these calls.

The load: hand-written lines beside four writers of the same book, by either way of saving; none is lost.

Fails without the look at who has the file open, without `keep` in `swap` (the load), and without
`merge_displaced_edits`. The second comparison in `file_swap.swap` keeps a write from covering an edit until the merge:
tests/unit/store/test_local.py holds it.
"""

import contextlib
import itertools
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, TextIO

import pytest

from lineage.app.settings_file import set_setting
from lineage.app.workspace import run_in_workspace
from lineage.core.base.book_paths import BookRef
from lineage.core.books.entry import Entry, compute_entry_id
from lineage.documents.books import Books
from lineage.errors import LineageError
from lineage.pipeline.maintenance.recover import recover
from lineage.store import LocalStore
from lineage.store.temporaries import TEMP_PREFIX
from tests.support.crash_flows import OF_TODAY
from tests.support.strace import TracedProcesses, TracedRun

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]

LINE = "- a line by hand\n"
_EDIT_AFTER, _DELAY = 0.12, 0.25
_CALLS = (
    "openat", "read", "write", "fsync", "close", "link", "linkat", "rename", "renameat", "renameat2", "unlink",
    "unlinkat", "flock", "fcntl",
)  # fmt: skip
_CALL = re.compile(r"^\d+ +(\w+)\((.*)")

Run = Callable[..., object]


def note(run: Run) -> None:
    run("remember", "The staging server is rebuilt every night at four.")


def mirrored_book(run: Run) -> None:
    note(run)
    run("mirror", "{vault}", "--once")
    run("remember", "Backups are taken on every Sunday evening.", root="vault")


def mirrored_note(run: Run) -> None:
    run("write", "Plans.md", "# Plans\n")
    run("mirror", "{vault}", "--once")
    run("write", "../vault/Plans.md", "- from the other side\n# Plans\n")


def no_file(run: Run) -> None:
    """`init` has made it."""
    del run


def settings(run: Run) -> None:
    run("write", "../home/.claude/settings.json", "{}\n")


@dataclass(frozen=True)
class Writer:
    """What makes the workspace, the hand-editable file, and the command that replaces it. `{id}` is the note's."""

    prepare: Callable[[Run], None]
    file: str
    arguments: tuple[str, ...]
    line: str = LINE


NOTE = "books/global/note.md"
WRITERS = {
    "remember": Writer(note, NOTE, ("remember", "Backups are taken on every Sunday evening.")),
    "curated": Writer(note, "AGENT_MEMORY.md", ("remember", "--curated", "Ask before a dependency is added.")),
    "forget": Writer(note, NOTE, ("book", "forget", "{id}")),
    "mirror of a book": Writer(mirrored_book, NOTE, ("mirror", "{vault}", "--once")),
    "mirror of a note": Writer(mirrored_note, "Plans.md", ("mirror", "{vault}", "--once")),
    "config": Writer(no_file, "lineage.toml", ("config", "set", "context.budget", "1500"), "# a line by hand\n"),
    "hooks": Writer(settings, "../home/.claude/settings.json", ("hooks", "install", "claude-code")),
}


def append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line)


def rename(path: Path, line: str) -> None:
    new = path.with_name(f".{path.name}.editor")
    new.write_text(path.read_text() + line)
    new.replace(path)


SAVERS: dict[str, Callable[[Path, str], None]] = {"append": append, "rename": rename}


class Workshop:
    """A writer's workspace, beside a vault and a home, at one path: made once, and put there anew for every run."""

    def __init__(self, folder: Path, processes: TracedProcesses, writer: Writer) -> None:
        self._folder, self._template, self._processes = folder / "work", folder / "template", processes
        self.root, self._identifier = self._folder / "w", ""
        self.file = (self.root / writer.file).resolve()
        self._folder.mkdir(parents=True)
        self.run("init")
        writer.prepare(self.run)
        if (self.root / NOTE).exists():
            self._identifier = re.findall(r"lineage:entry .*?\b([0-9a-f]{8,})\b", (self.root / NOTE).read_text())[0]
        self._folder.rename(self._template)
        self.renew()

    def renew(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(self._template, self._folder)

    def run(self, *arguments: str, root: str = "w", **options: Any) -> TracedRun | None:
        if arguments[0] == "write":
            path = self.root / arguments[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(arguments[2])
            return None
        given = [one.format(vault=self._folder / "vault", id=self._identifier) for one in arguments]
        home = str(self._folder / "home")
        ran = self._processes.run(self._folder / root, *given, home=home, **options)
        assert options or ran.code == 0, ran
        return ran

    def list_calls(self, arguments: Sequence[str]) -> list[tuple[str, int]]:
        """Every system call from the last look at the file before it is replaced until the lock is free again."""
        traced = self.run(*arguments, strace=["-y", "-e", "trace=" + ",".join(f"?{name}" for name in _CALLS)])
        assert traced
        calls, counts = [], Counter[str]()
        for line in traced.trace:
            if found := _CALL.match(line):
                counts[found[1]] += 1
                calls.append((found[1], counts[found[1]], found[2]))
        place = next(at for at, (name, _, text) in enumerate(calls) if name == "renameat2" and str(self.file) in text)
        locks = (at for at in range(place) if calls[at][0] == "flock" and TEMP_PREFIX not in calls[at][2])
        first = max(locks)
        lock = calls[first][2].partition(",")[0]
        last = next(at for at in range(place, len(calls)) if calls[at][0] == "close" and lock in calls[at][2])
        return [(name, number) for name, number, _ in calls[first : last + 1]]

    def words(self) -> str:
        """All that a person finds: the file, and its backups beside it."""
        return "".join(path.read_text() for path in sorted(self.file.parent.glob(f"{self.file.name}*")))


@pytest.mark.leaves_findings
@pytest.mark.parametrize("saver", [*SAVERS, "open all along"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_save_between_any_two_system_calls_of_a_writer_is_kept(
    tmp_path: Path, running: TracedProcesses, writer: str, saver: str
) -> None:
    workshop = Workshop(tmp_path, running, WRITERS[writer])
    calls = workshop.list_calls(WRITERS[writer].arguments)
    assert len(calls) > 15
    for name, number in calls[(OF_TODAY + [*SAVERS, "open all along"].index(saver)) % 3 :: 3]:
        workshop.renew()
        with ThreadPoolExecutor() as pool, workshop.file.open("a") as program:
            if saver in SAVERS:
                program.close()
            saved = pool.submit(_save, saver, workshop.file, program, WRITERS[writer].line)
            delay = f"{name}:delay_enter={int(_DELAY * 1e6)}:when={number}"
            ran = workshop.run(*WRITERS[writer].arguments, inject=delay)
            saved.result()
        assert ran
        assert ran.code == 0 or "run the command again" in ran.err, ran
        workshop.run("recover")
        assert workshop.words().count(WRITERS[writer].line) == 1, (name, number, ran)


def _save(saver: str, path: Path, program: TextIO, line: str) -> None:
    time.sleep(_EDIT_AFTER)
    if saver in SAVERS:
        SAVERS[saver](path, line)
    else:
        print(line, end="", file=program, flush=True)


_CREATING = {"openat", "write", "link", "linkat", "rename", "renameat", "renameat2", "fsync"}


@pytest.mark.leaves_findings
@pytest.mark.parametrize("fault", ["signal=KILL", "error=ENOSPC", "error=EIO"])
def test_settings_are_whole_whatever_stops_their_writer(tmp_path: Path, running: TracedProcesses, fault: str) -> None:
    """Killed or failed at any call of the replacement, the file is as before or as after; the same command finishes."""
    workshop, arguments = Workshop(tmp_path, running, WRITERS["config"]), WRITERS["config"].arguments
    before = workshop.file.read_bytes()
    calls = [call for call in workshop.list_calls(arguments) if "KILL" in fault or call[0] in _CREATING]
    after = workshop.file.read_bytes()
    assert len(calls) > 5 and before != after
    for name, number in calls:
        workshop.renew()
        ran = workshop.run(*arguments, inject=f"{name}:{fault}:when={number}")
        assert ran
        assert workshop.file.read_bytes() in (before, after), (name, number, ran)
        if ran.code == 0:
            assert workshop.file.read_bytes() == after, (name, number)
        elif "KILL" not in fault:
            assert (ran.code, len(ran.err.strip().splitlines())) == (1, 2), (name, number, ran)
        assert (again := workshop.run(*arguments)) and again.code == 0
        assert workshop.file.read_bytes() == after, (name, number)


_LINES, _BOOKS, _WRITERS = 10_000, 20, 4


@pytest.mark.leaves_findings  # a file that traded places is kept for ten seconds, and named after them
@pytest.mark.parametrize("saver", SAVERS)
def test_no_line_of_many_is_lost_beside_four_writers(tmp_path: Path, saver: str) -> None:
    store, each = LocalStore(tmp_path), _LINES // len(SAVERS) // _BOOKS
    forking = get_context("fork")
    stop = forking.Event()
    refs = [BookRef("global", f"kind-{number}") for number in range(_BOOKS)]
    for ref in refs:
        store.create(ref.path, b"# By hand\n")
    writers = [forking.Process(target=_write_entries, args=(store, refs, stop, n)) for n in range(_WRITERS)]
    for process in writers:
        process.start()
    for ref, number in itertools.product(refs, range(each)):
        SAVERS[saver](tmp_path / ref.path, f"- line {number} by hand\n")
        time.sleep(0.0005)
    stop.set()
    for process in writers:
        process.join()
        assert process.exitcode == 0
    run_in_workspace(tmp_path, recover, create=True)
    for ref in refs:
        lines = Counter((tmp_path / ref.path).read_text().splitlines())
        assert [number for number in range(each) if lines[f"- line {number} by hand"] != 1] == [], ref


def _write_entries(store: LocalStore, refs: Sequence[BookRef], stop: Event, writer: int) -> None:
    """Adds entries to the book that is being edited, and forgets some, until the editor stops."""
    books = Books(store)
    for number in itertools.count():
        ref = max(refs, key=lambda ref: (store.root / ref.path).stat().st_mtime_ns)
        text = f"Entry {number} of writer {writer}.\n"
        identifier = compute_entry_id(ref.scope, ref.kind, text, None)
        entry = Entry(identifier, at="2026-11-21T12:00:00.000Z", source="manual", text=text)
        # The editor may save a hundred times meanwhile, or what it had read before.
        with contextlib.suppress(LineageError):
            books.add(ref.scope, ref.kind, entry)
            books.forget(ref.scope, ref.kind, identifier)
        if stop.is_set():
            return


@pytest.mark.parametrize("saver", SAVERS)
def test_no_line_of_settings_is_lost_beside_four_writers(tmp_path: Path, saver: str) -> None:
    (tmp_path / ".lineage").mkdir()
    file, each = tmp_path / "lineage.toml", _LINES // len(SAVERS)
    file.write_text("# By hand\n[context]\n")
    forking = get_context("fork")
    stop = forking.Event()
    writers = [forking.Process(target=_change_settings, args=(tmp_path, stop, n)) for n in range(_WRITERS)]
    for process in writers:
        process.start()
    for number in range(each):
        SAVERS[saver](file, f"# line {number} by hand\n")
        time.sleep(0.0005)
    stop.set()
    for process in writers:
        process.join()
        assert process.exitcode == 0
    run_in_workspace(tmp_path, recover, create=True)
    lines = Counter(file.read_text().splitlines())
    assert [number for number in range(each) if lines[f"# line {number} by hand"] != 1] == []


def _change_settings(root: Path, stop: Event, writer: int) -> None:
    for number in itertools.count(writer):
        # The editor may save a hundred times meanwhile, or what it had read before.
        with contextlib.suppress(LineageError):
            set_setting(root, "context.budget", [str(number)])
        if stop.is_set():
            return
