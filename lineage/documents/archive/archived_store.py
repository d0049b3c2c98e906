"""The store of a workspace with an archive, in place of `memory/`; a plain file there takes precedence."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from lineage.core.base.naming import MEMORY
from lineage.core.transfer.archive_paths import is_archivable
from lineage.documents.archive.archives import Archives, format_stamp
from lineage.store import Blob, BlobStream, Data, ExistsError, MissingError, Store, StoredKey, read_or_none


class ArchivedStore:
    """A store over the plain one, `base`, and its archive. `read` raises FormatError for a damaged bundle."""

    def __init__(self, base: Store, archives: Archives) -> None:
        self.base = base
        self.archives = archives

    @property
    def is_remote(self) -> bool:
        return self.base.is_remote

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        """Create a key. Raises ExistsError for an archived artifact too."""
        # the session's lock, held by a writer, keeps an archive run from deleting a plain file after this look
        if is_archivable(key) and self.archives.has(key):
            raise ExistsError(f"{key} exists already")
        return self.base.create(key, data, frozen=frozen)

    def read(self, key: str) -> Blob:
        """Read a key, from the archive if there is no plain file."""
        try:
            return self.base.read(key)
        except MissingError:
            if blob := self._read_archived(key):
                return blob
            raise

    @contextmanager
    def open(self, key: str) -> Iterator[BlobStream]:
        """Open a key, from the archive if there is no plain file."""
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(self.base.open(key))
            except MissingError:
                blob = self._read_archived(key)
                if blob is None:
                    raise
                stream = BlobStream(blob.data, blob.stamp, iter([blob.data]))
            yield stream

    def _read_archived(self, key: str) -> Blob | None:
        return self.archives.read(key) if is_archivable(key) else None

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        """Replace a key, in its bundle if there is no plain file."""
        if is_archivable(key) and read_or_none(self.base, key) is None and self.archives.has(key):
            self.archives.replace(key, data, version)
            return self.read(key).version
        return self.base.replace(key, data, version, frozen=frozen)

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        """List the keys, archived artifacts included."""
        if prefix not in ("", MEMORY):
            return self.base.list(prefix, after)
        # the plain files first: an artifact archived in between is then in one of the two listings, or in both
        plain = list(self.base.list(prefix, after))
        keys = {entry.key for entry in plain}
        members = self.archives.list_members().items()
        archived = (StoredKey(path, format_stamp(member)) for path, member in members if path not in keys)
        return iter(sorted([*plain, *(entry for entry in archived if entry.key > after)]))

    def stat_all(self, prefix: str) -> dict[str, str]:
        """Return the stamps, those of archived artifacts included."""
        plain = self.base.stat_all(prefix)  # before the bundles, as in `list`
        archived = self.archives.list_members() if prefix in ("", MEMORY) else {}
        return {path: format_stamp(member) for path, member in archived.items()} | plain

    def is_empty(self, prefix: str) -> bool:
        """Return whether there is no key, plain or archived."""
        return self.base.is_empty(prefix) and (prefix != MEMORY or not self.archives.list_members())

    def delete(self, key: str) -> None:
        """Delete a key from the plain store and the archive."""
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
        """Collect the garbage of the plain store and the archive."""
        return self.base.collect_garbage() + self.archives.collect_garbage()

    def find_abandoned(self) -> tuple[str, ...]:
        return self.base.find_abandoned()

    def merge_displaced(self, merge: Callable[[str, bytes, bytes], None]) -> None:
        self.base.merge_displaced(merge)
