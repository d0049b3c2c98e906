"""A workspace in a bucket for tests that look into its folder: `pytest --store=bucket`.

All that lineage reads, writes, lists and deletes goes to the bucket. The folder is what a mirror of it would show:
every write is copied there, and what a test did there by hand is taken into the bucket before the next call.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from lineage.store import Blob, Data, Entry, LocalStore, MissingError, Opened
from lineage.store.base import joined
from lineage.store.local import TEMP_PREFIX
from lineage.store.objects import Bucket
from tests.support.engines import fresh_bucket

STATE = ".lineage"


@dataclass
class _Shadow:
    """What a folder's bucket is, and what of each file in the folder lies there already."""

    bucket: Bucket
    known: dict[str, str] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


_shadows: defaultdict[Path, _Shadow] = defaultdict(lambda: _Shadow(fresh_bucket()))


class Shadowed:
    """The store of the workspace that is shown in the folder `root`."""

    is_remote = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self._shadow = _shadows[root]
        self._folder = LocalStore(root)

    def __reduce__(self) -> tuple[object, ...]:
        return _shown_elsewhere, (self.root, self._shadow.bucket, self._shadow.known)

    @property
    def _bucket(self) -> Bucket:
        self._take_in()
        return self._shadow.bucket

    def is_there(self) -> bool:
        return self._folder.is_there()

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        with self._shadow.lock:
            version = self._bucket.create(key, data)
            self._show(key, joined(data), frozen=frozen)
        return version

    def read(self, key: str) -> Blob:
        return self._bucket.read(key)

    def opened(self, key: str) -> AbstractContextManager[Opened]:
        return self._bucket.opened(key)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        with self._shadow.lock:
            found = self._bucket.replace(key, data, version)
            self._show(key, data, frozen=frozen)
        return found

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        return self._bucket.list(prefix, after)

    def stamps(self, prefix: str) -> dict[str, str]:
        return self._bucket.stamps(prefix)

    def delete(self, key: str) -> None:
        with self._shadow.lock:
            self._bucket.delete(key)
            if not _is_state(key):
                self._folder.delete(key)
                self._shadow.known.pop(key, None)

    def mutex(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return self._shadow.bucket.mutex(name, wait=wait)

    def exposed(self) -> tuple[str, ...]:
        return self._shadow.bucket.exposed()

    def out_of_reach(self) -> tuple[str, ...]:
        return self._folder.out_of_reach()

    def tidy(self) -> int:
        return self._folder.tidy()

    def _show(self, key: str, data: bytes, *, frozen: bool) -> None:
        if not _is_state(key):
            self._folder.delete(key)
            self._folder.create(key, data, frozen=frozen)
            self._shadow.known[key] = self._folder.read(key).stamp

    def _take_in(self) -> None:
        with self._shadow.lock:
            there = dict(_files(self.root))
            for key in self._shadow.known.keys() - there.keys():
                self._shadow.bucket.delete(key)
            for key, stamp in there.items():
                if self._shadow.known.get(key) != stamp:
                    self._take(key)
            self._shadow.known = there

    def _take(self, key: str) -> None:
        data, bucket = (self.root / key).read_bytes(), self._shadow.bucket
        try:
            blob = bucket.read(key)
        except MissingError:
            bucket.create(key, data)
        else:
            bucket.replace(key, data, blob.version)


def _shown_elsewhere(root: Path, bucket: Bucket, known: dict[str, str]) -> Shadowed:
    """The same store in another process, which has the folder before it and the bucket behind it."""
    _shadows.setdefault(root, _Shadow(bucket, known))
    return Shadowed(root)


def _is_state(key: str) -> bool:
    return key.startswith(f"{STATE}/")


def _files(root: Path) -> Iterator[tuple[str, str]]:
    """The keys and stamps of the files that belong to a workspace."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (STATE, ".git")]
        for path in (Path(folder, name) for name in names if not name.startswith(TEMP_PREFIX)):
            if path.is_file() and not path.is_symlink():
                status = path.stat()
                yield path.relative_to(root).as_posix(), f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"
