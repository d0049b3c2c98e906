"""Waiting for a transcript to be written to its end: harnesses go on writing after their hook. (harnesses.md 1.6)"""

import time
from pathlib import Path

_STEP_SECONDS = 0.25
_QUIET_STEPS = 2
_MOST_STEPS = 8


def settled(path: Path) -> int | None:
    """The size of a file once it has stopped growing, or after two seconds; None where there is no such file."""
    size, quiet = size_of(path), 0
    for _ in range(_MOST_STEPS):
        if size is None or quiet == _QUIET_STEPS:
            break
        time.sleep(_STEP_SECONDS)
        now = size_of(path)
        quiet = quiet + 1 if now == size else 0
        size = now
    return size


def size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except (OSError, ValueError):
        return None
