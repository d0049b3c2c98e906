"""Immutable content artifacts. (spec: immutable content artifacts)"""

from typing import NamedTuple

from lineage.core.format.documents import Artifact, expect_kind, serialize_document, serialize_or_stream
from lineage.documents.load import load_stored_document
from lineage.store import MissingError, Store, commit, has_content, read_or_none


class Artifacts(NamedTuple):
    """Written once: the same content again succeeds, other content raises."""

    store: Store

    def write(self, artifact: Artifact) -> bool:
        """True when written, False when it lay there already. Raises ImmutableError where other content does."""
        return commit(self.store, artifact.path, serialize_or_stream(artifact))

    def replace(self, artifact: Artifact, version: str) -> None:
        """The one lawful change: the artifact under new redaction rules, where the file is still the one that was read
        as `version`. Raises ConflictError where it is not."""
        self.store.replace(artifact.path, serialize_document(artifact), version, frozen=True)

    def get(self, path: str) -> Artifact | None:
        """The artifact at a path, None where there is none. Raises FormatError where it breaks its contract."""
        found = load_stored_document(self.store, path)
        return expect_kind(Artifact, found.document, path) if found else None

    def has_content(self, artifact: Artifact) -> bool | None:
        """Whether this very content is committed; None where the path is free."""
        if isinstance(artifact.body, str):
            blob = read_or_none(self.store, artifact.path)
            return blob.data == serialize_document(artifact) if blob else None
        try:
            return has_content(self.store, artifact.path, serialize_or_stream(artifact))
        except MissingError:
            return None
