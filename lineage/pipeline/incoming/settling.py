"""Waiting for a transcript to be written to its end: harnesses go on writing after their hook. (harnesses.md 1.6)"""

import time
from datetime import datetime
from pathlib import Path

_STEP_SECONDS = 0.25
_QUIET_SECONDS = 0.5
_MOST_STEPS = 8


def settled(path: Path, rang_at: str) -> int | None:
    """The size of a file once it has stopped growing, or after two seconds; None where there is no such file.

    It has where nobody wrote to it for half a second, and the hook, which rang at `rang_at`, is as long ago.
    """
    size, rang = size_of(path), datetime.fromisoformat(rang_at).timestamp()
    changed = max(rang, _written(path))
    for _ in range(_MOST_STEPS):
        if size is None or time.time() - changed >= _QUIET_SECONDS:
            break
        time.sleep(_STEP_SECONDS)
        now = size_of(path)
        if now != size:
            size, changed = now, time.time()
    return size


def size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except (OSError, ValueError):
        return None


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except (OSError, ValueError):
        return 0
