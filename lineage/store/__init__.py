"""Bytes under keys: one small protocol; a folder (`local`), a bucket (`objects`) and a dictionary (`memory`) behind it.

Nothing above this package may assume that a store is a folder. `objects` needs obstore, and is imported where a bucket
is asked for.
"""

from typing import TYPE_CHECKING

from lineage.core.base.lazy import export_lazily
from lineage.store.base import (
    Blob,
    BlobStream,
    BusyError,
    ConflictError,
    Data,
    ExistsError,
    MissingError,
    Store,
    StoredKey,
    StoreUnavailable,
    iter_chunks,
    validate_key,
)
from lineage.store.helpers import commit, compute_sha256, has_content, map_concurrently, read_or_none, update
from lineage.store.lease import Lease, LeaseLost, LeaseUnneeded, LeaseWaiter, acquire_lease
from lineage.store.local import LocalStore

if TYPE_CHECKING:
    from lineage.store.memory import MemoryStore
else:
    __getattr__ = export_lazily(__name__, {"MemoryStore": "memory"})

__all__ = [
    "Blob",
    "BlobStream",
    "BusyError",
    "ConflictError",
    "Data",
    "ExistsError",
    "Lease",
    "LeaseLost",
    "LeaseUnneeded",
    "LeaseWaiter",
    "LocalStore",
    "MemoryStore",
    "MissingError",
    "Store",
    "StoreUnavailable",
    "StoredKey",
    "acquire_lease",
    "commit",
    "compute_sha256",
    "has_content",
    "iter_chunks",
    "map_concurrently",
    "read_or_none",
    "update",
    "validate_key",
]
