"""A store in a dictionary."""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from lineage.store.base import (
    Blob,
    BusyError,
    ConflictError,
    Data,
    ExistsError,
    MissingError,
    Store,
    StoredKey,
    is_listed,
    join_chunks,
    validate_key,
    validate_prefix,
)


class MemoryStore(Store):
    """Keeps everything in memory, for one process; safe between threads."""

    is_remote = False

    def __init__(self) -> None:
        self._blobs: dict[str, Blob] = {}
        self._lock = threading.RLock()
        self._named_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        del frozen
        with self._lock:
            if validate_key(key) in self._blobs:
                raise ExistsError(f"{key} exists already")
            return self._write(key, join_chunks(data))

    def read(self, key: str) -> Blob:
        with self._lock:
            if validate_key(key) not in self._blobs:
                raise MissingError(f"{key} does not exist")
            return self._blobs[key]

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        del frozen
        with self._lock:
            if validate_key(key) not in self._blobs or self._blobs[key].version != version:
                raise ConflictError(f"{key} was changed by somebody else")
            return self._write(key, data)

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        validate_prefix(prefix)
        with self._lock:
            blobs = list(self._blobs.items())
        return iter(sorted(StoredKey(key, blob.stamp) for key, blob in blobs if is_listed(key, prefix) and key > after))

    def delete(self, key: str) -> None:
        with self._lock:
            self._blobs.pop(validate_key(key), None)

    @contextmanager
    def lock(self, name: str, *, wait: bool = True) -> Iterator[None]:
        """Hold a lock between threads of this process."""
        with self._lock:
            lock = self._named_locks[name]
        if not lock.acquire(blocking=wait):
            raise BusyError(f"{name} is held by somebody else")
        try:
            yield
        finally:
            lock.release()

    def _write(self, key: str, data: bytes) -> str:
        version = hashlib.sha256(data).hexdigest()
        self._blobs[key] = Blob(bytes(data), version, version)
        return version
