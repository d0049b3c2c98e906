"""What differs between operating systems: flushing to the disk itself, holding a file while it is written, and giving
a finished file a name that must be free."""

import contextlib
import ctypes
import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has neither; its own semantics keep an open file from being removed
    fcntl = None  # type: ignore[assignment]

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
can_rename_open_files = os.name != "nt"
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1


def sync(descriptor: int) -> None:
    """Flushes a file or folder to the medium; on macOS past the drive's cache too."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        fcntl.fcntl(descriptor, full)
    else:
        os.fsync(descriptor)


def make_directories(path: Path, mode: int) -> None:
    """Makes the folder and its missing parents; each new one is made durable in its parent."""
    if path.is_dir():
        return
    make_directories(path.parent, mode)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes the names in a folder durable; Windows has no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def hold(descriptor: int) -> None:
    """Locks a file for as long as its descriptor is open: what nobody holds may be collected as left behind."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_free(descriptor: int) -> bool:
    """Whether nobody holds an open file; it is held afterwards. False where that cannot be told."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def publish_new(temporary: Path, path: Path) -> None:
    """Makes a finished file appear under a free name, whole and at once; FileExistsError where the name is taken.

    By a hard link or, on file systems without any (exFAT, some network shares), by a rename that replaces nothing.
    """
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS or not _renamed(temporary, path):
            raise


def _renamed(temporary: Path, path: Path) -> bool:
    """Whether a rename that replaces nothing succeeded; False where the system has no such call."""
    rename = None if os.name == "nt" else getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(temporary), _AT_FDCWD, os.fsencode(path), _RENAME_NOREPLACE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(path))
    return True
