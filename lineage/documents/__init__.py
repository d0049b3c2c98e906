"""The typed documents of a workspace over a store, one kind a module; `archive` is a guest behind the store."""

from functools import cached_property
from typing import TYPE_CHECKING

from lineage.core.books.book_edits import CapFinder, default_cap
from lineage.core.transfer.archive_paths import ARCHIVE
from lineage.documents.artifacts import Artifacts
from lineage.documents.books import Books
from lineage.documents.checkpoints import Checkpoints
from lineage.documents.context_cache import ContextCache
from lineage.documents.manifests import Claims, Manifests
from lineage.documents.recall_log import RecallLog
from lineage.documents.spool import HookEvent, HookQueue, Spool
from lineage.documents.tombstones import Tombstones
from lineage.store import Store

if TYPE_CHECKING:  # a guest, imported on first use
    from lineage.documents.archive.archives import Archives


class Documents:
    """The documents of one workspace, over its plain store, `base`, and this machine's private one.

    `store` reads and writes the workspace; with an archive it serves archived artifacts too. `spool`, `hook_queue`,
    `checkpoints`, `context_cache` and `recall_log` lie on this machine only. `find_cap` bounds books.
    """

    def __init__(self, base: Store, private: Store, find_cap: CapFinder = default_cap) -> None:
        self.base = base
        self._store: Store | None = None
        self.manifests = Manifests(base)
        self.claims = Claims(base)
        self.tombstones = Tombstones(base)
        self.books = Books(base, find_cap)
        self.spool = Spool(private)
        self.hook_queue = HookQueue(private)
        self.checkpoints = Checkpoints(private)
        self.context_cache = ContextCache(private)
        self.recall_log = RecallLog(private)

    @property
    def store(self) -> Store:
        """The store of the workspace's files. The first use asks whether there is an archive, nothing before does."""
        if self._store is None:
            self._store = self._choose_store()
        return self._store

    def notice_archive(self) -> bool:
        """Choose the archived store if an archive is there. Return True if it appeared since the last look.

        Another process may archive the first month of this workspace at any time. It deletes a plain file only under
        the lock of its session, so a look under that lock tells the place of the session's artifacts until the lock
        is released. A reader without a lock looks afterwards, and reads again.
        """
        if self._store not in (None, self.base):
            return False
        before, self._store = self._store, self._choose_store()
        return before is self.base and self._store is not before

    def _choose_store(self) -> Store:
        if self.base.is_empty(ARCHIVE):
            return self.base
        # a guest: a workspace without an archive imports nothing of it
        from lineage.documents.archive.archived_store import ArchivedStore  # noqa: PLC0415

        return ArchivedStore(self.base, self.archives)

    @cached_property
    def archives(self) -> "Archives":
        """The archive of the workspace, with or without bundles."""
        # a guest, as above
        from lineage.documents.archive.archives import Archives  # noqa: PLC0415

        return Archives(self.base)

    @property
    def artifacts(self) -> Artifacts:
        """The artifacts in the present store: `notice_archive` may change it."""
        return Artifacts(self.store)


__all__ = ["Checkpoints", "Claims", "Documents", "HookEvent", "HookQueue", "Spool", "Tombstones"]
