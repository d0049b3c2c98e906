"""Differences between operating systems: flushes, locks, exclusive renames, and the identity of this machine."""

import contextlib
import errno
import os
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path

from lineage.file_swap import find_renameat2

try:
    import fcntl
except ImportError:  # Windows; there an open file cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
CAN_RENAME_OPEN_FILES = os.name != "nt"
_NO_FLOCK = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_RENAME_NOREPLACE = 1


def fsync(descriptor: int) -> None:
    """Flush a file or folder to the medium."""
    # On macOS fsync stops at the drive's cache; this call does not.
    full_fsync = getattr(fcntl, "F_FULLFSYNC", None)
    if full_fsync is not None:
        fcntl.fcntl(descriptor, full_fsync)
    else:
        os.fsync(descriptor)


def make_directories(path: Path, mode: int) -> None:
    """Make the folder and its missing parents, each durable in its parent. A group's bits withstand the umask."""
    if path.is_dir():
        return
    make_directories(path.parent, mode)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode)
        if mode & 0o070:
            path.chmod(mode)
    fsync_directory(path.parent)


def make_private_file(path: Path) -> None:
    """Make an empty file that its owner alone may read, unless there is one: for libraries that know no modes.

    It is never open under its name: closing it would drop the locks of a database that another thread opened.
    """
    if os.path.lexists(path):
        return
    temporary = path.with_name(f".lineage-tmp-{os.urandom(8).hex()}")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600))
    try:
        with contextlib.suppress(FileExistsError):
            rename_exclusive(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def fsync_directory(path: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "nt":  # no such call
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_file(path: Path, *, wait: bool) -> Callable[[], None]:
    """Lock a file for this process alone, and return the function that unlocks it.

    The file is made if it is missing, and never deleted. The lock ends with the process. Raises BlockingIOError if
    another process holds it and `wait` is False. The kernel wakes waiters; without such locks filelock polls.
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
        os.close(descriptor)  # the file was deleted meanwhile: others lock a new one of its name


def _unlock(descriptor: int) -> None:
    # Closing would not do: a child that was forked meanwhile has the descriptor open too.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _lock_by_polling(path: Path, *, wait: bool) -> Callable[[], None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415  (slow to import, and few systems need it)

    lock = FileLock(str(path), mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=wait)
    except Timeout as error:
        raise BlockingIOError(errno.EWOULDBLOCK, "held by somebody else") from error
    return lock.release


def lock_descriptor(descriptor: int) -> None:
    """Lock a file as long as its descriptor is open: an unlocked temporary file counts as abandoned."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def try_lock_descriptor(descriptor: int) -> bool:
    """Lock an open file if it is free; return False if it is not, or if the system cannot tell."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def rename_exclusive(temporary: Path, path: Path) -> None:
    """Make a finished file appear whole under a free name. Raises FileExistsError if the name is taken.

    Uses a hard link, or renameat2 on file systems without hard links (exFAT, some network shares).
    """
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS or not _rename_noreplace(temporary, path):
            raise


def _rename_noreplace(temporary: Path, path: Path) -> bool:
    """Rename a file unless the name is taken; return False if the system has no such call."""
    if (rename := find_renameat2(_RENAME_NOREPLACE)) is None:
        return False
    if code := rename(os.fsencode(temporary), os.fsencode(path)):
        raise OSError(code, os.strerror(code), str(path))
    return True


@cache
def get_machine_id() -> str:
    """Return the id of this boot and process namespace: within one, process ids are comparable."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()}-{os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()
