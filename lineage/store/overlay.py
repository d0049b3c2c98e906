"""A store in front of another: writes stay in front, so that a rehearsal of a write changes nothing."""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager

from lineage.store import base
from lineage.store.helpers import read_or_none


class OverlayStore(base.Store):
    """The keys of `front`, and behind them those of `behind`: that is only read. Nothing behind can be deleted."""

    def __init__(self, front: base.Store, behind: base.Store) -> None:
        self.front, self.behind = front, behind

    @property
    def is_remote(self) -> bool:
        """Tell whether reads wait for a network."""
        return self.behind.is_remote

    def create(self, key: str, data: base.Data, *, frozen: bool = False) -> str:
        with contextlib.suppress(base.MissingError):
            self.behind.read(key)
            raise base.ExistsError(f"{key} exists already")
        return self.front.create(key, data, frozen=frozen)

    def read(self, key: str) -> base.Blob:
        with contextlib.suppress(base.MissingError):
            return self.front.read(key)
        return self.behind.read(key)

    def open(self, key: str) -> AbstractContextManager[base.BlobStream]:
        return (self.front if key in self.front.stat_all(key.rpartition("/")[0] + "/") else self.behind).open(key)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        with contextlib.suppress(base.MissingError):
            self.front.read(key)
            return self.front.replace(key, data, version, frozen=frozen)
        blob = read_or_none(self.behind, key)
        if blob is None or blob.version != version:
            raise base.ConflictError(f"{key} was changed by somebody else")
        return self.front.create(key, data, frozen=frozen)

    def list(self, prefix: str, after: str = "") -> Iterator[base.StoredKey]:
        stamps = {**self.behind.stat_all(prefix), **self.front.stat_all(prefix)}
        return (base.StoredKey(key, stamps[key]) for key in sorted(stamps) if key > after)

    def delete(self, key: str) -> None:
        """Remove a key in front."""
        self.front.delete(key)

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Hold a lock of the rehearsal alone."""
        return self.front.lock(name, wait=wait)
