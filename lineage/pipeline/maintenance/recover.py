"""Recovery: what is unfinished is finished, from files alone. (spec: partial-failure states)

A second run changes nothing. No second sentence is ever made: the spool and the artifacts hold the first.
"""

import contextlib
from collections.abc import Iterable
from itertools import groupby

from lineage.core.base import naming
from lineage.core.format.documents import Artifact, Manifest
from lineage.errors import FormatError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.apply import apply_plan
from lineage.pipeline.capture.session import Session
from lineage.pipeline.maintenance.finish_pending import FinishPendingResult, finish_pending
from lineage.pipeline.maintenance.reindex import ReindexReport, reindex
from lineage.workspace.load import load_readable_document
from lineage.workspace.workspace import Workspace


class RecoverResult(FinishPendingResult):
    """What a recovery did besides: `collected` counts files that dead writers left behind, `merged` are sessions whose
    second manifest a sync had brought."""

    def __init__(self, collected: int) -> None:
        super().__init__()
        self.collected = collected
        self.merged: list[str] = []
        self.report = ReindexReport()


def recover(ws: Workspace) -> RecoverResult:
    """Finishes everything: spooled jobs, artifacts that no manifest names, second manifests that a sync brought, lost
    claims, rows and MEMORY.md. It works after every database was deleted."""
    done = RecoverResult(ws.documents.store.collect_garbage())
    finish_pending(ws, done, wait=True)
    for token, names in _group_by_token(ws):
        # what a damaged file keeps from being finished waits for it; the reindex reports the file
        with sessions.session_lock(ws, token), contextlib.suppress(FormatError):
            _finish_session(ws, token, names, done)
    done.report = reindex(ws, confirmed=True)
    return done


def _group_by_token(ws: Workspace) -> Iterable[tuple[str, list[naming.ArtifactName]]]:
    """The files of each session that was not removed, by token."""
    removed = ws.documents.tombstones.list_tokens()
    parsed = (naming.parse_path(entry.key) for entry in ws.documents.store.list(naming.MEMORY))
    names = sorted(
        (name for name in parsed if name and name.token not in removed), key=lambda n: (n.token, n.stem, n.kind)
    )
    return [(token, list(group)) for token, group in groupby(names, key=lambda name: name.token)]


def _finish_session(ws: Workspace, token: str, names: list[naming.ArtifactName], done: RecoverResult) -> None:
    """Claims the session, merges a second manifest, and names what no manifest names."""
    session = _restore_claim(ws, token, names)
    if session.stem is None:
        return
    for name in names:
        if name.kind == naming.MANIFEST and name.stem != session.stem and _merge_manifest(ws, session.stem, name.stem):
            done.merged.append(naming.artifact_path(name.stem, naming.MANIFEST))
    session = sessions.load_session(ws, token)
    named = {naming.TRANSCRIPT: session.captures, naming.COMPACTION: session.compactions}
    summaries = {name.stem for name in names if name.kind == naming.SUMMARY}
    for name in names:
        if name.kind in named and (name.stem not in named[name.kind] or _lacks_summary(name, summaries)):
            artifact = load_readable_document(ws, naming.artifact_path(name.stem, name.kind))
            if isinstance(artifact, Artifact) and apply_plan(ws, sessions.rebuild_intent(ws, artifact, session)).steps:
                done.finished.append(artifact.path)


def _lacks_summary(name: naming.ArtifactName, summaries: set[str]) -> bool:
    return name.kind == naming.TRANSCRIPT and name.stem not in summaries


def _restore_claim(ws: Workspace, token: str, names: list[naming.ArtifactName]) -> Session:
    """The session with its claim: a lost or damaged one is made again, from the oldest manifest or from what an
    artifact says; one that names a younger manifest than the oldest moves to that."""
    claimed = _read_claimed_stem(ws, token)
    oldest_first = sorted(names, key=lambda name: (name.kind != naming.MANIFEST, name.stem))
    documents = (load_readable_document(ws, naming.artifact_path(name.stem, name.kind)) for name in oldest_first)
    oldest = next((document for document in documents if document), None)
    if oldest and (claimed is None or (isinstance(oldest, Manifest) and oldest.stem < claimed)):
        said = naming.parse_path(oldest.manifest_path) if isinstance(oldest, Artifact) else None
        ws.documents.claims.move(oldest.identity, said.stem if said else oldest.stem)
    return sessions.load_session(ws, token)


def _read_claimed_stem(ws: Workspace, token: str) -> str | None:
    with contextlib.suppress(FormatError):
        return ws.documents.claims.get_stem(token)
    return None


def _merge_manifest(ws: Workspace, stem: str, other: str) -> bool:
    """The claimed manifest takes over the captures of another one, which is retired. (format: Identity)"""
    manifest = ws.documents.manifests.get(other)
    if manifest is None or not (manifest.captures or manifest.compactions):
        return False
    captures = [naming.artifact_path(captured, naming.TRANSCRIPT) for captured in manifest.captures]
    compactions = [naming.artifact_path(compacted, naming.COMPACTION) for compacted in manifest.compactions]
    for path in captures + compactions:
        artifact = load_readable_document(ws, path)
        if isinstance(artifact, Artifact):
            ws.documents.manifests.link(stem, (artifact,), ws.new_id(), ws.now)
    ws.documents.manifests.retire(other, stem, ws.new_id(), ws.now)
    return True
