"""The provider `command`: any program that reads a prompt on stdin and prints an answer. (lessons: 14, 39)

It runs in an empty folder of its own, without a terminal and without a shell, in a process group that is gone when this
returns. Its environment is the caller's to choose.
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

from lineage.core.base.identity import MODEL_FOLDER
from lineage.extraction.model.port import ModelAnswer, ModelError

NOT_FOUND = "not found"
CANNOT_RUN = "cannot be run"
TIMED_OUT = "timed out"
TOO_LONG = "too long"
EMPTY = "empty"

_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CommandProvider:
    """A program and its arguments. It has `seconds` to answer and may print `max_bytes`; both end it."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    seconds: float
    max_bytes: int
    kind: ClassVar[str] = "command"

    @property
    def name(self) -> str:
        return Path(self.arguments[0]).name

    def answer(self, prompt: str) -> ModelAnswer:
        return ModelAnswer(self.run(prompt))

    def run(self, prompt: str) -> str:
        """What the program prints. Raises NoAnswer where it prints nothing or too much, fails, or does not end."""
        with (
            TemporaryFile() as given,
            TemporaryDirectory(prefix=MODEL_FOLDER, ignore_cleanup_errors=True) as folder,
        ):
            given.write(prompt.encode("utf-8", "replace"))
            given.seek(0)
            process = self._start(given, folder)
            try:
                data = self._read(process)
            finally:
                _terminate(process)
        text = data.decode("utf-8", "replace").strip()
        if not text:
            raise ModelError(EMPTY)
        return text

    def _start(self, stdin: IO[bytes], folder: str) -> subprocess.Popen[bytes]:
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
                    start_new_session=True,
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
    """What a process prints until it closes its stdout, at most `most` bytes. A pipe cannot be waited for with a time
    limit on every system, a thread can."""
    stream = process.stdout
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(stream.read(max_bytes) if stream else b""), daemon=True)
    reader.start()
    reader.join(seconds)
    in_time = not reader.is_alive()
    if not in_time:
        _terminate(process)
        reader.join(_GRACE_SECONDS)
    if stream and not reader.is_alive():
        stream.close()
    if not in_time:
        raise ModelError(TIMED_OUT)
    return found[0]


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and whatever it started; nothing happens where all of it has ended."""
    if os.name == "nt":
        if process.poll() is None:
            ending = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(ending, capture_output=True, check=False)
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


@contextmanager
def _without_memory_limit() -> Iterator[None]:
    """What is started here is not held to this process's limit: a worker bounds its own memory, and programs that
    reserve much address space would not even begin within it."""
    try:
        import resource  # noqa: PLC0415  (not on every system)
    except ImportError:
        yield
        return
    own, most = resource.getrlimit(resource.RLIMIT_AS)
    if own == most:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (own, most))
