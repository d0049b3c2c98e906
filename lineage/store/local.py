"""A store in a folder: durable create-once, compare-and-swap under flock. (reliability.md: durable writes)."""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lineage import file_swap
from lineage.errors import WorkspaceError, describe_os_error
from lineage.store import base, modes, platform, temporaries

_LOCK_SHARDS = 64
_LOCKS = ".lineage/locks/"
_CHUNK_BYTES = 1 << 20
MAX_BYTES_IN_MEMORY = 1 << 23  # `open` reads a longer file in chunks
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINKS_HINT = "no link is followed out of a workspace: put in its place what it leads to"


class LocalStore(base.Store):
    """The folder `root`. Lock files lie in `locks`, outside of the synced files.

    Whatever the umask, folders are 0700, files 0600 and frozen files 0400, from their first moment. A folder that is
    shared with its group (`modes`) has 0750, 0640 and 0440 for all but `.lineage`; `private` ignores the mark.
    """

    is_remote = False

    def __init__(self, root: Path, *, locks: Path | None = None, private: bool = False) -> None:
        self.root = root
        self._locks = locks or root / ".lineage" / "locks"
        self._private = private
        # Outside of the synced files, and in one folder: the next writer finds what a dead one left.
        has_state = self._locks in (root / ".lineage" / "locks", root / "locks")
        self._temporaries = self._locks.with_name("tmp") if has_state else None
        self._collected: set[Path] = set()

    def exists(self) -> bool:
        """Tell whether the folder exists. Raises WorkspaceError if the system cannot tell."""
        with _translate_os_errors(str(self.root)):
            return self.root.is_dir()

    def create(self, key: str, data: base.Data, *, frozen: bool = False) -> str:
        path = self._path(key)

        def place(temporary: Path) -> None:
            try:
                platform.rename_exclusive(temporary, path)
            except FileExistsError as error:
                raise base.ExistsError(f"{key} exists already") from error
            finally:
                platform.fsync_directory(path.parent)  # also if the key exists: its writer may die before its own flush

        with _translate_os_errors(key):
            return self._write(path, data, place, frozen=frozen)

    def read(self, key: str) -> base.Blob:
        with _translate_os_errors(key):
            data, status = _read(self._path(key), key)
        return base.Blob(data, _version_of(data), _stamp_of(status))

    @contextmanager
    def open(self, key: str) -> Iterator[base.BlobStream]:
        with _translate_os_errors(key), _open_regular_file(self._path(key), key) as (descriptor, status):
            data = temporaries.read_all(descriptor, status) if status.st_size <= MAX_BYTES_IN_MEMORY else None
            chunks = iter(lambda: os.read(descriptor, _CHUNK_BYTES), b"") if data is None else iter([data])
            yield base.BlobStream(data, _stamp_of(status), chunks)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        path = self._path(key)

        def is_expected(file: Path) -> bool:
            return _version_of(_read(file, key)[0]) == version

        def place(temporary: Path) -> None:
            if displaced and self._temporaries:
                temporary = temporary.rename(displaced)
            if not file_swap.swap(temporary, path, is_expected, keep=self._name_displaced(key, before, before)):
                raise base.ConflictError(f"{key} was changed by somebody else")
            platform.fsync_directory(path.parent)

        with self.lock(_swap_lock(key)), _translate_os_errors(key):
            displaced, done = None, False
            try:
                before, _ = _read(path, key)
                if _version_of(before) != version:
                    raise base.ConflictError(f"{key} was changed by somebody else")
                displaced = self._name_displaced(key, before, data)
                new_version = self._write(path, data, place, frozen=frozen)
                done = True
            except (base.MissingError, FileNotFoundError) as error:
                raise base.ConflictError(f"{key} was removed by somebody else") from error
            finally:
                if displaced and not temporaries.delete_if_done(displaced, (before, data)):
                    known = before if done else data
                    displaced.rename(self._name_displaced(key, known, known) or displaced)
        return new_version

    def list(self, prefix: str, after: str = "") -> Iterator[base.StoredKey]:
        stamps = self.stat_all(prefix)
        return (base.StoredKey(key, stamps[key]) for key in sorted(stamps) if key > after)

    def stat_all(self, prefix: str) -> dict[str, str]:
        base.validate_prefix(prefix)
        with _translate_os_errors(prefix):
            self._folder(prefix.split("/")[:-1])
            return _scan(self.root, prefix)

    def is_empty(self, prefix: str) -> bool:
        base.validate_prefix(prefix)
        with _translate_os_errors(prefix):
            self._folder(prefix.split("/")[:-1])
            return not _has_files(self.root, prefix)

    def delete(self, key: str) -> None:
        path = self._path(key)
        # Under the swap's lock: a swap that has just compared would bring the key back.
        with (
            self.lock(_swap_lock(key)),
            _translate_os_errors(key),
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
        ):
            path.unlink()
            platform.fsync_directory(path.parent)

    @contextmanager
    def lock(self, name: str, *, wait: bool = True) -> Iterator[None]:
        """Hold a lock between processes of this machine (see `Store.lock`)."""
        with _translate_os_errors(name):
            _refuse_link(self._locks)
            platform.make_directories(self._locks, 0o700)
            try:
                release = platform.lock_file(self._locks / f"{name}.lock", wait=wait)
            except BlockingIOError as error:
                raise base.BusyError(f"{name} is held by somebody else") from error
        try:
            yield
        finally:
            release()

    def world_readable(self) -> tuple[str, ...]:
        with _translate_os_errors(str(self.root)):
            self._folder(["spool"])
            if not platform.CAN_RENAME_OPEN_FILES:
                return ()  # Windows has no such modes
            paths = {key: self._path(key) for key in sorted(_scan(self.root, "spool/"))}
            # A closed folder protects open files.
            return tuple(key for key, path in paths.items() if _is_open(path) and _is_open(path.parent))

    def residual_copies(self) -> tuple[str, ...]:
        copies = "copies that a sync client or a backup made", "Obsidian's trash (.trash/)"
        return "the workspace's git history, if it has one", *copies

    def collect_garbage(self) -> int:
        with _translate_os_errors(str(self.root)):
            return sum(map(temporaries.delete_if_abandoned, temporaries.find_temporaries(self.root)))

    def find_abandoned(self) -> tuple[str, ...]:
        with _translate_os_errors(str(self.root)):
            found = filter(temporaries.is_abandoned, temporaries.find_temporaries(self.root))
            return tuple(sorted(path.relative_to(self.root).as_posix() for path in found))

    def merge_displaced(self, merge: Callable[[str, bytes, bytes], None]) -> None:
        if self._private or self._temporaries is None:
            return  # nobody edits these
        with _translate_os_errors(str(self._temporaries)), contextlib.suppress(FileNotFoundError):
            for name in sorted(os.listdir(self._temporaries)):
                with contextlib.suppress(base.MissingError):  # another process was faster
                    if displaced := temporaries.parse_displaced(name):
                        self._merge_displaced(self._temporaries / name, displaced, merge)

    def _merge_displaced(
        self, file: Path, displaced: temporaries.Displaced, merge: Callable[[str, bytes, bytes], None]
    ) -> None:
        """Merge one file, then delete it. While a program has it open, or may save over the merge, it is kept."""
        key = displaced.key
        with self.lock(_swap_lock(key)):
            if displaced.find_known(_read(file, key)[0]) is None:
                self._undo_half_swap(file, displaced)
            data, _ = _read(file, key)
        known = displaced.find_known(data)
        if data != known:
            merge(key, known or b"", data)
        with self.lock(_swap_lock(key)):
            is_kept = displaced.is_finished and temporaries.is_recent(file)
            if not is_kept and not temporaries.delete_if_done(file, (data,)) and data != known:
                file.rename(self._name_displaced(key, data, data) or file)

    def _undo_half_swap(self, file: Path, displaced: temporaries.Displaced) -> None:
        """Give a key back the file that came out for a writer that died before it could do so."""
        with contextlib.suppress(base.MissingError, FileNotFoundError):
            path = self._path(displaced.key)
            if displaced.is_new(_read(path, displaced.key)[0]):
                file_swap.exchange(file, path)

    def _name_displaced(self, key: str, old: bytes, new: bytes) -> Path | None:
        """Return the path of a file that trades places with a key, None if it needs none or cannot have one."""
        is_edited = not self._private and not key.startswith(_LOCKS)
        if not is_edited or self._temporaries is None or not file_swap.can_exchange():
            return None
        name = temporaries.name_displaced(key, old, new)
        return self._temporaries / name if len(os.fsencode(name)) <= temporaries.MAX_NAME_BYTES else None

    def _path(self, key: str) -> Path:
        *folders, name = base.validate_key(key).split("/")
        return self._folder(folders) / name

    def _folder(self, names: Sequence[str]) -> Path:
        """Return a folder below the root. Raises WorkspaceError if any part of the path is a link."""
        folder = str(self.root)  # not a Path for each part: this is asked for every file
        for name in names:
            folder = f"{folder}/{name}"
            _refuse_link(folder)
        return Path(folder)

    def _write(self, path: Path, data: base.Data, place: Callable[[Path], None], *, frozen: bool) -> str:
        """Make a durable temporary file, let `place` give it its name, and return its version."""
        try:
            with self._temporary(path, data, frozen=frozen) as (temporary, version):
                place(temporary)
        except OSError as error:
            if error.errno != errno.EXDEV or self._temporaries is None:
                raise
            self._temporaries = None  # `.lineage` is on another file system: write beside the file
            return self._write(path, data, place, frozen=frozen)
        return version

    @contextmanager
    def _temporary(self, path: Path, data: base.Data, *, frozen: bool) -> Iterator[tuple[Path, str]]:
        """Make a durable temporary file for `path` and yield it with its version; delete it afterwards.

        The writer holds a lock on it until then: without a lock it counts as abandoned.
        """
        folder = self._temporaries or path.parent
        is_private = self._private or self.root / ".lineage" in path.parents
        group = 0 if is_private else modes.read_group_bits(self.root)
        platform.make_directories(path.parent, 0o700 | group)
        if self._temporaries:
            _refuse_link(self._temporaries.parent)
            _refuse_link(self._temporaries)
            platform.make_directories(self._temporaries, 0o700)
        if folder not in self._collected:
            self._collected.add(folder)
            temporaries.collect_abandoned(folder)
        descriptor, temporary = temporaries.open_temporary(folder, 0o400 if frozen else 0o600, group & 0o040)
        try:
            with temporaries.keep_locked(descriptor):
                try:
                    version = _write_all(descriptor, data)
                    platform.fsync(descriptor)
                finally:
                    os.close(descriptor)
                yield temporary, version
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()


@contextmanager
def _translate_os_errors(what: str) -> Iterator[None]:
    """Raise failures of the operating system as errors with a hint."""
    try:
        yield
    except OSError as error:
        raise describe_os_error(what, error, _hint_for(error)) from error


def _hint_for(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "the workspace is not writable: check its owner and mode, or name another with `--workspace`"
    if error.errno == errno.ELOOP:
        return _NO_LINKS_HINT
    return "run `lineage status`, then the command again"


def _refuse_link(folder: Path | str) -> None:
    if os.path.islink(folder):
        raise WorkspaceError(f"{folder} is a symbolic link, not a folder", hint=_NO_LINKS_HINT)


def _read(path: Path, key: str) -> tuple[bytes, os.stat_result]:
    with _open_regular_file(path, key) as (descriptor, status):
        return temporaries.read_all(descriptor, status), status


@contextmanager
def _open_regular_file(path: Path, key: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a regular file for reading. Raises MissingError."""
    # No link is followed, and O_NONBLOCK keeps a pipe of that name from blocking the open.
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise base.MissingError(f"{key} does not exist") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield descriptor, status
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: base.Data) -> str:
    digest = hashlib.sha256()
    for chunk in base.iter_chunks(data):
        digest.update(chunk)
        view = memoryview(chunk)
        while view:
            view = view[os.write(descriptor, view) :]  # a write may be short
    return digest.hexdigest()


def _scan(root: Path, prefix: str) -> dict[str, str]:
    """Return the stamps of the regular files below `prefix`; temporary files and links are no keys."""
    stamps: dict[str, str] = {}
    for entry in _iter_entries(root, prefix):
        if entry.is_file(follow_symlinks=False):
            with contextlib.suppress(FileNotFoundError):  # deleted since the folder was read
                stamps[prefix + entry.name] = _stamp_of(entry.stat(follow_symlinks=False))
        elif entry.is_dir(follow_symlinks=False):
            stamps |= _scan(root, f"{prefix}{entry.name}/")
    return stamps


def _has_files(root: Path, prefix: str) -> bool:
    """Tell whether `_scan` would return a file; stop at the first."""
    return any(
        entry.is_file(follow_symlinks=False)
        or (entry.is_dir(follow_symlinks=False) and _has_files(root, f"{prefix}{entry.name}/"))
        for entry in _iter_entries(root, prefix)
    )


def _iter_entries(root: Path, prefix: str) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder that can be keys, or lead to keys; none if the folder is missing."""
    hidden = temporaries.TEMP_PREFIX if prefix else (temporaries.TEMP_PREFIX, ".")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), _scan_folder(root / prefix) as entries:
        yield from (entry for entry in entries if not entry.name.startswith(hidden))


@contextmanager
def _scan_folder(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    # A scan of a descriptor examines each entry from the folder: the kernel doesn't walk the path again.
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
    return bool(path.stat().st_mode & 0o077)


def _stamp_of(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _swap_lock(key: str) -> str:
    return f"swap-{int(hashlib.sha256(key.encode()).hexdigest(), 16) % _LOCK_SHARDS}"


def _version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
