"""Removals travel across a mirror: a tombstone on one side removes the session on the other."""

from collections.abc import Iterable
from contextlib import suppress

from lineage.core.base import naming
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.format.documents import Tombstone, parse_document_as
from lineage.core.format.job import Job
from lineage.documents.bundle_zip import SUFFIX, find_bundles_with_session
from lineage.errors import FormatError
from lineage.pipeline.capture.session import session_lock
from lineage.pipeline.maintenance.reindex import ensure_indexed
from lineage.pipeline.maintenance.remove import build_removal_job, finish_removal
from lineage.pipeline.memory.session_entries import find_session_entries
from lineage.pipeline.transfer.mirror.plan import find_owner_tokens
from lineage.store import ExistsError, read_or_none
from lineage.workspace.workspace import Workspace


def parse_removed_tokens(keys: Iterable[str]) -> frozenset[str]:
    """Return the tokens of the removed sessions in a listing."""
    return frozenset(
        key.removeprefix(naming.TOMBSTONES).removesuffix(".md")
        for key in keys
        if key.startswith(naming.TOMBSTONES) and naming.is_claim_or_tombstone(key)
    )


def propagate_removals(
    side: Workspace, other: Workspace, keys: frozenset[str], removed: frozenset[str]
) -> frozenset[str]:
    """Remove the sessions in `removed` from one side: those without a tombstone there, and those with files.

    `keys` are the side's. Returns the tokens of both. The next command that writes there finishes an interrupted
    removal: its job lies in the spool first.
    """
    new = removed - parse_removed_tokens(keys)
    present = frozenset[str]().union(*map(find_owner_tokens, keys)) & removed
    has_bundles = any(key.lower().endswith(SUFFIX) for key in keys)
    for token in sorted(new | present):
        with session_lock(side, token):
            job = _build_job(other if token in new else side, token)
            side.documents.spool.put(job)  # before the tombstone: with that, the next round looks for files only
            path = naming.tombstone_path(token)
            if tombstone := read_or_none(other.documents.store, path):
                with suppress(ExistsError):  # removed on both sides; `merge_versions` joins the tombstones
                    side.documents.store.create(path, tombstone.data, frozen=True)
            has_text = token in present or find_session_entries(side, token).count
            if has_text or (has_bundles and any(find_bundles_with_session(side.documents.store, token))):
                ensure_indexed(side)
                finish_removal(side, job)
            else:
                side.documents.spool.clear(job)
    return new | present


def _build_job(ws: Workspace, token: str) -> Job:
    """Return the job of the removal that a tombstone records. A damaged tombstone removes too."""
    path = naming.tombstone_path(token)
    tombstone = Tombstone(
        "tombstone", DEFAULT_AGENT, token, removed_at=ws.now, reason="", removed_paths=[], removed_turns=[]
    )
    if blob := read_or_none(ws.documents.store, path):
        with suppress(FormatError):
            tombstone = parse_document_as(Tombstone, blob.data, path)
    return build_removal_job(tombstone)
