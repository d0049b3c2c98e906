"""Recovery finishes interrupted work from files alone (spec: partial-failure states).

A second run changes nothing. A session keeps its first sentence: the spool and the artifacts hold it.
"""

import contextlib
from itertools import groupby

from lineage.core.base import naming
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.manifest import list_capture_paths
from lineage.errors import FormatError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.apply import apply_plan
from lineage.pipeline.capture.session import Session
from lineage.pipeline.maintenance.finish_pending import FinishPendingResult, finish_pending
from lineage.pipeline.maintenance.reindex import ReindexReport, reindex
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.workspace import Workspace


class RecoverResult(FinishPendingResult):
    """`collected` counts the files of dead writers, `merged` are second manifests merged into the claimed one."""

    def __init__(self, collected: int) -> None:
        super().__init__()
        self.collected = collected
        self.merged: list[str] = []
        self.report = ReindexReport()


def recover(ws: Workspace) -> RecoverResult:
    """Finish spooled jobs, unnamed artifacts, second manifests, claims, rows, MEMORY.md; without the databases too."""
    result = RecoverResult(ws.documents.store.collect_garbage())
    finish_pending(ws, result, wait=True)
    removed = ws.documents.tombstones.list_tokens()
    parsed = (naming.parse_path(entry.key) for entry in ws.documents.store.list(naming.MEMORY))
    present = (name for name in parsed if name and name.token not in removed)
    names = sorted(present, key=lambda name: (name.token, name.stem, name.kind))
    for token, group in groupby(names, key=lambda name: name.token):
        # a session with a damaged file waits for its repair; the reindex reports the file
        with sessions.session_lock(ws, token), contextlib.suppress(FormatError):
            _finish_session(ws, token, list(group), result)
    # confirmed: a recovery takes the files as they are, also after a loss
    result.report = reindex(ws, confirmed=True)
    return result


def _finish_session(ws: Workspace, token: str, names: list[naming.ArtifactName], result: RecoverResult) -> None:
    """Claim the session, merge second manifests, and finish the artifacts in no manifest."""
    session = _restore_claim(ws, token, names)
    if session.stem is None:
        return
    for name in names:
        if name.kind == naming.MANIFEST and name.stem != session.stem and _merge_manifest(ws, session.stem, name.stem):
            result.merged.append(naming.artifact_path(name.stem, naming.MANIFEST))
    session = sessions.load_session(ws, token)
    stems = {naming.TRANSCRIPT: session.captures, naming.COMPACTION: session.compactions}
    summaries = {name.stem for name in names if name.kind == naming.SUMMARY}
    for name in names:
        lacks_summary = name.kind == naming.TRANSCRIPT and name.stem not in summaries
        if name.kind in stems and (name.stem not in stems[name.kind] or lacks_summary):
            artifact = load_readable_document(ws, naming.artifact_path(name.stem, name.kind))
            if isinstance(artifact, Artifact) and apply_plan(ws, sessions.rebuild_intent(ws, artifact, session)).steps:
                result.finished.append(artifact.path)


def _restore_claim(ws: Workspace, token: str, names: list[naming.ArtifactName]) -> Session:
    """Return the session, claimed for its oldest manifest, or without one for an artifact."""
    claimed = None
    with contextlib.suppress(FormatError):
        claimed = ws.documents.claims.get_stem(token)
    # the oldest manifest decides the claim; artifacts count only without one
    oldest_first = sorted(names, key=lambda name: (name.kind != naming.MANIFEST, name.stem))
    documents = (load_readable_document(ws, naming.artifact_path(name.stem, name.kind)) for name in oldest_first)
    oldest = next((document for document in documents if document), None)
    if oldest and (claimed is None or (isinstance(oldest, Manifest) and oldest.stem < claimed)):
        name = naming.parse_path(oldest.manifest_path) if isinstance(oldest, Artifact) else None
        ws.documents.claims.move(oldest.identity, name.stem if name else oldest.stem)
    return sessions.load_session(ws, token)


def _merge_manifest(ws: Workspace, stem: str, other: str) -> bool:
    """Link the captures of another manifest into the claimed one, and retire the other unless it names nothing."""
    manifest = ws.documents.manifests.get(other)
    if manifest is None or not (manifest.captures or manifest.compactions):
        return False
    for path in list_capture_paths(manifest):
        artifact = load_readable_document(ws, path)
        if isinstance(artifact, Artifact):
            ws.documents.manifests.link(stem, (artifact,), ws.new_id(), ws.now)
    ws.documents.manifests.retire(other, stem, ws.new_id(), ws.now)
    return True
