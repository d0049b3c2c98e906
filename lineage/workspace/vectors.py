"""Removal of vectors: what the index no longer holds must leave no vector behind."""

from lineage.index import vector_search
from lineage.index.vectors import VectorsLost
from lineage.workspace.workspace import Workspace


def prune_vectors(ws: Workspace) -> int:
    """Drop vectors of gone or changed passages, and count them. `scrub_vectors` clears their bytes."""
    vectors = ws.vectors
    if vectors is None or not vectors.exists:
        return 0
    try:
        known, current = vectors.load_source_versions(), vector_search.load_source_versions(ws.index)
        stale = sorted(path for path, version in known.items() if current.get(path) != version)
        return vectors.prune({path: _text_hashes(ws, path) if path in current else None for path in stale})
    except VectorsLost:
        return 0


def scrub_vectors(ws: Workspace) -> None:
    """Overwrite the bytes of dropped vectors."""
    if ws.vectors is not None:
        try:
            ws.vectors.scrub()
        except VectorsLost:
            return  # the file began anew: nothing of it is left to scrub


def _text_hashes(ws: Workspace, path: str) -> frozenset[bytes]:
    return frozenset(text.hash for text in vector_search.load_embedding_texts(ws.index, path))
