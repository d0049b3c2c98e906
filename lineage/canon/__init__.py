"""What is canonical, typed, over a store: artifacts, manifests, claims, tombstones, books, the spool and signals."""

from dataclasses import dataclass

from lineage.canon.artifacts import Artifacts
from lineage.canon.blocks import Blocks
from lineage.canon.books import Books
from lineage.canon.claims import Claims
from lineage.canon.manifests import Manifests
from lineage.canon.signals import Rung, Signals
from lineage.canon.spool import Spool
from lineage.canon.tombstones import Tombstones
from lineage.store import Store


@dataclass(frozen=True, slots=True)
class Canon:
    """The canonical layer of one workspace. `spool`, `signals` and `blocks` lie on this machine only."""

    store: Store
    artifacts: Artifacts
    manifests: Manifests
    claims: Claims
    tombstones: Tombstones
    books: Books
    spool: Spool
    signals: Signals
    blocks: Blocks

    @staticmethod
    def over(store: Store, private: Store) -> "Canon":
        """The canon over a workspace's store and the machine's private one."""
        return Canon(
            store=store,
            artifacts=Artifacts(store),
            manifests=Manifests(store),
            claims=Claims(store),
            tombstones=Tombstones(store),
            books=Books(store),
            spool=Spool(private),
            signals=Signals(private),
            blocks=Blocks(private),
        )


__all__ = ["Artifacts", "Blocks", "Books", "Canon", "Claims", "Manifests", "Rung", "Signals", "Spool", "Tombstones"]
