"""Put a finished file in place of another, and lose nothing that others write into that one meanwhile.

An editor may save between any two system calls: by a rename, or by opening, appending and closing. So the file that
comes out is compared again after the exchange, and it stays as long as a program has it open.
"""

import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_AT_FDCWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_GRACE_SECONDS = 60  # without leases, a file counts as open for so long after it was replaced


def swap(temporary: Path, path: Path, is_expected: Callable[[Path], bool], keep: Path | None = None) -> bool:
    """Put a durable file in place of another that is still as expected; return whether it was.

    The comparison comes last. Where the system exchanges two names in one step, `temporary` is then the file that came
    out. If that is not as expected, both get their names back, and it gets the name `keep` too: an editor that read the
    file in between may yet save over it what it read.
    """
    if not is_expected(path):
        return False
    if not exchange(temporary, path):
        temporary.replace(path)
        return True
    came_out_as_expected = False
    try:
        came_out_as_expected = is_expected(temporary)
    finally:
        if not came_out_as_expected:
            if keep:
                with contextlib.suppress(OSError):  # no hard links here
                    os.link(temporary, keep)
            exchange(temporary, path)
    return came_out_as_expected


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two files in one step; return False if the system or the file system cannot."""
    if (rename := _find_exchange()) is None or (code := rename(os.fsencode(one), os.fsencode(other))) in _NO_EXCHANGE:
        return False
    if code:
        raise OSError(code, os.strerror(code), str(other))
    return True


def can_exchange() -> bool:
    """Return whether the system exchanges names in one step; a file system may still not."""
    return _find_exchange() is not None


@cache
def _find_exchange() -> Callable[[bytes, bytes], int] | None:
    """Return the system's call: it answers with an error number, 0 for none. None if the system has no such call."""
    if sys.platform != "darwin":
        return find_renameat2(_EXCHANGE)
    import ctypes  # noqa: PLC0415  (3 ms, and a command that only reads does without)

    library: Any = ctypes.CDLL(None, use_errno=True)
    return lambda one, other: ctypes.get_errno() if library.renamex_np(one, other, _EXCHANGE) else 0


@cache
def find_renameat2(flag: int) -> Callable[[bytes, bytes], int] | None:
    """Return Linux's rename with a flag: it answers with an error number, 0 for none. None on other systems."""
    import ctypes  # noqa: PLC0415  (as above)

    library: Any = ctypes.CDLL(None, use_errno=True) if os.name != "nt" else None
    if not hasattr(library, "renameat2"):
        return None
    return lambda one, other: ctypes.get_errno() if library.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, flag) else 0


def is_open_elsewhere(descriptor: int) -> bool:
    """Return whether a program may have this file open besides the caller.

    Linux tells it exactly: it grants a write lease on a file that nobody else has open. Elsewhere, and where the file
    system grants none, a file counts as open for a minute after its last change.
    """
    set_lease = getattr(fcntl, "F_SETLEASE", None)
    if set_lease is not None:
        # Whoever opens the file meanwhile waits until the lease ends; the signal that says so must not kill.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(descriptor, set_lease, fcntl.F_WRLCK)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return True
        else:
            with contextlib.suppress(OSError):
                fcntl.fcntl(descriptor, set_lease, fcntl.F_UNLCK)
            return False
    return time.time() - os.fstat(descriptor).st_ctime < _GRACE_SECONDS
