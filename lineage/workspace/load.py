"""Canonical files, read back as typed documents and as rows of the index."""

import contextlib

from lineage.core.format.documents import Artifact, Manifest, serialize_document, serialize_or_stream
from lineage.documents.load import LoadedDocument, load_stored_document
from lineage.errors import FormatError
from lineage.index import ArtifactRow, TurnTexts, build_row, build_row_from_hash
from lineage.store import MissingError, Store, compute_sha256, iter_chunks, read_or_none
from lineage.workspace.workspace import Workspace


def load_document(ws: Workspace, path: str) -> Artifact | Manifest | None:
    """Return the artifact or manifest at a path, None if there is none. Raise FormatError if it is damaged."""
    stored = load_stored_document(ws.documents.store, path)
    return _check_document(path, stored) if stored else None


def load_readable_document(ws: Workspace, path: str) -> Artifact | Manifest | None:
    """Return the artifact or manifest at a path, None if there is none or it is damaged."""
    with contextlib.suppress(FormatError):
        return load_document(ws, path)
    return None


def load_row(store: Store, path: str) -> tuple[ArtifactRow, Artifact | Manifest] | None:
    """Return the row of the file at a path, and its document. Raise FormatError if it is damaged."""
    stored = load_stored_document(store, path)
    if stored is None:
        return None
    document = _check_document(path, stored)
    return build_row_from_hash(document, stored.sha256, stored.stamp), document


def load_row_of_written(ws: Workspace, artifact: Artifact, turn_texts: TurnTexts | None = None) -> ArtifactRow | None:
    """Return the row of a just written artifact, parsed only if changed; None if gone. Raise FormatError."""
    store = ws.documents.store
    if isinstance(artifact.body, str):
        blob = read_or_none(store, artifact.path)
        if blob is None:
            return None
        if blob.data == serialize_document(artifact):
            return build_row(artifact, blob.data, blob.stamp, turn_texts)
    else:  # a streamed body does not fit into memory: compare hashes
        try:
            with store.open(artifact.path) as stream:
                sha256, stamp = compute_sha256(stream.chunks), stream.stamp
        except MissingError:
            return None
        if sha256 == compute_sha256(iter_chunks(serialize_or_stream(artifact))):
            return build_row_from_hash(artifact, sha256, stamp)
    loaded = load_row(store, artifact.path)
    return loaded[0] if loaded else None


def _check_document(path: str, stored: LoadedDocument) -> Artifact | Manifest:
    if not isinstance(stored.document, Artifact | Manifest):
        raise FormatError(f"{path}: holds a {stored.document.kind}")
    return stored.document
