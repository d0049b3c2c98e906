"""The two sides of a mirror, and a file on one of them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from lineage.core import naming
from lineage.core.book import parsed_book, serialized_book
from lineage.core.book_paths import ref_of
from lineage.core.mirrored import is_frozen
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.forgetting import without
from lineage.store import Blob, ConflictError, ExistsError, Store, read_or_none

HERE, THERE, CLAIMS = "here", "there", "claims"

GATE = "mirror-notes"
"""The mutex under which mirrors change what nobody but mirrors and people writes: a deletion has no condition."""


@dataclass(frozen=True, slots=True)
class Sides:
    """A folder's house and the one whose copy it is."""

    here: House
    there: House

    def stores(self) -> tuple[Store, Store]:
        return self.here.canon.store, self.there.canon.store

    def of(self, *, is_here: bool) -> Store:
        return (self.here if is_here else self.there).canon.store

    def removed(self) -> frozenset[str]:
        """The tokens of the sessions that are removed by now, on either side."""
        return self.here.canon.tombstones.tokens() | self.there.canon.tombstones.tokens()


def put(store: Store, key: str, data: bytes, there: Blob | None) -> str:
    """Writes over what was read, and the stamp of what was written: "" where it has changed again since.

    Raises ConflictError where it is something else by now. What lies there already is not written.
    """
    if there is not None and there.data == data:
        return there.stamp
    if there is not None:
        store.replace(key, data, there.version, frozen=is_frozen(key))
    else:
        try:
            store.create(key, data, frozen=is_frozen(key))
        except ExistsError as error:
            raise ConflictError(f"{key} was made by somebody else") from error
    blob = read_or_none(store, key)
    return blob.stamp if blob and blob.data == data else ""


def book_without(key: str, data: bytes, removed: Iterable[str]) -> bytes:
    """A book's file with what removed sessions taught forgotten."""
    ref = ref_of(key)
    assert ref is not None
    named = sorted({*naming.tokens_in(data.decode("utf-8", "replace"))}.intersection(removed))
    if not named:
        return data
    return serialized_book(reduce(without, named, parsed_book(data, ref.scope, ref.kind)))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
