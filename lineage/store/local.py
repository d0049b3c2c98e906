"""A store in a folder: fsync'd create-once, compare-and-swap under flock. (reliability.md: durable writes)"""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from lineage.errors import WorkspaceError
from lineage.store.base import (
    Blob,
    BusyError,
    ConflictError,
    Data,
    Entry,
    ExistsError,
    MissingError,
    Opened,
    checked_key,
    checked_prefix,
    pieces_of,
)
from lineage.store.platform import (
    can_rename_open_files,
    hold,
    is_free,
    lock,
    make_directories,
    publish_new,
    sync,
    sync_directory,
)

TEMP_PREFIX = ".lineage-tmp-"
_LOCK_SHARDS = 64
_PIECE = 1 << 20
MOST_HELD = 1 << 23
"""Bytes. What is longer is told in pieces to who can take it so."""
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINKS = "no link is followed out of a workspace: put in its place what it leads to"


class LocalStore:
    """The folder `root`. Lock files lie in `locks`, outside of what is synced.

    `private` makes every file 0600 and every folder 0700. Otherwise the process's umask holds, frozen files are 0444.
    """

    is_remote = False

    def __init__(self, root: Path, *, locks: Path | None = None, private: bool = False) -> None:
        self.root = root
        self._locks = locks or root / ".lineage" / "locks"
        self._private = private

    def is_there(self) -> bool:
        """Whether the folder exists. Raises WorkspaceError where that cannot be told."""
        with _world(str(self.root)):
            return self.root.is_dir()

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        path = self._path(key)
        with _world(key), self._temporary(path, data, frozen=frozen) as (temporary, version):
            try:
                publish_new(temporary, path)
            except FileExistsError as error:
                raise ExistsError(f"{key} exists already") from error
            finally:
                sync_directory(path.parent)
        return version

    def read(self, key: str) -> Blob:
        with _world(key):
            data, status = _read(self._path(key), key)
        return Blob(data, _version(data), _stamp(status))

    @contextmanager
    def opened(self, key: str) -> Iterator[Opened]:
        with _world(key), _descriptor(self._path(key), key) as (descriptor, status):
            data = _whole(descriptor, status) if status.st_size <= MOST_HELD else None
            pieces = iter(lambda: os.read(descriptor, _PIECE), b"") if data is None else iter([data])
            yield Opened(data, _stamp(status), pieces)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        path = self._path(key)
        with self.mutex(f"swap-{_shard(key)}"), _world(key):
            try:
                if _version(_read(path, key)[0]) != version:
                    raise ConflictError(f"{key} was changed by somebody else")
            except MissingError as error:
                raise ConflictError(f"{key} was removed by somebody else") from error
            with self._temporary(path, data, frozen=frozen) as (temporary, written):
                temporary.replace(path)
                sync_directory(path.parent)
        return written

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        found = self.stamps(prefix)
        return (Entry(key, found[key]) for key in sorted(found) if key > after)

    def stamps(self, prefix: str) -> dict[str, str]:
        checked_prefix(prefix)
        with _world(prefix):
            self._folder(prefix.split("/")[:-1])
            return _scan(self.root, prefix)

    def delete(self, key: str) -> None:
        path = self._path(key)
        # under the swap's lock: a swap that has just compared would bring the key back
        with self.mutex(f"swap-{_shard(key)}"), _world(key), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
            sync_directory(path.parent)

    def mutex(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return self._mutex(name, wait)

    def exposed(self) -> tuple[str, ...]:
        with _world(str(self.root)):
            self._folder(["spool"])
            return tuple(key for key in sorted(_scan(self.root, "spool/")) if _is_open(self._path(key)))

    def out_of_reach(self) -> tuple[str, ...]:
        return (
            "the workspace's git history",
            "copies that a sync client or a backup made",
            "Obsidian's trash (.trash/)",
        )

    def tidy(self) -> int:
        with _world(str(self.root)):
            return sum(map(_collected, _temporaries(self.root)))

    @contextmanager
    def _mutex(self, name: str, wait: bool) -> Iterator[None]:
        with _world(name):
            _refuse_link(self._locks)
            make_directories(self._locks, 0o700)
            try:
                release = lock(self._locks / f"{name}.lock", wait=wait)
            except BlockingIOError as error:
                raise BusyError(f"{name} is held by somebody else") from error
        try:
            yield
        finally:
            release()

    def _path(self, key: str) -> Path:
        *folders, name = checked_key(key).split("/")
        return self._folder(folders) / name

    def _folder(self, names: Sequence[str]) -> Path:
        """A folder below the root. Raises WorkspaceError for one that is a link: what it leads to is not ours."""
        folder = self.root
        for name in names:
            folder /= name
            _refuse_link(folder)
        return folder

    @contextmanager
    def _temporary(self, path: Path, data: Data, *, frozen: bool) -> Iterator[tuple[Path, str]]:
        """A durable temporary file beside `path` and its version; gone afterwards. Its writer holds a lock on it until
        then."""
        make_directories(path.parent, 0o700 if self._private else 0o777)
        descriptor, temporary = self._opened_temporary(path.parent)
        try:
            with _kept_held(descriptor):
                try:
                    version = _write_all(descriptor, data)
                    if frozen:
                        os.chmod(temporary, 0o400 if self._private else 0o444)
                    sync(descriptor)
                finally:
                    os.close(descriptor)
                yield temporary, version
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()

    def _opened_temporary(self, folder: Path) -> tuple[int, Path]:
        """A new file that this process holds. One that a collector took before it was held is given up."""
        mode = 0o600 if self._private else 0o666
        while True:
            temporary = folder / f"{TEMP_PREFIX}{os.urandom(8).hex()}"
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, mode)
            hold(descriptor)
            if os.fstat(descriptor).st_nlink:
                return descriptor, temporary
            os.close(descriptor)


@contextmanager
def _kept_held(descriptor: int) -> Iterator[None]:
    """Keeps a held file held after its descriptor was closed, and its errors seen; Windows renames no open file."""
    if not can_rename_open_files:
        yield
        return
    twin = os.dup(descriptor)
    try:
        yield
    finally:
        os.close(twin)


@contextmanager
def _world(what: str) -> Iterator[None]:
    """Turns failures of the operating system into errors with a hint."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"{what}: {error.strerror or error}", hint=_hint(error)) from error


def _hint(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full: free some space and run the command again; nothing was half-written"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "the workspace is not writable: check its owner and mode, or name another with `--workspace`"
    if error.errno == errno.ELOOP:
        return _NO_LINKS
    return "run `lineage status`, then the command again"


def _refuse_link(folder: Path) -> None:
    if os.path.islink(folder):
        raise WorkspaceError(f"{folder} is a symbolic link, not a folder", hint=_NO_LINKS)


def _read(path: Path, key: str) -> tuple[bytes, os.stat_result]:
    with _descriptor(path, key) as (descriptor, status):
        return _whole(descriptor, status), status


def _whole(descriptor: int, status: os.stat_result) -> bytes:
    parts = []
    while part := os.read(descriptor, max(status.st_size, 1) + 1):
        parts.append(part)
    return b"".join(parts)


@contextmanager
def _descriptor(path: Path, key: str) -> Iterator[tuple[int, os.stat_result]]:
    """A regular file, open for reading. Raises MissingError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingError(f"{key} does not exist") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield descriptor, status
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: Data) -> str:
    """Writes all of it; the version of what was written."""
    digest = hashlib.sha256()
    for piece in pieces_of(data):
        digest.update(piece)
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
    return digest.hexdigest()


def _scan(root: Path, prefix: str) -> dict[str, str]:
    """Regular files below `prefix` and their stamps; temporary files, links and names that are no keys are left out."""
    found: dict[str, str] = {}
    left_out = TEMP_PREFIX if prefix else (TEMP_PREFIX, ".")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), _opened(root / prefix) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(left_out):
                continue
            if entry.is_file(follow_symlinks=False):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                found[prefix + name] = _stamp(status)
            elif entry.is_dir(follow_symlinks=False):
                found |= _scan(root, f"{prefix}{name}/")
    return found


@contextmanager
def _opened(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    """What lies in a folder. Where the system can, each is looked at from the folder: its path isn't walked again."""
    if os.scandir not in os.supports_fd:
        with os.scandir(folder) as entries:
            yield entries
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(descriptor) as entries:
            yield entries
    finally:
        os.close(descriptor)


def _is_open(path: Path) -> bool:
    """Whether others may read a file: its own mode, or that of its folder, lets them. Windows has no such modes."""
    return can_rename_open_files and bool(path.stat().st_mode & 0o077 and path.parent.stat().st_mode & 0o077)


def _temporaries(root: Path) -> Iterator[Path]:
    """Temporary files anywhere below the root; links and pipes of such a name are nobody's."""
    for folder, _, names in os.walk(root):
        paths = (Path(folder, name) for name in names if name.startswith(TEMP_PREFIX))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _collected(temporary: Path) -> bool:
    """Removes a temporary file whose writer died: nobody holds it. False where somebody does, or it is gone."""
    try:
        descriptor = os.open(temporary, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY)
    except (FileNotFoundError, PermissionError):
        return False
    try:
        free = is_free(descriptor)
        if free:
            temporary.unlink(missing_ok=True)
            sync_directory(temporary.parent)  # it may hold text of a removed session
    finally:
        os.close(descriptor)
    return free


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _shard(key: str) -> int:
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % _LOCK_SHARDS


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
