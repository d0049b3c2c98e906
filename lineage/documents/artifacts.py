"""Immutable artifacts over a store (spec: immutable content artifacts)."""

from dataclasses import dataclass

from lineage.core.format.documents import Artifact, expect_kind, serialize_document, serialize_or_stream
from lineage.documents.load import load_stored_document
from lineage.store import MissingError, Store, commit, has_content, read_or_none


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The artifacts of a workspace, archived ones included."""

    store: Store

    def write(self, artifact: Artifact) -> bool:
        """Write an artifact. Return False if it exists with this content. Raises ImmutableError for other content."""
        return commit(self.store, artifact.path, serialize_or_stream(artifact))

    def replace(self, artifact: Artifact, version: str) -> None:
        """Replace a file under new redaction rules. Raises ConflictError if it is no longer at `version`."""
        self.store.replace(artifact.path, serialize_document(artifact), version, frozen=True)

    def get(self, path: str) -> Artifact | None:
        """Return the artifact at a path, None if there is none. Raises FormatError if it breaks its contract."""
        loaded = load_stored_document(self.store, path)
        return expect_kind(Artifact, loaded.document, path) if loaded else None

    def has_content(self, artifact: Artifact) -> bool | None:
        """Return whether the file has exactly this content, or None if the path is free."""
        if isinstance(artifact.body, str):
            blob = read_or_none(self.store, artifact.path)
            return blob.data == serialize_document(artifact) if blob else None
        try:
            return has_content(self.store, artifact.path, serialize_or_stream(artifact))
        except MissingError:
            return None
