"""What is canonical, typed, over a store: artifacts, manifests, claims, tombstones, books; and this machine's own."""

from dataclasses import dataclass

from lineage.canon.archived_store import ArchivedStore
from lineage.canon.archives import Archives
from lineage.canon.artifacts import Artifacts
from lineage.canon.blocks import Blocks
from lineage.canon.books import Books
from lineage.canon.checkpoints import Checkpoints
from lineage.canon.claims import Claims
from lineage.canon.manifests import Manifests
from lineage.canon.signals import Rung, Signals
from lineage.canon.spool import Spool
from lineage.canon.tombstones import Tombstones
from lineage.store import Store


@dataclass(frozen=True, slots=True)
class Canon:
    """The canonical layer of one workspace: `store` is the workspace with its archive behind it. `spool`, `signals`,
    `checkpoints` and `blocks` lie on this machine only."""

    store: Store
    archives: Archives
    artifacts: Artifacts
    manifests: Manifests
    claims: Claims
    tombstones: Tombstones
    books: Books
    spool: Spool
    signals: Signals
    checkpoints: Checkpoints
    blocks: Blocks

    @staticmethod
    def over(plain: Store, private: Store) -> "Canon":
        """The canon over a workspace's store and the machine's private one."""
        archives = Archives(plain)
        store = ArchivedStore(plain, archives)
        return Canon(
            store=store,
            archives=archives,
            artifacts=Artifacts(store),
            manifests=Manifests(store),
            claims=Claims(store),
            tombstones=Tombstones(store),
            books=Books(store),
            spool=Spool(private),
            signals=Signals(private),
            checkpoints=Checkpoints(private),
            blocks=Blocks(private),
        )


__all__ = [
    "Archives", "Artifacts", "Blocks", "Books", "Canon", "Checkpoints", "Claims", "Manifests", "Rung", "Signals",
    "Spool", "Tombstones",
]  # fmt: skip
