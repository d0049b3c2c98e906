"""Reading canonical files back as typed documents and rows."""

import contextlib
from typing import TYPE_CHECKING

from lineage import index
from lineage.canon.archived_store import loaded
from lineage.core import naming
from lineage.core.documents import Artifact, Manifest, contents, serialized
from lineage.errors import FormatError
from lineage.pipeline.house import House
from lineage.store import MissingError, Store, digest_of, pieces_of, read_or_none

if TYPE_CHECKING:
    from lineage.index import Row, Said


def document_at(house: House, path: str) -> Artifact | Manifest | None:
    """The artifact or manifest at a path, None where there is none. Raises FormatError where it is damaged."""
    found = _read(house.canon.store, path)
    return found[0] if found else None


def readable_at(house: House, path: str) -> Artifact | Manifest | None:
    """`document_at`, None where the file is damaged or holds something else too: who asks goes on without it."""
    with contextlib.suppress(FormatError):
        return document_at(house, path)
    return None


def row_at(house: House, path: str) -> "tuple[Row, Artifact | Manifest] | None":
    """The row of what lies at a path now, and the document itself. Raises FormatError where it is damaged."""
    return row_in(house.canon.store, path)


def row_in(store: Store, path: str) -> "tuple[Row, Artifact | Manifest] | None":
    """`row_at`, for who has no more than the store."""
    found = _read(store, path)
    if found is None:
        return None
    document, sha256, stamp = found
    return index.row_with(document, sha256, stamp), document


def row_of_written(house: House, artifact: Artifact, said: "Said | None" = None) -> "Row | None":
    """The row of an artifact that was written, None where it is gone; `said` as in `row_of`. It is parsed only where
    the file holds something else by now. Raises FormatError where that is damaged."""
    if not isinstance(artifact.body, str):
        return _row_of_long(house, artifact)
    blob = read_or_none(house.canon.store, artifact.path)
    if blob is None:
        return None
    if blob.data == serialized(artifact):
        return index.row_of(artifact, blob.data, blob.stamp, said)
    found = row_at(house, artifact.path)
    return found[0] if found else None


def _row_of_long(house: House, artifact: Artifact) -> "Row | None":
    """`row_of_written`, with the file gone through and never held."""
    try:
        with house.canon.store.opened(artifact.path) as found:
            sha256, stamp = digest_of(found.pieces), found.stamp
    except MissingError:
        return None
    if sha256 == digest_of(pieces_of(contents(artifact))):
        return index.row_with(artifact, sha256, stamp)
    other = row_at(house, artifact.path)
    return other[0] if other else None


def _read(store: Store, path: str) -> tuple[Artifact | Manifest, str, str] | None:
    """What lies at a path, the hash of its file and its stamp."""
    found = loaded(store, path)
    if found is None:
        return None
    if not isinstance(found.document, Artifact | Manifest):
        raise FormatError(f"{path}: holds a {found.document.kind}")
    return found.document, found.sha256, found.stamp


def named_by(manifest: Manifest) -> list[str]:
    """The path of every artifact that a manifest names."""
    newest = (manifest.summary_path, manifest.transcript_path, manifest.compaction_path)
    captures = [
        naming.artifact_path(stem, kind) for stem in manifest.captures for kind in (naming.TRANSCRIPT, naming.SUMMARY)
    ]
    compactions = [naming.artifact_path(stem, naming.COMPACTION) for stem in manifest.compactions]
    return sorted({*captures, *compactions, *(path for path in newest if path)})
