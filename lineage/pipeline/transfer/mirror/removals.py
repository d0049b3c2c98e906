"""A removal on one side of a mirror removes on the other: all that a removal does, from the tombstone."""

from collections.abc import Iterable

from lineage.core.base import naming
from lineage.core.base.identity import DEFAULT_AGENT
from lineage.core.format.documents import Tombstone, parse_document_as
from lineage.core.format.job import REMOVAL, Job
from lineage.documents.bundle_zip import SUFFIX, find_bundles_with_session
from lineage.errors import FormatError
from lineage.pipeline.capture.session import session_lock
from lineage.pipeline.maintenance.reindex import ensure_indexed
from lineage.pipeline.maintenance.remove import finish_removal
from lineage.pipeline.memory.session_entries import find_session_entries
from lineage.pipeline.transfer.mirror.plan import find_owner_tokens
from lineage.store import ExistsError, read_or_none
from lineage.workspace.workspace import Workspace


def parse_removed_tokens(keys: Iterable[str]) -> frozenset[str]:
    """The tokens of removed sessions, as a listing shows them."""
    return frozenset(
        key.removeprefix(naming.TOMBSTONES).removesuffix(".md")
        for key in keys
        if key.startswith(naming.TOMBSTONES) and naming.is_claim_or_tombstone(key)
    )


def propagate_removals(
    side: Workspace, other: Workspace, keys: frozenset[str], removed: frozenset[str]
) -> frozenset[str]:
    """Removes on one side the sessions that are `removed` on either: those whose tombstone it lacks, and those with
    files there still. `keys` is what the side holds. The tokens of both.

    What was cut off is finished by the next command that writes there: its job lies in the spool before anything else.
    """
    fresh = removed - parse_removed_tokens(keys)
    held = frozenset[str]().union(*map(find_owner_tokens, keys)) & removed
    has_bundles = any(key.lower().endswith(SUFFIX) for key in keys)
    for token in sorted(fresh | held):
        with session_lock(side, token):
            job = _build_job(side if token not in fresh else other, token)
            side.documents.spool.put(job)
            _copy_tombstone(other, side, token)
            is_known = token in held or find_session_entries(side, token).count
            if is_known or (has_bundles and any(find_bundles_with_session(side.documents.store, token))):
                ensure_indexed(side)
                finish_removal(side, job)
            else:
                side.documents.spool.clear(job)
    return fresh | held


def _copy_tombstone(source: Workspace, target: Workspace, token: str) -> None:
    path = naming.tombstone_path(token)
    blob = read_or_none(source.documents.store, path)
    if blob:
        try:
            target.documents.store.create(path, blob.data, frozen=True)
        except ExistsError:
            return


def _build_job(ws: Workspace, token: str) -> Job:
    """The removal that a tombstone tells of. A damaged one counts, though it tells nothing."""
    path = naming.tombstone_path(token)
    blob = read_or_none(ws.documents.store, path)
    try:
        found = parse_document_as(Tombstone, blob.data, path) if blob else None
    except FormatError:
        found = None
    payload = {
        "agent_id": found.agent_id if found else DEFAULT_AGENT,
        "reason": found.reason if found else "",
        "removed_paths": found.removed_paths if found else [],
        "removed_turns": found.removed_turns if found else [],
        "imported_from": found.imported_from if found else [],
    }
    at = found.removed_at if found else ws.now
    return Job(flow=REMOVAL, token=token, captured_at=at, sentence="", quality="", payload=payload)
