"""A store in a dictionary: the reference implementation and the test double."""

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

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
    is_listed,
    joined,
)


class MemoryStore:
    """Keeps everything in memory, for one process; safe between threads."""

    is_remote = False

    def __init__(self) -> None:
        self._blobs: dict[str, Blob] = {}
        self._lock = threading.RLock()
        self._mutexes: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        del frozen
        with self._lock:
            if checked_key(key) in self._blobs:
                raise ExistsError(f"{key} exists already")
            return self._put(key, joined(data))

    def read(self, key: str) -> Blob:
        with self._lock:
            if checked_key(key) not in self._blobs:
                raise MissingError(f"{key} does not exist")
            return self._blobs[key]

    @contextmanager
    def opened(self, key: str) -> Iterator[Opened]:
        blob = self.read(key)
        yield Opened(blob.data, blob.stamp, iter([blob.data]))

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        del frozen
        with self._lock:
            if checked_key(key) not in self._blobs or self._blobs[key].version != version:
                raise ConflictError(f"{key} was changed by somebody else")
            return self._put(key, data)

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        checked_prefix(prefix)
        with self._lock:
            blobs = list(self._blobs.items())
        found = sorted((key, blob.stamp) for key, blob in blobs if is_listed(key, prefix) and key > after)
        return (Entry(key, stamp) for key, stamp in found)

    def stamps(self, prefix: str) -> dict[str, str]:
        return dict(self.list(prefix))

    def delete(self, key: str) -> None:
        with self._lock:
            self._blobs.pop(checked_key(key), None)

    def mutex(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        with self._lock:
            return _Held(name, self._mutexes[name], wait)

    def exposed(self) -> tuple[str, ...]:
        return ()

    def out_of_reach(self) -> tuple[str, ...]:
        return ()

    def tidy(self) -> int:
        return 0

    def _put(self, key: str, data: bytes) -> str:
        version = hashlib.sha256(data).hexdigest()
        self._blobs[key] = Blob(bytes(data), version, version)
        return version


class _Held(AbstractContextManager[None]):
    def __init__(self, name: str, lock: threading.Lock, wait: bool) -> None:
        self._name, self._lock, self._wait = name, lock, wait

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=self._wait):
            raise BusyError(f"{self._name} is held by somebody else")

    def __exit__(self, *_: object) -> None:
        self._lock.release()
