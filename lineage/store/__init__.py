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
    Entry,
    ExistsError,
    MissingError,
    Store,
    StoreAway,
    checked_key,
)
from lineage.store.lease import Lease, LeaseLost, LeaseUnneeded, Unless, lease
from lineage.store.local import LocalStore
from lineage.store.operations import commit, read_or_none, together, update

if TYPE_CHECKING:
    from lineage.store.memory import MemoryStore
else:
    __getattr__ = exporting(__name__, {"MemoryStore": "memory"})

__all__ = [
    "Blob",
    "BusyError",
    "ConflictError",
    "Entry",
    "ExistsError",
    "Lease",
    "LeaseLost",
    "LeaseUnneeded",
    "LocalStore",
    "MemoryStore",
    "MissingError",
    "Store",
    "StoreAway",
    "Unless",
    "checked_key",
    "commit",
    "lease",
    "read_or_none",
    "together",
    "update",
]
