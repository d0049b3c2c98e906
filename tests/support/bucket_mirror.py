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

from lineage.store import Blob, BlobStream, Data, LocalStore, MissingError, StoredKey
from lineage.store.base import join_chunks
from lineage.store.objects import BucketStore
from lineage.store.temporaries import TEMP_PREFIX
from tests.support.engines import create_bucket

STATE = ".lineage"


@dataclass
class _MirroredBucket:
    """What a folder's bucket is, and what of each file in the folder lies there already."""

    bucket: BucketStore
    known: dict[str, str] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


_mirrored_buckets: defaultdict[Path, _MirroredBucket] = defaultdict(lambda: _MirroredBucket(create_bucket()))


class MirroredStore:
    """The store of the workspace that is shown in the folder `root`."""

    is_remote = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self._shadow = _mirrored_buckets[root]
        self._folder = LocalStore(root)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.root, self._shadow.bucket, self._shadow.known)

    @property
    def _bucket(self) -> BucketStore:
        self._read_from_folder()
        return self._shadow.bucket

    def exists(self) -> bool:
        return self._folder.exists()

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        with self._shadow.lock:
            version = self._bucket.create(key, data)
            self._write_to_folder(key, join_chunks(data), frozen=frozen)
        return version

    def read(self, key: str) -> Blob:
        return self._bucket.read(key)

    def open(self, key: str) -> AbstractContextManager[BlobStream]:
        return self._bucket.open(key)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        with self._shadow.lock:
            found = self._bucket.replace(key, data, version)
            self._write_to_folder(key, data, frozen=frozen)
        return found

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        return self._bucket.list(prefix, after)

    def stat_all(self, prefix: str) -> dict[str, str]:
        return self._bucket.stat_all(prefix)

    def is_empty(self, prefix: str) -> bool:
        return self._bucket.is_empty(prefix)

    def delete(self, key: str) -> None:
        with self._shadow.lock:
            self._bucket.delete(key)
            if not _is_state(key):
                self._folder.delete(key)
                self._shadow.known.pop(key, None)

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return self._shadow.bucket.lock(name, wait=wait)

    def world_readable(self) -> tuple[str, ...]:
        return self._shadow.bucket.world_readable()

    def residual_copies(self) -> tuple[str, ...]:
        return self._folder.residual_copies()

    def collect_garbage(self) -> int:
        return self._folder.collect_garbage()

    def _write_to_folder(self, key: str, data: bytes, *, frozen: bool) -> None:
        if not _is_state(key):
            self._folder.delete(key)
            self._folder.create(key, data, frozen=frozen)
            self._shadow.known[key] = self._folder.read(key).stamp

    def _read_from_folder(self) -> None:
        with self._shadow.lock:
            there = dict(_list_files(self.root))
            for key in self._shadow.known.keys() - there.keys():
                self._shadow.bucket.delete(key)
            for key, stamp in there.items():
                if self._shadow.known.get(key) != stamp:
                    self._read_file(key)
            self._shadow.known = there

    def _read_file(self, key: str) -> None:
        data, bucket = (self.root / key).read_bytes(), self._shadow.bucket
        try:
            blob = bucket.read(key)
        except MissingError:
            bucket.create(key, data)
        else:
            bucket.replace(key, data, blob.version)


def _restore(root: Path, bucket: BucketStore, known: dict[str, str]) -> MirroredStore:
    """The same store in another process, which has the folder before it and the bucket behind it."""
    _mirrored_buckets.setdefault(root, _MirroredBucket(bucket, known))
    return MirroredStore(root)


def _is_state(key: str) -> bool:
    return key.startswith(f"{STATE}/")


def _list_files(root: Path) -> Iterator[tuple[str, str]]:
    """The keys and stamps of the files that belong to a workspace."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (STATE, ".git")]
        for path in (Path(folder, name) for name in names if not name.startswith(TEMP_PREFIX)):
            if path.is_file() and not path.is_symlink():
                status = path.stat()
                yield path.relative_to(root).as_posix(), f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"
