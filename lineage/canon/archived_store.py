"""The workspace's store with its archive behind it: the one place that knows whether an artifact lies in `memory/` or
in a bundle. Documents are read out of it by `loaded`, however long they are.

An archived artifact is read, listed, replaced and deleted under the path that it had. Where a plain file lies at that
path too, as after a crash or a sync, the plain file is what is read.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from hashlib import sha256
from typing import NamedTuple

from lineage.canon.archives import Archives, stamp_of
from lineage.core.archive import is_archivable
from lineage.core.documents import Document, head_of, parsed, parsed_long
from lineage.core.naming import MEMORY
from lineage.store import (
    Blob,
    ConflictError,
    Data,
    Entry,
    ExistsError,
    MissingError,
    Opened,
    Store,
    digest_of,
    read_or_none,
)


class ArchivedStore:
    """A store like the one below it. Where a bundle is damaged, `read` raises FormatError."""

    def __init__(self, plain: Store, archives: Archives) -> None:
        self.plain = plain
        self.archives = archives

    @property
    def is_remote(self) -> bool:
        return self.plain.is_remote

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        if is_archivable(key) and self.archives.holds(key):
            raise ExistsError(f"{key} exists already")
        return self.plain.create(key, data, frozen=frozen)

    def read(self, key: str) -> Blob:
        try:
            return self.plain.read(key)
        except MissingError:
            if blob := self._archived(key):
                return blob
            raise

    @contextmanager
    def opened(self, key: str) -> Iterator[Opened]:
        with ExitStack() as stack:
            try:
                found = stack.enter_context(self.plain.opened(key))
            except MissingError:
                blob = self._archived(key)
                if blob is None:
                    raise
                found = Opened(blob.data, blob.stamp, iter([blob.data]))
            yield found

    def _archived(self, key: str) -> Blob | None:
        return self.archives.read(key) if is_archivable(key) else None

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        if is_archivable(key) and read_or_none(self.plain, key) is None and self.archives.holds(key):
            self.archives.swap(key, data, version)
            return self.read(key).version
        return self.plain.replace(key, data, version, frozen=frozen)

    def list(self, prefix: str, after: str = "") -> Iterator[Entry]:
        plain = self.plain.list(prefix, after)
        if prefix not in ("", MEMORY):
            return plain
        there = list(plain)  # before the bundles: what is archived meanwhile is in one of the two
        archived = self.archives.members()
        if not archived:
            return iter(there)
        keys = {entry.key for entry in there}
        found = (Entry(path, stamp_of(member)) for path, member in archived.items())
        return iter(sorted([*there, *(entry for entry in found if entry.key > after and entry.key not in keys)]))

    def stamps(self, prefix: str) -> dict[str, str]:
        there = self.plain.stamps(prefix)  # before the bundles, as in `list`
        archived = self.archives.members() if prefix in ("", MEMORY) else {}
        return {path: stamp_of(member) for path, member in archived.items()} | there if archived else there

    def delete(self, key: str) -> None:
        if is_archivable(key):
            self.archives.drop([key])
        self.plain.delete(key)

    def mutex(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        return self.plain.mutex(name, wait=wait)

    def exposed(self) -> tuple[str, ...]:
        return self.plain.exposed()

    def out_of_reach(self) -> tuple[str, ...]:
        return self.plain.out_of_reach()

    def tidy(self) -> int:
        return self.plain.tidy() + self.archives.tidy()


class Loaded(NamedTuple):
    """A document, the SHA-256 of its file in hex, what the store lists for that, and the file as far as its frontmatter
    goes at least."""

    document: Document
    sha256: str
    stamp: str
    head: bytes


def loaded(store: Store, path: str) -> Loaded | None:
    """What lies at a path, None where nothing does. Raises FormatError where it breaks its contract.

    Going through a body that isn't held raises ConflictError where the file was replaced since.
    """
    try:
        with store.opened(path) as found:
            if found.data is not None:
                return Loaded(parsed(found.data, path), sha256(found.data).hexdigest(), found.stamp, found.data)
            stamp = found.stamp
    except MissingError:
        return None

    def pieces() -> Iterator[bytes]:
        with store.opened(path) as again:
            if again.stamp != stamp:
                raise ConflictError(f"{path} was replaced while it was read")
            yield from again.pieces

    return Loaded(parsed_long(pieces, path), digest_of(pieces()), stamp, head_of(pieces()))
