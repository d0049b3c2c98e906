"""Many at once: processes over a folder or a bucket, threads over a dictionary, all let go together.

What they do is a plain function of a module that a fresh process can import; its first argument is the store.
"""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lineage.store import LocalStore, Store
from lineage.store.objects import BucketStore

PROJECT = Path(__file__).parents[2]

# A fork server imports once what spawned processes would import each; it begins with the first race of any kind.
multiprocessing.get_context("forkserver").set_forkserver_preload(
    [
        "pytest",
        "hypothesis",
        "lineage.store.conformance",
        "lineage.workspace.workspace",
        "tests.support.stores",
        "tests.support.faults",
        "tests.support.artifacts",
    ]
)

_gate: Any = None


def run_concurrently(store: Store, work: Callable[..., Any], each: Iterable[tuple[Any, ...]]) -> list[Any]:
    """`work(store, *arguments)` for every tuple, at the same time. The results in order; an error is raised here."""
    tuples = list(each)
    with _executor(store, len(tuples)) as executor:
        futures = [executor.submit(_run, work, store, *arguments) for arguments in tuples]
        return [future.result() for future in futures]


def _executor(store: Store, size: int) -> Executor:
    if not isinstance(store, LocalStore | BucketStore):
        return ThreadPoolExecutor(size, initializer=_wait_at_gate, initargs=(threading.Barrier(size),))
    forking = multiprocessing.get_context("forkserver")
    gate = forking.Barrier(size)
    return ProcessPoolExecutor(size, mp_context=forking, initializer=_init_worker, initargs=(gate, dict(os.environ)))


def _init_worker(gate: Any, environment: dict[str, str]) -> None:
    """The environment of a forked process is that of the first test that raced; from here on it is this one's."""
    os.environ.clear()
    os.environ.update(environment)
    _wait_at_gate(gate)


def _wait_at_gate(gate: Any) -> None:
    global _gate  # noqa: PLW0603  (a barrier reaches a process only when it starts)
    _gate = gate


def _run(work: Callable[..., Any], store: Store, *arguments: Any) -> Any:
    _gate.wait(120)
    return work(store, *arguments)


@contextmanager
def start_process(code: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A Python process in `folder` that runs `code` and can import the project; killed and collected afterwards.

    Talk to it by lines over stdin and stdout.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r})\n{code}"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_line(process: subprocess.Popen[str]) -> str:
    """The next line that another process writes."""
    assert process.stdout
    return process.stdout.readline().strip()


def write_line(process: subprocess.Popen[str], line: str = "") -> None:
    assert process.stdin
    process.stdin.write(line + "\n")
    process.stdin.flush()


def run_unprivileged(imports: str, code: str, folder: Path) -> str:
    """What `code` prints when run in `folder` by somebody who is not root; `imports` run before root is given up."""
    drop = "import os\nif os.getuid() == 0:\n    os.setgroups([]); os.setgid(65534); os.setuid(65534)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r})\n{imports}\n{drop}\n{code}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def describe_outcome(action: Callable[[], Any]) -> str:
    """The name of the error that an action raises, `ok` where it raises none; for use inside other processes."""
    try:
        action()
    except Exception as error:  # noqa: BLE001  (the name is what is asked for)
        return type(error).__name__
    return "ok"
