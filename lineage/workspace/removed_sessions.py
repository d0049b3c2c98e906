"""Sessions that other machines removed: with the tombstone their rows and vectors go here (format: Removal)."""

from collections.abc import Collection
from contextlib import ExitStack, suppress

from lineage.core.base import naming
from lineage.errors import FormatError
from lineage.index import vector_search
from lineage.index.vectors import VectorsLost
from lineage.store import BusyError, commit, compute_sha256, read_or_none
from lineage.workspace.lookup import load_row
from lineage.workspace.workspace import Workspace

_LOCK = "forgetting"
_SCRUB_PENDING = "forgetting/begun"


def drop_removed_sessions(ws: Workspace, removed: Collection[str]) -> int:
    """Drop removed sessions' derived data, leave no copy, count the rows. `finish_scrub` mends a cut-off run."""
    if not ws.index.find_indexed_tokens(removed):
        return 0
    private = ws.documents.spool.store
    with private.lock(_LOCK):
        commit(private, _SCRUB_PENDING, b"")  # before the first drop: a crash must not leave readable copies
        ws.documents.context_cache.clear()
        tokens = sorted(ws.index.find_indexed_tokens(removed))  # asked again: another process may have dropped some
        for token in tokens:
            ws.documents.checkpoints.discard(token)
            ws.documents.recall_log.forget([token], ws.index.find_entries_of_session(token))
        dropped = sum(ws.telemetry.forget(token) + ws.index.delete_session(token) for token in tokens)
        scrub_databases(ws)
        private.delete(_SCRUB_PENDING)
    return dropped


def finish_scrub(ws: Workspace) -> None:
    """Scrub after a run of this machine that dropped rows and was cut off. A run at work does it itself."""
    private = ws.documents.spool.store
    if read_or_none(private, _SCRUB_PENDING) is None:
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(private.lock(_LOCK, wait=False))
        except BusyError:
            return
        scrub_databases(ws)
        private.delete(_SCRUB_PENDING)


def scrub_databases(ws: Workspace) -> int:
    """Leave no copy of dropped rows in the databases, and return the number of vectors dropped with them."""
    pruned = prune_vectors(ws)
    scrub_vectors(ws)
    ws.telemetry.scrub()
    ws.index.scrub()
    return pruned


def prune_vectors(ws: Workspace) -> int:
    """Drop vectors of gone or changed passages, and count them. `scrub_vectors` clears their bytes."""
    vectors = ws.vectors
    if vectors is None or not vectors.exists:
        return 0
    try:
        known, current = vectors.load_source_versions(), vector_search.load_source_versions(ws.index)
        kept: dict[str, frozenset[bytes] | None] = {}
        for path in sorted(path for path, version in known.items() if current.get(path) != version):
            texts = vector_search.load_embedding_texts(ws.index, path) if path in current else None
            kept[path] = None if texts is None else frozenset(text.hash for text in texts)
        return vectors.prune(kept)
    except VectorsLost:
        return 0


def scrub_vectors(ws: Workspace) -> None:
    """Overwrite the bytes of dropped vectors."""
    if ws.vectors is not None:
        try:
            ws.vectors.scrub()
        except VectorsLost:
            return  # the file began anew: nothing of it is left to scrub


def unlink_session(ws: Workspace, token: str) -> None:
    """Take a session out of the manifests of others: of its parent, and of those that it came before.

    Rows that differ from their manifests are written, too: a run that was cut off left some.
    """
    indexed = {one.path: one.sha256 for one in ws.index.iter_files()}
    for entry in ws.documents.store.list(naming.MEMORY):
        name = naming.parse_path(entry.key)
        if name is None or name.kind != naming.MANIFEST or name.token == token:
            continue
        blob = read_or_none(ws.documents.store, entry.key)
        with suppress(FormatError):  # a damaged one: `verify` reports it
            is_named = blob is not None and token.encode() in blob.data
            if is_named:
                ws.documents.manifests.unlink(name.stem, token, ws.new_id(), ws.now)
            if is_named or (blob and entry.key in indexed and indexed[entry.key] != compute_sha256([blob.data])):
                row = load_row(ws.documents.store, entry.key)
                ws.index.upsert([row[0]] if row else [])
