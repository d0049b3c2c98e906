"""Commands as processes of their own under strace, which kills them or fails a call of theirs at a chosen system call.

Run as a module this is a server that has imported everything and forks once per command: strace attaches to the child,
so a run costs a tenth of a start. Calls are counted from there on, each by its own name, and are the same every time.
"""

import contextlib
import ctypes
import gc
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]

MUTATING = (
    "openat", "creat", "write", "writev", "pwrite64", "pwritev", "pwritev2", "sendfile", "copy_file_range",
    "link", "linkat", "symlink", "symlinkat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir",
    "mkdirat", "mknod", "mknodat", "fsync", "fdatasync", "sync_file_range", "msync", "truncate", "ftruncate",
    "fallocate", "chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat",
)  # fmt: skip
"""Every system call that changes files or makes them durable. A name that a machine lacks is passed over."""

_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (.+)$")
_FILE = re.compile(r"^\d+<([^>]*)>")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_DATABASE = re.compile(r"\.db(-wal|-shm|-journal)?$")
_SYNCING = {"fsync", "fdatasync", "sync_file_range", "msync"}
_PR_SET_PTRACER = 0x59616D61
KILLED = -9


@dataclass(frozen=True)
class SystemCall:
    """The `number`th call named `name` of a run; `path` is what it changes, relative to the workspace.

    `state` is how many calls had changed anything when it was made: two calls of one state find the same bytes and
    names, as only a sync, a call that failed or the opening of a file that was there lies between them.
    """

    name: str
    number: int
    path: str
    state: int

    @property
    def is_database(self) -> bool:
        return _DATABASE.search(self.path) is not None

    def __str__(self) -> str:
        return f"{self.name} no. {self.number}, {self.path}"


@dataclass(frozen=True)
class TracedRun:
    """How a process ended; `code` is negative for a signal. `trace` are strace's lines."""

    code: int
    out: str
    err: str
    trace: Sequence[str] = ()


class TracedProcesses:
    """Runs `lineage` commands, each in a process of its own."""

    def __init__(self, server: "subprocess.Popen[str]", folder: Path) -> None:
        self._server, self._folder = server, folder

    def run(self, root: Path, *arguments: str, inject: str = "", strace: Sequence[str] = (), **more: Any) -> TracedRun:
        """One command on the workspace `root`. `inject` is strace's expression, `strace` further options of it; both
        empty: no strace. `more` is what `_child` takes."""
        if inject:
            name = inject.partition(":")[0]
            strace = ["-e", f"trace={name}", "-e", f"inject={inject}", *strace]
        asked = {"arguments": ["--workspace", str(root), *arguments], "strace": list(strace), **more}
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps({**asked, "folder": str(self._folder)}) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, "the server died"
        lines = (self._folder / "trace").read_text().splitlines() if strace else ()
        return TracedRun(**json.loads(answer), trace=lines)

    def list_calls(self, root: Path, *arguments: str) -> list[SystemCall]:
        """The mutating calls below `root` that a run makes, in order. The run is carried out."""
        there = {str(path) for path in root.rglob("*")}
        ran = self.run(root, *arguments, strace=["-y", "-e", "trace=" + ",".join(f"?{name}" for name in MUTATING)])
        assert ran.code == 0, ran
        return list(_calls(ran.trace, str(root), there))


@contextmanager
def start_process_server(folder: Path) -> Iterator[TracedProcesses]:
    """A server, warm: what a first run would import and look up is there, so that every run makes the same calls."""
    folder.mkdir(parents=True)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.strace"],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield TracedProcesses(server, folder)
    finally:
        server.communicate()


@cache
def find_strace_problem() -> str:
    """Why strace cannot be used here; empty where it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    with tempfile.TemporaryDirectory() as folder, start_process_server(Path(folder, "probe")) as probe:
        ran = probe.run(Path(folder, "w"), "init", inject="?mkdir,mkdirat:signal=KILL:when=1")
    return "" if ran.code == KILLED else f"strace cannot attach to a process here: {ran.err}"


def require_strace() -> None:
    """Skips the test, loudly, where strace cannot run."""
    reason = find_strace_problem()
    if reason:
        pytest.skip(f"NO FAULT INJECTION: {reason}")


def _calls(trace: Sequence[str], root: str, there: set[str]) -> Iterator[SystemCall]:
    counts: Counter[str] = Counter()
    state = 0
    for line in trace:
        found = _LINE.match(line)
        if not found:
            continue
        name, arguments, result = found.groups()
        counts[name] += 1
        changed = _find_changed_path(name, arguments)
        if changed and f"{changed}/".startswith(f"{root}/"):
            yield SystemCall(name, counts[name], os.path.relpath(changed, root), state)
            is_opened = name == "openat" and changed in there and "O_TRUNC" not in arguments
            state += not (result.startswith("-1 ") or name in _SYNCING or is_opened)
            there.difference_update(_QUOTED.findall(arguments))
            if name == "openat":
                there.add(changed)


def _find_changed_path(name: str, arguments: str) -> str | None:
    """What a call changes: the file of its descriptor, else the last path that it names."""
    if name == "openat" and "O_CREAT" not in arguments:
        return None
    if file := _FILE.match(arguments):
        return file[1].removesuffix(" (deleted)")
    paths = _QUOTED.findall(arguments)
    return paths[-1] if paths else None


# --- The server ------------------------------------------------------------------------------------------------------


def _serve() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _warm_up(Path(folder))
    _freeze_clock()
    gc.freeze()  # else the first collection of each child copies every page of the server
    for line in sys.stdin:
        print(json.dumps(_run(**json.loads(line))), flush=True)


def _warm_up(folder: Path) -> None:
    from lineage.cli.main import run
    from tests.support.commands import SAMPLE, SAMPLE_ID

    session = ("--harness", "claude-code", "--session-id", SAMPLE_ID, "--transcript-path", str(SAMPLE))
    commands = (
        ("init",), ("session-end", *session), ("compaction", *session, "--summary", "Goal."), ("reindex",), ("render",),
        ("remember", "a word"), ("book", "forget", "0"),
        ("verify",), ("remove", SAMPLE_ID, "--yes"), ("remove", SAMPLE_ID, "--yes"), ("recover",),
    )  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for arguments in commands:
            run(["--workspace", str(folder / "w"), *arguments])


def _freeze_clock() -> None:
    """Names that hold a time decide which lock a call takes: with one time for all runs they make the same calls."""
    from lineage.app import clock

    moment = clock.now()
    clock.now = lambda: moment


def _run(arguments: list[str], strace: list[str], folder: str, **more: Any) -> dict[str, Any]:
    (gate, opening), (prepared, ready) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(opening)
        _run_child(arguments, ready, gate, Path(folder), **more)
    os.close(gate)
    os.close(ready)
    os.read(prepared, 1)
    os.close(prepared)
    said = "attached"
    with contextlib.ExitStack() as traced:
        if strace:
            tracing = ["strace", "-f", "-p", str(pid), "-o", f"{folder}/trace", *strace]
            attached = subprocess.Popen(tracing, stderr=subprocess.PIPE, text=True)
            traced.callback(attached.communicate)
            assert attached.stderr
            said = attached.stderr.readline()
        os.write(opening, b".")
        os.close(opening)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    out, err = (Path(folder, name).read_text() for name in ("out", "err"))
    return {"code": code, "out": out, "err": err if "attached" in said else said}


def _run_child(
    arguments: list[str],
    ready: int,
    gate: int,
    folder: Path,
    short_writes: bool = False,
    report: bool = False,
    home: str = "",
) -> None:
    from lineage.cli.main import run

    code = 99
    try:
        if home:
            os.environ["HOME"] = home
        with contextlib.suppress(OSError, AttributeError):  # where only ancestors may attach: let anybody
            ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        if short_writes:
            _shorten_writes()
        if report:
            _report_durable_writes()
        os.close(ready)
        os.read(gate, 1)
        code = run(arguments)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _shorten_writes() -> None:
    """Every write takes a third of what it is given, at least a byte, as a pipe, a quota or a signal may make it do."""
    whole = os.write
    os.write = lambda descriptor, data: whole(descriptor, memoryview(data)[: memoryview(data).nbytes // 3 + 1])


def _report_durable_writes() -> None:
    """The store's promise, seen in a trace: when a write has returned, its key is looked at under this name."""
    from lineage.store import LocalStore

    for name in ("create", "replace", "delete"):
        setattr(LocalStore, name, _wrap_with_report(name, getattr(LocalStore, name)))


def _wrap_with_report(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def reporting(store: Any, key: str, *rest: Any, **more: Any) -> Any:
        answer = method(store, key, *rest, **more)
        os.access(f"{REPORT_PATH}/{name}{store.root / key}", os.F_OK)
        return answer

    return reporting


REPORT_PATH = "/durable-by-now"

if __name__ == "__main__":
    _serve()
