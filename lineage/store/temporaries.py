"""Temporary files of a folder: their names, the locks of their writers, and the files of dead writers."""

import hashlib
import os
import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lineage import file_swap
from lineage.store import platform

TEMP_PREFIX = ".lineage-tmp-"
MAX_NAME_BYTES = 255
_DISPLACED = re.compile(TEMP_PREFIX + r"[0-9a-f]{16}-(\d+)-([0-9a-f]{16})-(\d+)-([0-9a-f]{16}):(.+)", re.DOTALL)
_DIGEST_LETTERS = 16
_KEEP_SECONDS = 86_400  # for so long a program may go on writing into a file that was replaced
_OVERWRITE_SECONDS = 10  # for so long an editor may save what it read while two files traded places
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class _Content(NamedTuple):
    size: int
    digest: str

    @classmethod
    def of(cls, data: bytes) -> "_Content":
        return cls(len(data), hashlib.sha256(data).hexdigest()[:_DIGEST_LETTERS])


class Displaced(NamedTuple):
    """The name of a file that trades places with another: its key, and the contents of both."""

    key: str
    old: _Content
    new: _Content

    @property
    def is_finished(self) -> bool:
        """Whether the swap is over: its writer left the file for others to look at."""
        return self.old == self.new

    def is_new(self, data: bytes) -> bool:
        """Return whether this is the content that the key was to have."""
        return not self.is_finished and _Content.of(data) == self.new

    def find_known(self, data: bytes) -> bytes | None:
        """Return the longer one of the two contents that `data` begins with, None if it begins with neither."""
        contents = sorted((self.old, self.new), reverse=True)
        return next((data[: one.size] for one in contents if _Content.of(data[: one.size]) == one), None)


def name_displaced(key: str, old: bytes, new: bytes) -> str:
    """Return a name for a file that trades places with a key."""
    contents = "-".join(f"{size}-{digest}" for size, digest in map(_Content.of, (old, new)))
    return f"{TEMP_PREFIX}{os.urandom(8).hex()}-{contents}:{key.replace('/', ':')}"  # keys have no colon


def parse_displaced(name: str) -> Displaced | None:
    """Return the parts of such a name, None for any other."""
    match = _DISPLACED.fullmatch(name)
    if match is None:
        return None
    size, digest, new_size, new_digest, key = match.groups()
    return Displaced(key.replace(":", "/"), _Content(int(size), digest), _Content(int(new_size), new_digest))


def open_temporary(folder: Path, mode: int, group: int) -> tuple[int, Path]:
    """Make a new file and lock it."""
    while True:
        temporary = folder / f"{TEMP_PREFIX}{os.urandom(8).hex()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, mode)
        if group:  # the umask might take it
            temporary.chmod(mode | group)
        platform.lock_descriptor(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)  # a collector deleted the file before it was locked


@contextmanager
def keep_locked(descriptor: int) -> Iterator[None]:
    """Keep a file locked after its descriptor is closed."""
    if not platform.CAN_RENAME_OPEN_FILES:
        yield
        return
    # The descriptor has to be closed before the rename, since close reports write errors; a copy keeps the lock.
    duplicate = os.dup(descriptor)
    try:
        yield
    finally:
        os.close(duplicate)


def find_temporaries(root: Path) -> Iterator[Path]:
    """Yield the temporary files below the root; links and pipes of such a name are not the store's."""
    for folder, _, names in os.walk(root):
        paths = (Path(folder, name) for name in names if name.startswith(TEMP_PREFIX))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def collect_abandoned(folder: Path) -> None:
    """Delete the files of dead writers in one folder."""
    for file in folder.iterdir():
        if file.name.startswith(TEMP_PREFIX):
            delete_if_abandoned(file)


def is_recent(file: Path) -> bool:
    """Return whether a file was changed or lost a name in the last seconds."""
    try:
        return time.time() - file.stat().st_ctime < _OVERWRITE_SECONDS
    except FileNotFoundError:
        return False


def delete_if_done(file: Path, known: Collection[bytes]) -> bool:
    """Delete a file out of place that no program has open, and that holds nothing new; tell whether it is gone."""
    try:
        descriptor = os.open(file, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY)
    except FileNotFoundError:
        return True
    try:
        status = os.fstat(descriptor)
        is_kept = time.time() - status.st_ctime < _KEEP_SECONDS and file_swap.is_open_elsewhere(descriptor)
        # Read after the look at who has it open: who closed it before that has written everything.
        if is_kept or read_all(descriptor, status) not in known:
            return False
        file.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    return True


def is_abandoned(temporary: Path) -> bool:
    """Return whether the writer of a temporary file died: it holds no lock on it. One out of place is kept a while."""
    if parse_displaced(temporary.name) and is_recent(temporary):
        return False
    try:
        descriptor = os.open(temporary, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY)
    except (FileNotFoundError, PermissionError):
        return False
    try:
        return platform.try_lock_descriptor(descriptor) and not file_swap.is_open_elsewhere(descriptor)
    finally:
        os.close(descriptor)


def delete_if_abandoned(temporary: Path) -> bool:
    """Delete a temporary file of a dead writer without a lock on it; tell whether it was deleted."""
    if parse_displaced(temporary.name):
        return False  # it may hold somebody's words: see `merge_displaced`
    try:
        descriptor = os.open(temporary, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY)
    except (FileNotFoundError, PermissionError):
        return False
    try:
        is_free = platform.try_lock_descriptor(descriptor)
        if is_free:
            temporary.unlink(missing_ok=True)
            platform.fsync_directory(temporary.parent)  # it may hold text of a removed session
    finally:
        os.close(descriptor)
    return is_free


def read_all(descriptor: int, status: os.stat_result) -> bytes:
    """Return the rest of an open file from here on."""
    parts = []
    while part := os.read(descriptor, max(status.st_size, 1) + 1):
        parts.append(part)
    return b"".join(parts)
