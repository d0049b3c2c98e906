"""Running a program on behalf of the user: bounded in time, its output passed on, no process left behind."""

import codecs
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import IO

from lineage.core.base.terminal import EscapeFilter
from lineage.errors import LineageError

TextSink = Callable[[str], object]

_GRACE_SECONDS = 5.0
_DRAIN_SECONDS = 2.0
_CHUNK = 1 << 16
_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


class ProcessTimeout(LineageError):
    """A program exceeded its time and was ended, with all that it had started."""

    default_hint = "give it more time with `--timeout SECONDS`"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The time limit of a program, and the sinks of its output with their escape filters."""

    timeout_seconds: float
    out: tuple[TextSink, EscapeFilter]
    err: tuple[TextSink, EscapeFilter]


def run_subprocess(
    argv: Sequence[str], options: RunOptions, *, stdin: str, cwd: Path, environment: Mapping[str, str]
) -> int:
    """Run a program to its end, pass its output on piece by piece, cleaned, and return its exit code.

    Its process group ends with it, on a timeout and when this process is signalled to end. Raises ProcessTimeout, and
    LineageError if the program can't be started.
    """
    process = _start_process(argv, cwd, environment)
    assert process.stdin and process.stdout and process.stderr
    pumps = [_start_thread(_pump, process.stdout, *options.out), _start_thread(_pump, process.stderr, *options.err)]
    feeder = _start_thread(_feed, process.stdin, stdin.encode("utf-8", "replace"))
    try:
        with _interrupt_on_signals():
            return process.wait(timeout=options.timeout_seconds)
    except subprocess.TimeoutExpired as error:
        what = f"{Path(argv[0]).name} was not done after {options.timeout_seconds:g} seconds and was ended"
        raise ProcessTimeout(what) from error
    finally:
        if process.poll() is None or not _wait_until_drained(pumps):
            _terminate(process)
            _wait_until_drained(pumps)
        feeder.join(_DRAIN_SECONDS)


def _start_process(argv: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            list(argv),
            stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=dict(environment),
            start_new_session=True,  # a process group of its own: everything in it can be ended
            creationflags=_NEW_GROUP,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LineageError(f"{argv[0]} cannot be started: {reason}", hint="start it by hand to see why") from error


def _start_thread(work: Callable[..., None], *arguments: object) -> Thread:
    thread = Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _pump(pipe: IO[bytes], write: TextSink, cleaner: EscapeFilter) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with pipe, contextlib.suppress(BrokenPipeError):  # the reader is gone: the program gets a broken pipe itself
        while piece := os.read(pipe.fileno(), _CHUNK):
            write(cleaner.clean(decoder.decode(piece)))
        write(cleaner.clean(decoder.decode(b"", final=True)) + cleaner.flush())


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), pipe:  # a program need not read its stdin
        pipe.write(data)


def _wait_until_drained(pumps: Sequence[Thread]) -> bool:
    """Wait a little for the pumps to end; return whether they did. A grandchild may hold the pipes open."""
    for pump in pumps:
        pump.join(_DRAIN_SECONDS)
    return not any(pump.is_alive() for pump in pumps)


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """End the program and its process group: SIGTERM first, SIGKILL after the grace period."""
    _send_signal(process, hard=False)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE_SECONDS)
    _send_signal(process, hard=True)
    process.wait()


def _send_signal(process: subprocess.Popen[bytes], *, hard: bool) -> None:
    if sys.platform == "win32":
        force = ["/F"] if hard else []
        subprocess.run(["taskkill", "/T", *force, "/PID", str(process.pid)], capture_output=True, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL if hard else signal.SIGTERM)


@contextmanager
def _interrupt_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, so that cleaning up ends the program, too."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    may_set = current_thread() is main_thread()  # signal handlers are the main thread's
    active = [one for one in numbers if may_set and signal.getsignal(one) is not signal.SIG_IGN]  # nohup stays nohup
    before = {number: signal.signal(number, _raise_interrupt) for number in active}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt
