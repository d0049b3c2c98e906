"""What differs between operating systems: flushing to the disk itself, and holding a file while it is written."""

import os

try:
    import fcntl
except ImportError:  # Windows has neither; its own semantics keep an open file from being removed
    fcntl = None  # type: ignore[assignment]


def sync(descriptor: int) -> None:
    """Flushes a file or folder to the medium; on macOS past the drive's cache too."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        fcntl.fcntl(descriptor, full)
    else:
        os.fsync(descriptor)


def hold(descriptor: int) -> None:
    """Locks a file for as long as its descriptor is open: what nobody holds may be collected as left behind."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
