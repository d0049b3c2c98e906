"""Bytes under keys: one small protocol, implemented by a folder (`local`) and a bucket (`objects`).

Nothing above this package may assume that a store is a folder. `objects` needs obstore, an optional extra: the
composition root imports it if the workspace is in a bucket.
"""

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

__all__ = [
    "Blob", "BlobStream", "BusyError", "ConflictError", "Data", "ExistsError", "Lease", "LeaseLost", "LeaseUnneeded",
    "LeaseWaiter", "LocalStore", "MissingError", "Store", "StoreUnavailable", "StoredKey", "acquire_lease", "commit",
    "compute_sha256", "has_content", "iter_chunks", "map_concurrently", "read_or_none", "update", "validate_key",
]  # fmt: skip
