"""Bytes under keys: one small protocol; a folder (`local`), a bucket (`objects`) and a dictionary (`memory`) behind it.

Nothing above this package may assume that a store is a folder. `objects` needs obstore, and is imported where a bucket
is asked for.
"""

from typing import TYPE_CHECKING

from lineage.core.lazily import exporting
from lineage.store.base import (
    Blob,
    BusyError,
    ConflictError,
    Data,
    Entry,
    ExistsError,
    MissingError,
    Opened,
    Store,
    StoreAway,
    checked_key,
    pieces_of,
)
from lineage.store.lease import Lease, LeaseLost, LeaseUnneeded, Unless, lease
from lineage.store.local import LocalStore
from lineage.store.operations import commit, digest_of, holds, read_or_none, together, update

if TYPE_CHECKING:
    from lineage.store.memory import MemoryStore
else:
    __getattr__ = exporting(__name__, {"MemoryStore": "memory"})

__all__ = [
    "Blob",
    "BusyError",
    "ConflictError",
    "Data",
    "Entry",
    "ExistsError",
    "Lease",
    "LeaseLost",
    "LeaseUnneeded",
    "LocalStore",
    "MemoryStore",
    "MissingError",
    "Opened",
    "Store",
    "StoreAway",
    "Unless",
    "checked_key",
    "commit",
    "digest_of",
    "holds",
    "lease",
    "pieces_of",
    "read_or_none",
    "together",
    "update",
]
