"""Wait for the end of a transcript: harnesses go on writing after their hook (harnesses.md 1.6)."""

import time
from datetime import datetime
from pathlib import Path

_STEP_SECONDS = 0.25
_QUIET_SECONDS = 0.5
_MAX_STEPS = 8


def wait_until_stable(path: Path, signaled_at: str) -> int | None:
    """Return a file's size after half a second without a write since the signal, at most 2 s; None without a file."""
    size, signaled = read_file_size(path), datetime.fromisoformat(signaled_at).timestamp()
    changed = max(signaled, _read_mtime(path))
    for _ in range(_MAX_STEPS):
        if size is None or time.time() - changed >= _QUIET_SECONDS:
            break
        time.sleep(_STEP_SECONDS)
        now = read_file_size(path)
        if now != size:
            size, changed = now, time.time()
    return size


def read_file_size(path: Path) -> int | None:
    """Return the size of a regular file in bytes, None without one."""
    try:
        return path.stat().st_size if path.is_file() else None
    except (OSError, ValueError):
        return None


def _read_mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except (OSError, ValueError):
        return 0
