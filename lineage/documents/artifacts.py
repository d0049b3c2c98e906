"""Immutable artifacts over a store, and stored files read back as documents (spec: immutable content artifacts)."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from lineage.core.format import documents
from lineage.store import ConflictError, MissingError, Store, commit, compute_sha256, has_content, read_or_none


class LoadedDocument(NamedTuple):
    """A document with the SHA-256 of its file in hex, the file's stamp, and at least its frontmatter's bytes."""

    document: documents.Document
    sha256: str
    stamp: str
    head: bytes


def load_stored_document(store: Store, path: str) -> LoadedDocument | None:
    """Return a path's document or None. Raises FormatError; ConflictError if a streamed file was replaced."""
    try:
        with store.open(path) as stream:
            if stream.data is not None:
                document = documents.parse_document(stream.data, path)
                return LoadedDocument(document, sha256(stream.data).hexdigest(), stream.stamp, stream.data)
            stamp = stream.stamp
    except MissingError:
        return None

    def read_chunks() -> Iterator[bytes]:
        with store.open(path) as stream:
            if stream.stamp != stamp:
                raise ConflictError(f"{path} was replaced while it was read")
            yield from stream.chunks

    document = documents.parse_streamed_document(read_chunks, path)
    return LoadedDocument(document, compute_sha256(read_chunks()), stamp, documents.read_head(read_chunks()))


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The artifacts of a workspace, archived ones included."""

    store: Store

    def write(self, artifact: documents.Artifact) -> bool:
        """Write an artifact. Return False if it exists with this content. Raises ImmutableError for other content."""
        return commit(self.store, artifact.path, documents.serialize_or_stream(artifact))

    def replace(self, artifact: documents.Artifact, version: str) -> None:
        """Replace a file under new redaction rules. Raises ConflictError if it is no longer at `version`."""
        self.store.replace(artifact.path, documents.serialize_document(artifact), version, frozen=True)

    def get(self, path: str) -> documents.Artifact | None:
        """Return the artifact at a path, None if there is none. Raises FormatError if it breaks its contract."""
        loaded = load_stored_document(self.store, path)
        return documents.expect_kind(documents.Artifact, loaded.document, path) if loaded else None

    def exists(self, path: str) -> bool:
        """Return whether there is a file at a path, readable as an artifact or not."""
        try:
            with self.store.open(path):
                return True
        except MissingError:
            return False

    def has_content(self, artifact: documents.Artifact) -> bool | None:
        """Return whether the file has exactly this content, or None if the path is free."""
        if isinstance(artifact.body, str):
            blob = read_or_none(self.store, artifact.path)
            return blob.data == documents.serialize_document(artifact) if blob else None
        try:
            return has_content(self.store, artifact.path, documents.serialize_or_stream(artifact))
        except MissingError:
            return None
