"""Operations on any store: commit, update, and concurrent reads. (scale.md)."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from random import random
from time import sleep
from typing import TypeVar

from lineage.errors import ImmutableError
from lineage.store.base import Blob, ConflictError, Data, ExistsError, MissingError, Store

_MAX_ATTEMPTS = 100
_MAX_THREADS = 32

Item = TypeVar("Item")
Result = TypeVar("Result")


def commit(store: Store, key: str, data: Data) -> bool:
    """Write a key once; return False if it has these bytes already. Raises ImmutableError if it has others."""
    try:
        store.create(key, data, frozen=True)
    except ExistsError as error:
        # A retry after a crash, or after a lost answer, meets its own object.
        if not has_content(store, key, data):
            raise ImmutableError(f"{key} exists with other content") from error
        return False
    return True


def has_content(store: Store, key: str, data: Data) -> bool:
    """Tell whether a key has exactly these bytes. Raises MissingError."""
    if isinstance(data, bytes):
        return store.read(key).data == data
    with store.open(key) as stream:
        return compute_sha256(stream.chunks) == compute_sha256(data)


def compute_sha256(chunks: Iterable[bytes]) -> str:
    """Return the SHA-256 of all chunks together, in hex."""
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def update(store: Store, key: str, change: Callable[[bytes | None], bytes | None]) -> bool:
    """Change a key in a compare-and-swap loop; tell whether anything was written.

    `change` gets the current bytes, None for a missing key, and returns the new ones, or None to leave the key alone.
    It may be called more than once.
    """
    for attempt in range(_MAX_ATTEMPTS):
        blob = read_or_none(store, key)
        data = change(blob.data if blob else None)
        if data is None or (blob and data == blob.data):
            return False
        try:
            if blob:
                store.replace(key, data, blob.version)
            else:
                store.create(key, data)
        except (ConflictError, ExistsError):
            sleep((attempt + 1) * random() / 1000)  # of two that overtake each other again and again, one gets ahead
            continue
        return True
    raise ConflictError(f"{key} kept changing while it was being updated")


def map_concurrently(store: Store, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the results for all items in order, from a remote store by threads. Raises the first error."""
    items = list(items)
    if not store.is_remote or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(len(items), _MAX_THREADS)) as pool:
        return list(pool.map(function, items))


def read_or_none(store: Store, key: str) -> Blob | None:
    """Return the content of a key, None if it does not exist."""
    try:
        return store.read(key)
    except MissingError:
        return None
