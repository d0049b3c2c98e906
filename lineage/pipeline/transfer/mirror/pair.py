"""The two sides of a mirror, and writes to one of them."""

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
"""The lock for notes, which only mirrors and people write: a deletion has no condition on the content."""


@dataclass(frozen=True, slots=True)
class MirrorPair:
    """The workspace of a folder, and the workspace that it mirrors."""

    here: Workspace
    there: Workspace

    def notice_archives(self) -> bool:
        """Choose the stores again. Return whether an archive has appeared on either side."""
        return any([self.here.documents.notice_archive(), self.there.documents.notice_archive()])

    def list_stores(self) -> tuple[Store, Store]:
        """Return the store here and the store there."""
        return self.here.documents.store, self.there.documents.store

    def list_removed_tokens(self) -> frozenset[str]:
        """Return the tokens of the sessions removed on either side by now."""
        return self.here.documents.tombstones.list_tokens() | self.there.documents.tombstones.list_tokens()


def write_if_unchanged(store: Store, key: str, data: bytes, there: Blob | None) -> str:
    """Write over the version that was read. Return the stamp of the result, "" if it has changed again since.

    Equal content is not written. Raises ConflictError if the file has changed.
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
    """Return a book's file with the entries of removed sessions forgotten."""
    ref = parse_book_path(key)
    assert ref is not None
    tokens = sorted({*naming.find_tokens(data.decode("utf-8", "replace"))}.intersection(removed))
    if not tokens:
        return data
    return serialize_book(reduce(remove_session, tokens, parse_book(data, ref.scope, ref.kind)))


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
