"""What is canonical, typed, over a store: artifacts, manifests, claims, tombstones, books; and this machine's own.

A part is imported when it is first asked for: most commands need few of them.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from lineage.core.base.lazy import export_lazily
from lineage.core.transfer.archive_paths import ARCHIVE
from lineage.documents.tombstones import Tombstones
from lineage.store import Store

if TYPE_CHECKING:
    from lineage.documents.archive.archives import Archives
    from lineage.documents.artifacts import Artifacts
    from lineage.documents.books import Books
    from lineage.documents.checkpoints import Checkpoints
    from lineage.documents.claims import Claims
    from lineage.documents.context_cache import ContextCache
    from lineage.documents.hook_queue import HookEvent, HookQueue
    from lineage.documents.manifests import Manifests
    from lineage.documents.spool import Spool
else:
    _HOMES = {
        "archive.archives": ("Archives",),
        "artifacts": ("Artifacts",),
        "context_cache": ("ContextCache",),
        "books": ("Books",),
        "checkpoints": ("Checkpoints",),
        "claims": ("Claims",),
        "manifests": ("Manifests",),
        "hook_queue": (
            "HookEvent",
            "HookQueue",
        ),
        "spool": ("Spool",),
    }
    __getattr__ = export_lazily(__name__, {name: home for home, names in _HOMES.items() for name in names})


class Documents:
    """The documents of one workspace, over its plain store, `base`, and this machine's private one.

    `store` reads and writes the workspace; with an archive it serves archived artifacts too. `spool`, `hook_queue`,
    `checkpoints` and `context_cache` lie on this machine only.
    """

    def __init__(self, base: Store, private: Store) -> None:
        self.base = base
        self.store: Store = base
        self.notice_archive()
        self.tombstones = Tombstones(base)
        self._private = private

    def notice_archive(self) -> bool:
        """Choose the archived store if an archive is there. Return True if it appeared since the last look.

        Another process may archive the first month of this workspace at any time. It deletes a plain file only under
        the lock of its session, so whoever looks under that lock knows where the session's artifacts lie until the
        lock is released. Whoever reads without a lock looks afterwards, and reads again.
        """
        if self.store is not self.base or self.base.is_empty(ARCHIVE):
            return False
        # a guest: a workspace without an archive imports nothing of it
        from lineage.documents.archive.archived_store import ArchivedStore  # noqa: PLC0415

        self.store = ArchivedStore(self.base, self.archives)
        return True

    @cached_property
    def archives(self) -> "Archives":
        from lineage.documents.archive.archives import Archives  # noqa: PLC0415

        return Archives(self.base)

    @property
    def artifacts(self) -> "Artifacts":
        """The artifacts in the store of now, which `notice_archive` may change."""
        from lineage.documents.artifacts import Artifacts  # noqa: PLC0415

        return Artifacts(self.store)

    @cached_property
    def manifests(self) -> "Manifests":
        from lineage.documents.manifests import Manifests  # noqa: PLC0415

        return Manifests(self.base)

    @cached_property
    def claims(self) -> "Claims":
        from lineage.documents.claims import Claims  # noqa: PLC0415

        return Claims(self.base)

    @cached_property
    def books(self) -> "Books":
        from lineage.documents.books import Books  # noqa: PLC0415

        return Books(self.base)

    @cached_property
    def spool(self) -> "Spool":
        from lineage.documents.spool import Spool  # noqa: PLC0415

        return Spool(self._private)

    @cached_property
    def hook_queue(self) -> "HookQueue":
        from lineage.documents.hook_queue import HookQueue  # noqa: PLC0415

        return HookQueue(self._private)

    @cached_property
    def checkpoints(self) -> "Checkpoints":
        from lineage.documents.checkpoints import Checkpoints  # noqa: PLC0415

        return Checkpoints(self._private)

    @cached_property
    def context_cache(self) -> "ContextCache":
        from lineage.documents.context_cache import ContextCache  # noqa: PLC0415

        return ContextCache(self._private)


__all__ = [
    "Archives",
    "Artifacts",
    "Books",
    "Checkpoints",
    "Claims",
    "ContextCache",
    "Documents",
    "HookEvent",
    "HookQueue",
    "Manifests",
    "Spool",
    "Tombstones",
]  # fmt: skip
