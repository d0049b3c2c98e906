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
    BlobStream,
    BusyError,
    ConflictError,
    Data,
    ExistsError,
    MissingError,
    StoredKey,
    iter_chunks,
    validate_key,
    validate_prefix,
)
from lineage.store.platform import (
    CAN_RENAME_OPEN_FILES,
    fsync,
    fsync_directory,
    lock_descriptor,
    lock_file,
    make_directories,
    rename_exclusive,
    try_lock_descriptor,
)

TEMP_PREFIX = ".lineage-tmp-"
_LOCK_SHARDS = 64
_CHUNK_BYTES = 1 << 20
MAX_BYTES_IN_MEMORY = 1 << 23
"""Bytes. What is longer is told in pieces to who can take it so."""
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINKS_HINT = "no link is followed out of a workspace: put in its place what it leads to"


class LocalStore:
    """The folder `root`. Lock files lie in `locks`, outside of what is synced.

    `private` makes every file 0600 and every folder 0700. Otherwise the process's umask holds, frozen files are 0444.
    """

    is_remote = False

    def __init__(self, root: Path, *, locks: Path | None = None, private: bool = False) -> None:
        self.root = root
        self._locks = locks or root / ".lineage" / "locks"
        self._private = private

    def exists(self) -> bool:
        """Whether the folder exists. Raises WorkspaceError where that cannot be told."""
        with _translate_os_errors(str(self.root)):
            return self.root.is_dir()

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        path = self._path(key)
        with _translate_os_errors(key), self._temporary(path, data, frozen=frozen) as (temporary, version):
            try:
                rename_exclusive(temporary, path)
            except FileExistsError as error:
                raise ExistsError(f"{key} exists already") from error
            finally:
                fsync_directory(path.parent)
        return version

    def read(self, key: str) -> Blob:
        with _translate_os_errors(key):
            data, status = _read(self._path(key), key)
        return Blob(data, _version_of(data), _stamp_of(status))

    @contextmanager
    def open(self, key: str) -> Iterator[BlobStream]:
        with _translate_os_errors(key), _open_regular_file(self._path(key), key) as (descriptor, status):
            data = _read_all(descriptor, status) if status.st_size <= MAX_BYTES_IN_MEMORY else None
            pieces = iter(lambda: os.read(descriptor, _CHUNK_BYTES), b"") if data is None else iter([data])
            yield BlobStream(data, _stamp_of(status), pieces)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        path = self._path(key)
        with self.lock(f"swap-{_lock_shard(key)}"), _translate_os_errors(key):
            try:
                if _version_of(_read(path, key)[0]) != version:
                    raise ConflictError(f"{key} was changed by somebody else")
            except MissingError as error:
                raise ConflictError(f"{key} was removed by somebody else") from error
            with self._temporary(path, data, frozen=frozen) as (temporary, written):
                temporary.replace(path)
                fsync_directory(path.parent)
        return written

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        found = self.stat_all(prefix)
        return (StoredKey(key, found[key]) for key in sorted(found) if key > after)

    def stat_all(self, prefix: str) -> dict[str, str]:
        validate_prefix(prefix)
        with _translate_os_errors(prefix):
            self._folder(prefix.split("/")[:-1])
            return _scan(self.root, prefix)

    def is_empty(self, prefix: str) -> bool:
        validate_prefix(prefix)
        with _translate_os_errors(prefix):
            self._folder(prefix.split("/")[:-1])
            return not _has_files(self.root, prefix)

    def delete(self, key: str) -> None:
        path = self._path(key)
        # under the swap's lock: a swap that has just compared would bring the key back
        with (
            self.lock(f"swap-{_lock_shard(key)}"),
            _translate_os_errors(key),
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
        ):
            path.unlink()
            fsync_directory(path.parent)

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return self._hold_lock(name, wait)

    def world_readable(self) -> tuple[str, ...]:
        with _translate_os_errors(str(self.root)):
            self._folder(["spool"])
            return tuple(key for key in sorted(_scan(self.root, "spool/")) if _is_world_readable(self._path(key)))

    def residual_copies(self) -> tuple[str, ...]:
        return (
            "the workspace's git history",
            "copies that a sync client or a backup made",
            "Obsidian's trash (.trash/)",
        )

    def collect_garbage(self) -> int:
        with _translate_os_errors(str(self.root)):
            return sum(map(_delete_if_abandoned, _find_temporaries(self.root)))

    @contextmanager
    def _hold_lock(self, name: str, wait: bool) -> Iterator[None]:
        with _translate_os_errors(name):
            _refuse_link(self._locks)
            make_directories(self._locks, 0o700)
            try:
                release = lock_file(self._locks / f"{name}.lock", wait=wait)
            except BlockingIOError as error:
                raise BusyError(f"{name} is held by somebody else") from error
        try:
            yield
        finally:
            release()

    def _path(self, key: str) -> Path:
        *folders, name = validate_key(key).split("/")
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
        descriptor, temporary = self._open_temporary(path.parent)
        try:
            with _keep_locked(descriptor):
                try:
                    version = _write_all(descriptor, data)
                    if frozen:
                        os.chmod(temporary, 0o400 if self._private else 0o444)
                    fsync(descriptor)
                finally:
                    os.close(descriptor)
                yield temporary, version
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()

    def _open_temporary(self, folder: Path) -> tuple[int, Path]:
        """A new file that this process holds. One that a collector took before it was held is given up."""
        mode = 0o600 if self._private else 0o666
        while True:
            temporary = folder / f"{TEMP_PREFIX}{os.urandom(8).hex()}"
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, mode)
            lock_descriptor(descriptor)
            if os.fstat(descriptor).st_nlink:
                return descriptor, temporary
            os.close(descriptor)


@contextmanager
def _keep_locked(descriptor: int) -> Iterator[None]:
    """Keeps a held file held after its descriptor was closed, and its errors seen; Windows renames no open file."""
    if not CAN_RENAME_OPEN_FILES:
        yield
        return
    twin = os.dup(descriptor)
    try:
        yield
    finally:
        os.close(twin)


@contextmanager
def _translate_os_errors(what: str) -> Iterator[None]:
    """Turns failures of the operating system into errors with a hint."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"{what}: {error.strerror or error}", hint=_hint_for(error)) from error


def _hint_for(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full: free some space and run the command again; nothing was half-written"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "the workspace is not writable: check its owner and mode, or name another with `--workspace`"
    if error.errno == errno.ELOOP:
        return _NO_LINKS_HINT
    return "run `lineage status`, then the command again"


def _refuse_link(folder: Path) -> None:
    if os.path.islink(folder):
        raise WorkspaceError(f"{folder} is a symbolic link, not a folder", hint=_NO_LINKS_HINT)


def _read(path: Path, key: str) -> tuple[bytes, os.stat_result]:
    with _open_regular_file(path, key) as (descriptor, status):
        return _read_all(descriptor, status), status


def _read_all(descriptor: int, status: os.stat_result) -> bytes:
    parts = []
    while part := os.read(descriptor, max(status.st_size, 1) + 1):
        parts.append(part)
    return b"".join(parts)


@contextmanager
def _open_regular_file(path: Path, key: str) -> Iterator[tuple[int, os.stat_result]]:
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
    for piece in iter_chunks(data):
        digest.update(piece)
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
    return digest.hexdigest()


def _scan(root: Path, prefix: str) -> dict[str, str]:
    """Regular files below `prefix` and their stamps; temporary files, links and names that are no keys are left out."""
    found: dict[str, str] = {}
    left_out = TEMP_PREFIX if prefix else (TEMP_PREFIX, ".")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), _scan_folder(root / prefix) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(left_out):
                continue
            if entry.is_file(follow_symlinks=False):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                found[prefix + name] = _stamp_of(status)
            elif entry.is_dir(follow_symlinks=False):
                found |= _scan(root, f"{prefix}{name}/")
    return found


def _has_files(root: Path, prefix: str) -> bool:
    """Whether `_scan` would find a file; ends at the first."""
    left_out = TEMP_PREFIX if prefix else (TEMP_PREFIX, ".")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), _scan_folder(root / prefix) as entries:
        for entry in entries:
            if entry.name.startswith(left_out):
                continue
            if entry.is_file(follow_symlinks=False):
                return True
            if entry.is_dir(follow_symlinks=False) and _has_files(root, f"{prefix}{entry.name}/"):
                return True
    return False


@contextmanager
def _scan_folder(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
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


def _is_world_readable(path: Path) -> bool:
    """Whether others may read a file: its own mode, or that of its folder, lets them. Windows has no such modes."""
    return CAN_RENAME_OPEN_FILES and bool(path.stat().st_mode & 0o077 and path.parent.stat().st_mode & 0o077)


def _find_temporaries(root: Path) -> Iterator[Path]:
    """Temporary files anywhere below the root; links and pipes of such a name are nobody's."""
    for folder, _, names in os.walk(root):
        paths = (Path(folder, name) for name in names if name.startswith(TEMP_PREFIX))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _delete_if_abandoned(temporary: Path) -> bool:
    """Removes a temporary file whose writer died: nobody holds it. False where somebody does, or it is gone."""
    try:
        descriptor = os.open(temporary, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY)
    except (FileNotFoundError, PermissionError):
        return False
    try:
        free = try_lock_descriptor(descriptor)
        if free:
            temporary.unlink(missing_ok=True)
            fsync_directory(temporary.parent)  # it may hold text of a removed session
    finally:
        os.close(descriptor)
    return free


def _stamp_of(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _lock_shard(key: str) -> int:
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % _LOCK_SHARDS


def _version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
