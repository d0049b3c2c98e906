"""What differs between operating systems: flushing to the disk itself, locks, holding a file while it is written, and
giving a finished file a name that must be free."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has neither; its own semantics keep an open file from being removed
    fcntl = None  # type: ignore[assignment]

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
CAN_RENAME_OPEN_FILES = os.name != "nt"
_NO_FLOCK = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1


def fsync(descriptor: int) -> None:
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
    fsync_directory(path.parent)


def fsync_directory(path: Path) -> None:
    """Makes the names in a folder durable; Windows has no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_file(path: Path, *, wait: bool) -> Callable[[], None]:
    """Holds a lock file, made where it is missing, for this process alone until what is returned is called; it is
    released when the process dies, and never deleted. Raises BlockingIOError where somebody holds it and `wait` is
    False.

    The kernel wakes who waits. Where it has no such locks, filelock looks again and again.
    """
    if fcntl is None:
        return _lock_by_polling(path, wait=wait)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.fstat(descriptor).st_nlink:
                return lambda: _unlock(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _NO_FLOCK:
                return _lock_by_polling(path, wait=wait)
            raise
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # somebody deleted the file meanwhile: others hold another one of its name


def _unlock(descriptor: int) -> None:
    """Gives a lock back, in the children too that were forked meanwhile and have the descriptor open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _lock_by_polling(path: Path, *, wait: bool) -> Callable[[], None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415  (as dear as the rest of a start, and needed by few)

    held = FileLock(str(path), mode=0o600, thread_local=False)
    try:
        held.acquire(blocking=wait)
    except Timeout as error:
        raise BlockingIOError(errno.EWOULDBLOCK, "held by somebody else") from error
    return held.release


def lock_descriptor(descriptor: int) -> None:
    """Locks a file for as long as its descriptor is open: what nobody holds may be collected as left behind."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def try_lock_descriptor(descriptor: int) -> bool:
    """Whether nobody holds an open file; it is held afterwards. False where that cannot be told."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def rename_exclusive(temporary: Path, path: Path) -> None:
    """Makes a finished file appear under a free name, whole and at once; FileExistsError where the name is taken.

    By a hard link or, on file systems without any (exFAT, some network shares), by a rename that replaces nothing.
    """
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS or not _rename_noreplace(temporary, path):
            raise


def _rename_noreplace(temporary: Path, path: Path) -> bool:
    """Whether a rename that replaces nothing succeeded; False where the system has no such call."""
    import ctypes  # noqa: PLC0415  (few file systems need it)

    rename = None if os.name == "nt" else getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(temporary), _AT_FDCWD, os.fsencode(path), _RENAME_NOREPLACE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(path))
    return True


def expand_home(path: str | Path) -> Path:
    """A path with `~` resolved; as it is where that is the home of somebody who isn't there: whoever reads it says that
    there is nothing."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
