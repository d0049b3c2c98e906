"""The links of captured sessions' manifests, found again: sessions are not always captured in their order."""

from lineage.core.base import naming
from lineage.pipeline.capture.session import session_lock
from lineage.workspace.lookup import load_row
from lineage.workspace.session_notes import find_session_links
from lineage.workspace.workspace import Workspace, tolerate_outage


def link_session(ws: Workspace, token: str) -> bool:
    """Find a session's links to its project and to earlier sessions anew. Return whether they changed."""
    stem = ws.documents.claims.get_stem(token)
    if stem is None or not upgrade_manifest(ws, token, stem):
        return False
    with tolerate_outage(ws):
        row = load_row(ws.documents.store, naming.artifact_path(stem, naming.MANIFEST))
        ws.index.upsert([row[0]] if row else [])
    return True


def upgrade_manifest(ws: Workspace, token: str, stem: str, *, dry_run: bool = False) -> bool:
    """Bring a manifest to today's format and links. Return whether it had others. Raises FormatError if damaged."""
    with session_lock(ws, token):
        manifest = ws.documents.manifests.get(stem)
        if manifest is None:
            return False
        links = find_session_links(ws, manifest, stem, claim=not dry_run)
        return ws.documents.manifests.upgrade(stem, links, ws.new_id(), ws.now, dry_run=dry_run)
