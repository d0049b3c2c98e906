"""Reading canonical files back as typed documents and rows."""

import contextlib
from typing import TYPE_CHECKING

from lineage import index
from lineage.core.format.documents import Artifact, Manifest, serialize_document, serialize_or_stream
from lineage.documents.load import load_stored_document
from lineage.errors import FormatError
from lineage.store import MissingError, Store, compute_sha256, iter_chunks, read_or_none
from lineage.workspace.workspace import Workspace

if TYPE_CHECKING:
    from lineage.index import ArtifactRow, TurnTexts


def load_document(ws: Workspace, path: str) -> Artifact | Manifest | None:
    """The artifact or manifest at a path, None where there is none. Raises FormatError where it is damaged."""
    found = _load(ws.documents.store, path)
    return found[0] if found else None


def load_readable_document(ws: Workspace, path: str) -> Artifact | Manifest | None:
    """`load_document`, None where the file is damaged or holds something else too: who asks goes on without it."""
    with contextlib.suppress(FormatError):
        return load_document(ws, path)
    return None


def load_row(ws: Workspace, path: str) -> "tuple[ArtifactRow, Artifact | Manifest] | None":
    """The row of what lies at a path now, and the document itself. Raises FormatError where it is damaged."""
    return load_row_from(ws.documents.store, path)


def load_row_from(store: Store, path: str) -> "tuple[ArtifactRow, Artifact | Manifest] | None":
    """`load_row`, for who has no more than the store."""
    found = _load(store, path)
    if found is None:
        return None
    document, sha256, stamp = found
    return index.build_row_from_hash(document, sha256, stamp), document


def load_row_of_written(
    ws: Workspace, artifact: Artifact, turn_texts: "TurnTexts | None" = None
) -> "ArtifactRow | None":
    """The row of an artifact that was written, None where it is gone; `said` as in `build_row`. It is parsed only where
    the file holds something else by now. Raises FormatError where that is damaged."""
    if not isinstance(artifact.body, str):
        return _load_row_of_streamed(ws, artifact)
    blob = read_or_none(ws.documents.store, artifact.path)
    if blob is None:
        return None
    if blob.data == serialize_document(artifact):
        return index.build_row(artifact, blob.data, blob.stamp, turn_texts)
    found = load_row(ws, artifact.path)
    return found[0] if found else None


def _load_row_of_streamed(ws: Workspace, artifact: Artifact) -> "ArtifactRow | None":
    """`load_row_of_written`, with the file gone through and never held."""
    try:
        with ws.documents.store.open(artifact.path) as found:
            sha256, stamp = compute_sha256(found.chunks), found.stamp
    except MissingError:
        return None
    if sha256 == compute_sha256(iter_chunks(serialize_or_stream(artifact))):
        return index.build_row_from_hash(artifact, sha256, stamp)
    other = load_row(ws, artifact.path)
    return other[0] if other else None


def _load(store: Store, path: str) -> tuple[Artifact | Manifest, str, str] | None:
    """What lies at a path, the hash of its file and its stamp."""
    found = load_stored_document(store, path)
    if found is None:
        return None
    if not isinstance(found.document, Artifact | Manifest):
        raise FormatError(f"{path}: holds a {found.document.kind}")
    return found.document, found.sha256, found.stamp
