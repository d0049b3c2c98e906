"""Immutable content artifacts. (spec: immutable content artifacts)"""

from typing import NamedTuple

from lineage.core.documents import Artifact, parsed_as, serialized
from lineage.store import Store, commit, read_or_none


class Artifacts(NamedTuple):
    """Written once: the same content again succeeds, other content raises."""

    store: Store

    def write(self, artifact: Artifact) -> bool:
        """True when written, False when it lay there already. Raises ImmutableError where other content does."""
        return commit(self.store, artifact.path, serialized(artifact))

    def replace(self, artifact: Artifact, version: str) -> None:
        """The one lawful change: the artifact under new redaction rules, where the file is still the one that was read
        as `version`. Raises ConflictError where it is not."""
        self.store.replace(artifact.path, serialized(artifact), version, frozen=True)

    def get(self, path: str) -> Artifact | None:
        """The artifact at a path, None where there is none. Raises FormatError where it breaks its contract."""
        blob = read_or_none(self.store, path)
        return parsed_as(Artifact, blob.data, path) if blob else None

    def holds(self, artifact: Artifact) -> bool | None:
        """Whether this very content is committed; None where the path is free."""
        blob = read_or_none(self.store, artifact.path)
        return blob.data == serialized(artifact) if blob else None
