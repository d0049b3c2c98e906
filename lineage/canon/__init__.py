"""What is canonical, typed, over a store: artifacts, manifests, claims, tombstones, books; and this machine's own.

A part is imported when it is first asked for: most commands need few of them.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from lineage.canon.archived_store import ArchivedStore
from lineage.canon.archives import Archives
from lineage.canon.tombstones import Tombstones
from lineage.core.lazily import exporting
from lineage.store import Store

if TYPE_CHECKING:
    from lineage.canon.artifacts import Artifacts
    from lineage.canon.blocks import Blocks
    from lineage.canon.books import Books
    from lineage.canon.checkpoints import Checkpoints
    from lineage.canon.claims import Claims
    from lineage.canon.manifests import Manifests
    from lineage.canon.signals import Rung, Signals
    from lineage.canon.spool import Spool
else:
    _HOMES = {
        "artifacts": ("Artifacts",),
        "blocks": ("Blocks",),
        "books": ("Books",),
        "checkpoints": ("Checkpoints",),
        "claims": ("Claims",),
        "manifests": ("Manifests",),
        "signals": ("Rung", "Signals"),
        "spool": ("Spool",),
    }
    __getattr__ = exporting(__name__, {name: home for home, names in _HOMES.items() for name in names})


class Canon:
    """The canonical layer of one workspace, over its store, `plain`, and the machine's private one: `store` is the
    workspace with its archive behind it. `spool`, `signals`, `checkpoints` and `blocks` lie on this machine only."""

    def __init__(self, plain: Store, private: Store) -> None:
        self.archives = Archives(plain)
        self.store: Store = ArchivedStore(plain, self.archives)
        self.tombstones = Tombstones(self.store)
        self._private = private

    @cached_property
    def artifacts(self) -> "Artifacts":
        from lineage.canon.artifacts import Artifacts  # noqa: PLC0415

        return Artifacts(self.store)

    @cached_property
    def manifests(self) -> "Manifests":
        from lineage.canon.manifests import Manifests  # noqa: PLC0415

        return Manifests(self.store)

    @cached_property
    def claims(self) -> "Claims":
        from lineage.canon.claims import Claims  # noqa: PLC0415

        return Claims(self.store)

    @cached_property
    def books(self) -> "Books":
        from lineage.canon.books import Books  # noqa: PLC0415

        return Books(self.store)

    @cached_property
    def spool(self) -> "Spool":
        from lineage.canon.spool import Spool  # noqa: PLC0415

        return Spool(self._private)

    @cached_property
    def signals(self) -> "Signals":
        from lineage.canon.signals import Signals  # noqa: PLC0415

        return Signals(self._private)

    @cached_property
    def checkpoints(self) -> "Checkpoints":
        from lineage.canon.checkpoints import Checkpoints  # noqa: PLC0415

        return Checkpoints(self._private)

    @cached_property
    def blocks(self) -> "Blocks":
        from lineage.canon.blocks import Blocks  # noqa: PLC0415

        return Blocks(self._private)


__all__ = [
    "Archives", "Artifacts", "Blocks", "Books", "Canon", "Checkpoints", "Claims", "Manifests", "Rung", "Signals",
    "Spool", "Tombstones",
]  # fmt: skip
