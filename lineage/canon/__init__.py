"""What is canonical, typed, over a store: artifacts, manifests, claims, tombstones and the spool."""

from dataclasses import dataclass

from lineage.canon.artifacts import Artifacts
from lineage.canon.claims import Claims
from lineage.canon.manifests import Manifests
from lineage.canon.spool import Spool
from lineage.canon.tombstones import Tombstones
from lineage.store import Store


@dataclass(frozen=True, slots=True)
class Canon:
    """The canonical layer of one workspace. `spool` lies on this machine only, apart from the rest."""

    store: Store
    artifacts: Artifacts
    manifests: Manifests
    claims: Claims
    tombstones: Tombstones
    spool: Spool

    @staticmethod
    def over(store: Store, private: Store) -> "Canon":
        """The canon over a workspace's store and the machine's private one."""
        return Canon(store, Artifacts(store), Manifests(store), Claims(store), Tombstones(store), Spool(private))


__all__ = ["Artifacts", "Canon", "Claims", "Manifests", "Spool", "Tombstones"]
