"""The two sides of a mirror, and a file on one of them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from lineage.core.base import naming
from lineage.core.base.book_paths import parse_book_path
from lineage.core.books.book import parse_book, serialize_book
from lineage.pipeline.memory.session_entries import remove_session
from lineage.pipeline.transfer.file_kinds import is_immutable
from lineage.store import Blob, ConflictError, ExistsError, Store, read_or_none
from lineage.workspace.workspace import Workspace

HERE, THERE, CLAIMS = "here", "there", "claims"

GATE = "mirror-notes"
"""The mutex under which mirrors change what nobody but mirrors and people writes: a deletion has no condition."""


@dataclass(frozen=True, slots=True)
class MirrorPair:
    """A folder's house and the one whose copy it is."""

    here: Workspace
    there: Workspace

    def list_stores(self) -> tuple[Store, Store]:
        return self.here.documents.store, self.there.documents.store

    def select_store(self, *, is_here: bool) -> Store:
        return (self.here if is_here else self.there).documents.store

    def list_removed_tokens(self) -> frozenset[str]:
        """The tokens of the sessions that are removed by now, on either side."""
        return self.here.documents.tombstones.list_tokens() | self.there.documents.tombstones.list_tokens()


def write_if_unchanged(store: Store, key: str, data: bytes, there: Blob | None) -> str:
    """Writes over what was read, and the stamp of what was written: "" where it has changed again since.

    Raises ConflictError where it is something else by now. What lies there already is not written.
    """
    if there is not None and there.data == data:
        return there.stamp
    if there is not None:
        store.replace(key, data, there.version, frozen=is_immutable(key))
    else:
        try:
            store.create(key, data, frozen=is_immutable(key))
        except ExistsError as error:
            raise ConflictError(f"{key} was made by somebody else") from error
    blob = read_or_none(store, key)
    return blob.stamp if blob and blob.data == data else ""


def drop_removed_entries(key: str, data: bytes, removed: Iterable[str]) -> bytes:
    """A book's file with what removed sessions taught forgotten."""
    ref = parse_book_path(key)
    assert ref is not None
    named = sorted({*naming.find_tokens(data.decode("utf-8", "replace"))}.intersection(removed))
    if not named:
        return data
    return serialize_book(reduce(remove_session, named, parse_book(data, ref.scope, ref.kind)))


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
