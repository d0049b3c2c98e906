"""What is canonical, typed, over a store: artifacts, manifests, claims, tombstones, books; and this machine's own.

A part is imported when it is first asked for: most commands need few of them.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from lineage.core.base.lazy import export_lazily
from lineage.documents.archived_store import ArchivedStore
from lineage.documents.archives import Archives
from lineage.documents.tombstones import Tombstones
from lineage.store import Store

if TYPE_CHECKING:
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
    """The canonical layer of one workspace, over its store, `plain`, and the machine's private one: `store` is the
    workspace with its archive behind it. `spool`, `signals`, `checkpoints` and `blocks` lie on this machine only."""

    def __init__(self, base: Store, private: Store) -> None:
        self.archives = Archives(base)
        self.store: Store = ArchivedStore(base, self.archives)
        self.tombstones = Tombstones(self.store)
        self._private = private

    @cached_property
    def artifacts(self) -> "Artifacts":
        from lineage.documents.artifacts import Artifacts  # noqa: PLC0415

        return Artifacts(self.store)

    @cached_property
    def manifests(self) -> "Manifests":
        from lineage.documents.manifests import Manifests  # noqa: PLC0415

        return Manifests(self.store)

    @cached_property
    def claims(self) -> "Claims":
        from lineage.documents.claims import Claims  # noqa: PLC0415

        return Claims(self.store)

    @cached_property
    def books(self) -> "Books":
        from lineage.documents.books import Books  # noqa: PLC0415

        return Books(self.store)

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
