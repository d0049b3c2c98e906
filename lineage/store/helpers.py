"""What is written once, above every engine: commit, update, and several reads at a time. (scale.md)"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import TypeVar

from lineage.errors import ImmutableError
from lineage.store.base import Blob, ConflictError, Data, ExistsError, MissingError, Store

_MAX_ATTEMPTS = 100
_MAX_THREADS = 32

Item = TypeVar("Item")
Result = TypeVar("Result")


def commit(store: Store, key: str, data: Data) -> bool:
    """Writes an immutable key once. True when written, False when the same bytes lay there already.

    Raises ImmutableError where the key holds other bytes. A retried create can meet its own object: bytes are compared.
    """
    try:
        store.create(key, data, frozen=True)
    except ExistsError as error:
        if not has_content(store, key, data):
            raise ImmutableError(f"{key} exists with other content") from error
        return False
    return True


def has_content(store: Store, key: str, data: Data) -> bool:
    """Whether a key holds these very bytes. Raises MissingError."""
    if isinstance(data, bytes):
        return store.read(key).data == data
    with store.open(key) as found:
        return compute_sha256(found.chunks) == compute_sha256(data)


def compute_sha256(chunks: Iterable[bytes]) -> str:
    """SHA-256, in hex, of all the pieces together."""
    digest = sha256()
    for piece in chunks:
        digest.update(piece)
    return digest.hexdigest()


def update(store: Store, key: str, change: Callable[[bytes | None], bytes | None]) -> bool:
    """A compare-and-swap loop. `change` gets the current bytes (None: no such key) and returns the new ones, or None
    when its change is already there. True when something was written."""
    for _ in range(_MAX_ATTEMPTS):
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
            continue
        return True
    raise ConflictError(f"{key} kept changing while it was being updated")


def map_concurrently(store: Store, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """What `ask` says of each item, in their order; several are asked about at a time where the store is remote. Raises
    the first error."""
    asked = list(items)
    if not store.is_remote or len(asked) < 2:
        return [function(item) for item in asked]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (a folder needs none)

    with ThreadPoolExecutor(min(len(asked), _MAX_THREADS)) as pool:
        return list(pool.map(function, asked))


def read_or_none(store: Store, key: str) -> Blob | None:
    try:
        return store.read(key)
    except MissingError:
        return None
