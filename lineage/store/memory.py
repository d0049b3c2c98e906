"""A store in a dictionary: the reference implementation and the test double."""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from lineage.store.base import (
    Blob,
    BlobStream,
    BusyError,
    ConflictError,
    Data,
    ExistsError,
    MissingError,
    StoredKey,
    is_listed,
    join_chunks,
    validate_key,
    validate_prefix,
)


class MemoryStore:
    """Keeps everything in memory, for one process; safe between threads."""

    is_remote = False

    def __init__(self) -> None:
        self._blobs: dict[str, Blob] = {}
        self._lock = threading.RLock()
        self._named_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        """Write a free key (see `Store.create`)."""
        del frozen
        with self._lock:
            if validate_key(key) in self._blobs:
                raise ExistsError(f"{key} exists already")
            return self._write(key, join_chunks(data))

    def read(self, key: str) -> Blob:
        """Return the content of a key (see `Store.read`)."""
        with self._lock:
            if validate_key(key) not in self._blobs:
                raise MissingError(f"{key} does not exist")
            return self._blobs[key]

    @contextmanager
    def open(self, key: str) -> Iterator[BlobStream]:
        """Return the content of a key as a stream (see `Store.open`)."""
        blob = self.read(key)
        yield BlobStream(blob.data, blob.stamp, iter([blob.data]))

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        """Write a key that has this version (see `Store.replace`)."""
        del frozen
        with self._lock:
            if validate_key(key) not in self._blobs or self._blobs[key].version != version:
                raise ConflictError(f"{key} was changed by somebody else")
            return self._write(key, data)

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        """Yield the keys below a prefix (see `Store.list`)."""
        validate_prefix(prefix)
        with self._lock:
            blobs = list(self._blobs.items())
        return iter(sorted(StoredKey(key, blob.stamp) for key, blob in blobs if is_listed(key, prefix) and key > after))

    def stat_all(self, prefix: str) -> dict[str, str]:
        """Return all stamps below a prefix (see `Store.stat_all`)."""
        return dict(self.list(prefix))

    def is_empty(self, prefix: str) -> bool:
        """Tell whether there are no keys below a prefix."""
        return next(self.list(prefix), None) is None

    def delete(self, key: str) -> None:
        """Remove a key, if it exists."""
        with self._lock:
            self._blobs.pop(validate_key(key), None)

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Hold a lock (see `Store.lock`)."""
        with self._lock:
            return _HeldLock(name, self._named_locks[name], wait)

    def world_readable(self) -> tuple[str, ...]:
        """Return no keys: other processes see none of them."""
        return ()

    def residual_copies(self) -> tuple[str, ...]:
        """Return no places."""
        return ()

    def collect_garbage(self) -> int:
        """Return 0: writers leave nothing behind."""
        return 0

    def _write(self, key: str, data: bytes) -> str:
        version = hashlib.sha256(data).hexdigest()
        self._blobs[key] = Blob(bytes(data), version, version)
        return version


class _HeldLock(AbstractContextManager[None]):
    def __init__(self, name: str, lock: threading.Lock, wait: bool) -> None:
        self._name, self._lock, self._wait = name, lock, wait

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=self._wait):
            raise BusyError(f"{self._name} is held by somebody else")

    def __exit__(self, *_: object) -> None:
        self._lock.release()
