"""The workspace's store with its archive behind it: the one place that knows whether an artifact lies in `memory/` or
in a bundle. Documents are read out of it by `load_stored_document`, however long they are.

An archived artifact is read, listed, replaced and deleted under the path that it had. Where a plain file lies at that
path too, as after a crash or a sync, the plain file is what is read.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from hashlib import sha256
from typing import NamedTuple

from lineage.core.base.naming import MEMORY
from lineage.core.format.documents import Document, parse_document, parse_streamed_document, read_head
from lineage.core.transfer.archive_paths import is_archivable
from lineage.documents.archives import Archives, format_stamp
from lineage.store import (
    Blob,
    BlobStream,
    ConflictError,
    Data,
    ExistsError,
    MissingError,
    Store,
    StoredKey,
    compute_sha256,
    read_or_none,
)


class ArchivedStore:
    """A store like the one below it. Where a bundle is damaged, `read` raises FormatError."""

    def __init__(self, base: Store, archives: Archives) -> None:
        self.base = base
        self.archives = archives

    @property
    def is_remote(self) -> bool:
        return self.base.is_remote

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        if is_archivable(key) and self.archives.has(key):
            raise ExistsError(f"{key} exists already")
        return self.base.create(key, data, frozen=frozen)

    def read(self, key: str) -> Blob:
        try:
            return self.base.read(key)
        except MissingError:
            if blob := self._read_archived(key):
                return blob
            raise

    @contextmanager
    def open(self, key: str) -> Iterator[BlobStream]:
        with ExitStack() as stack:
            try:
                found = stack.enter_context(self.base.open(key))
            except MissingError:
                blob = self._read_archived(key)
                if blob is None:
                    raise
                found = BlobStream(blob.data, blob.stamp, iter([blob.data]))
            yield found

    def _read_archived(self, key: str) -> Blob | None:
        return self.archives.read(key) if is_archivable(key) else None

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        if is_archivable(key) and read_or_none(self.base, key) is None and self.archives.has(key):
            self.archives.replace(key, data, version)
            return self.read(key).version
        return self.base.replace(key, data, version, frozen=frozen)

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        plain = self.base.list(prefix, after)
        if prefix not in ("", MEMORY):
            return plain
        there = list(plain)  # before the bundles: what is archived meanwhile is in one of the two
        archived = self.archives.list_members()
        if not archived:
            return iter(there)
        keys = {entry.key for entry in there}
        found = (StoredKey(path, format_stamp(member)) for path, member in archived.items())
        return iter(sorted([*there, *(entry for entry in found if entry.key > after and entry.key not in keys)]))

    def stat_all(self, prefix: str) -> dict[str, str]:
        there = self.base.stat_all(prefix)  # before the bundles, as in `list`
        archived = self.archives.list_members() if prefix in ("", MEMORY) else {}
        return {path: format_stamp(member) for path, member in archived.items()} | there if archived else there

    def delete(self, key: str) -> None:
        if is_archivable(key):
            self.archives.remove([key])
        self.base.delete(key)

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return self.base.lock(name, wait=wait)

    def world_readable(self) -> tuple[str, ...]:
        return self.base.world_readable()

    def residual_copies(self) -> tuple[str, ...]:
        return self.base.residual_copies()

    def collect_garbage(self) -> int:
        return self.base.collect_garbage() + self.archives.collect_garbage()


class LoadedDocument(NamedTuple):
    """A document, the SHA-256 of its file in hex, what the store lists for that, and the file as far as its frontmatter
    goes at least."""

    document: Document
    sha256: str
    stamp: str
    head: bytes


def load_stored_document(store: Store, path: str) -> LoadedDocument | None:
    """What lies at a path, None where nothing does. Raises FormatError where it breaks its contract.

    Going through a body that isn't held raises ConflictError where the file was replaced since.
    """
    try:
        with store.open(path) as found:
            if found.data is not None:
                return LoadedDocument(
                    parse_document(found.data, path), sha256(found.data).hexdigest(), found.stamp, found.data
                )
            stamp = found.stamp
    except MissingError:
        return None

    def pieces() -> Iterator[bytes]:
        with store.open(path) as again:
            if again.stamp != stamp:
                raise ConflictError(f"{path} was replaced while it was read")
            yield from again.chunks

    return LoadedDocument(parse_streamed_document(pieces, path), compute_sha256(pieces()), stamp, read_head(pieces()))
