"""The provider `command`: any program that reads a prompt on stdin and prints an answer (lessons: 14, 39).

It runs in an empty folder, without terminal and shell. Its process group is gone when the call returns. The caller
chooses its environment.
"""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, ClassVar

from lineage.core.base.naming import MODEL_FOLDER
from lineage.extraction.model.port import EMPTY, ModelAnswer, ModelError

try:
    import resource
except ImportError:  # Windows has no resource limits
    resource = None  # type: ignore[assignment]

NOT_FOUND = "not found"
CANNOT_RUN = "cannot be run"
TIMED_OUT = "timed out"
TOO_LONG = "too long"

_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CommandProvider:
    """A program and its arguments, stopped after `seconds` or `max_bytes` of output."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    seconds: float
    max_bytes: int
    kind: ClassVar[str] = "command"

    @property
    def name(self) -> str:
        """The program's name."""
        return Path(self.arguments[0]).name

    def answer(self, prompt: str) -> ModelAnswer:
        """Ask the program, see `ModelProvider.answer`."""
        return ModelAnswer(self.run(prompt))

    def run(self, prompt: str) -> str:
        """Return the program's output. Raises ModelError for none, too much, a failure and a time-out."""
        with TemporaryDirectory(prefix=MODEL_FOLDER, ignore_cleanup_errors=True) as folder:
            return self.run_in(Path(folder), prompt)

    def run_in(self, folder: Path, prompt: str) -> str:
        """Return the program's output in a folder, see `run`."""
        with TemporaryFile() as stdin:
            # A file, not a pipe: a program that never reads its stdin can't block the writer.
            stdin.write(prompt.encode("utf-8", "replace"))
            stdin.seek(0)
            process = self._start(stdin, folder)
            try:
                data = self._read(process)
            finally:
                _terminate(process)
        text = data.decode("utf-8", "replace").strip()
        if not text:
            raise ModelError(EMPTY)
        return text

    def _start(self, stdin: IO[bytes], folder: Path) -> subprocess.Popen[bytes]:
        program = shutil.which(self.arguments[0], path=self.environment.get("PATH"))
        if program is None:
            raise ModelError(NOT_FOUND)
        try:
            with _without_memory_limit():
                return subprocess.Popen(
                    [str(Path(program).absolute()), *self.arguments[1:]],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=folder,
                    env=dict(self.environment),
                    start_new_session=True,  # a process group of its own, to be killed as a whole
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
        except (OSError, ValueError) as error:
            raise ModelError(CANNOT_RUN) from error

    def _read(self, process: subprocess.Popen[bytes]) -> bytes:
        deadline = time.monotonic() + self.seconds
        data = _read_output(process, self.max_bytes + 1, self.seconds)
        if len(data) > self.max_bytes:
            raise ModelError(TOO_LONG)
        try:
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise ModelError(TIMED_OUT) from error
        if code:
            raise ModelError(f"exit code {code}" if code > 0 else "killed")
        return data


def _read_output(process: subprocess.Popen[bytes], max_bytes: int, seconds: float) -> bytes:
    """Return the output of a process until it closes its stdout, at most `max_bytes` bytes."""
    stream = process.stdout
    output: list[bytes] = []
    # Not every system can wait for a pipe with a time limit; for a thread every one can.
    reader = threading.Thread(target=lambda: output.append(stream.read(max_bytes) if stream else b""), daemon=True)
    reader.start()
    reader.join(seconds)
    is_late = reader.is_alive()
    if is_late:
        _terminate(process)
        reader.join(_GRACE_SECONDS)
    if stream and not reader.is_alive():
        stream.close()
    if is_late:
        raise ModelError(TIMED_OUT)
    return output[0]


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children. Does nothing if all have ended."""
    if os.name == "nt":
        if process.poll() is None:
            taskkill = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(taskkill, capture_output=True, check=False)
    else:
        # The group outlives its leader: children that still run are reached after the program's end, too.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


@contextmanager
def _without_memory_limit() -> Iterator[None]:
    """Lift this process's memory limit while a child starts.

    A worker bounds its own memory. Programs that reserve much address space would not start within that bound.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS) if resource else (0, 0)
    if resource is None or soft == hard:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
