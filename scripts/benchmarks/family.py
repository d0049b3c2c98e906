"""The memory of processes together: of a command, or of this one, and all that they start."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

_EVERY_SECONDS = 0.02


def peak_of(command: Sequence[str]) -> int:
    """Runs a command to its end: the most that it and its descendants held at once, in bytes, a page that several share
    counted once. Looked at every 20 ms; Linux only. Raises CalledProcessError where the command fails."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        peak = _watched(process.pid, process.wait)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command))
    return peak


class Ended(NamedTuple):
    """What a command printed, the seconds that it took and the bytes that it and its descendants held at most."""

    output: str
    seconds: float
    peak: int


def ended(command: Sequence[str], environment: Mapping[str, str], patience: float) -> Ended:
    """Runs a command to its end, with nothing to read. Raises TimeoutExpired after `patience` seconds, when it and all
    that it started are killed, and CalledProcessError where it fails, with what it printed."""
    started = partial(subprocess.Popen, command, env=environment, process_group=0, encoding="utf-8", errors="replace")
    began = perf_counter()
    with started(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        printed: list[str] = []
        try:
            peak = _watched(process.pid, lambda: printed.extend(process.communicate(timeout=patience)))
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command), *printed)
    return Ended(printed[0], perf_counter() - began, peak)


def peak_here(action: Callable[[], object]) -> int:
    """The same of this process and its descendants while it does something."""
    return _watched(os.getpid(), action)


def family(process: int) -> Iterator[int]:
    """A process and its descendants. One that ends meanwhile is left out."""
    yield process
    try:
        children = [(thread / "children").read_text("ascii") for thread in Path(f"/proc/{process}/task").iterdir()]
    except OSError:
        return
    for child in " ".join(children).split():
        yield from family(int(child))


def _watched(process: int, action: Callable[[], object]) -> int:
    peaks, ended = [0], threading.Event()

    def look() -> None:
        while not ended.is_set():
            peaks.append(sum(map(_share, family(process))))
            ended.wait(_EVERY_SECONDS)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        action()
    finally:
        ended.set()
        looking.join()
    return max(peaks)


def _share(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
