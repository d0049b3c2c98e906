"""Sessions that lineage itself resumes or starts in a harness: their target, and their capture at the end.

Hooks do nothing in a process that lineage starts (`LINEAGE_SUPPRESS`): lineage captures these sessions. (format:
Commands)
"""

from dataclasses import dataclass
from pathlib import Path

from lineage.errors import LineageError
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import ADAPTERS
from lineage.harness.programs import get_program
from lineage.harness.spec import SESSION_END
from lineage.pipeline.capture.session import CaptureResult
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, locate_transcript, wait_until_stable
from lineage.pipeline.ingest.worker import capture_session_tree
from lineage.projects import resolve_project
from lineage.telemetry import SeenSession
from lineage.workspace.lookup import resolve_session
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ResumeTarget:
    """A session to resume in its harness. `folder` is its working directory, None if unknown."""

    harness: str
    agent_id: str
    session_id: str
    session_token: str
    folder: str | None = None
    session_key: str | None = None
    lane: str | None = None
    private: bool = False
    transcript_path: str | None = None


def find_resume_target(ws: Workspace, reference: str) -> ResumeTarget:
    """Return the session with this id, key, token or prefix. Raise NotFoundError for none and for several."""
    row = resolve_session(ws, reference)
    seen = next(iter(ws.telemetry.list_seen_sessions(row.session_token)), None)
    stem = ws.documents.claims.get_stem(row.session_token)
    manifest = ws.documents.manifests.get(stem) if stem else None
    return ResumeTarget(
        harness=row.harness,
        agent_id=row.agent_id,
        session_id=row.session_id,
        session_token=row.session_token,
        folder=(seen.cwd if seen else None) or row.project,
        session_key=row.session_key,
        lane=manifest.lane if manifest else None,
        private=row.private,
        transcript_path=seen.transcript_path if seen else None,
    )


def list_harness_sessions(histories: HarnessHistories, harness: str, folder: Path) -> frozenset[SessionLocation]:
    """Return the sessions in a harness's history; the folder's, if the harness keeps its history there."""
    history = get_program(harness).history_file
    if history:
        return frozenset(ADAPTERS[harness].discover(folder / history))
    return frozenset(histories.list_sessions(harness))


def capture_target(ws: Workspace, histories: HarnessHistories, target: ResumeTarget) -> list[CaptureResult]:
    """Capture a resumed session; nothing without a transcript."""
    path = locate_transcript(histories, target.harness, target.session_id, target.transcript_path)
    return [_capture(ws, target, path)] if path else []


def capture_new_sessions(
    ws: Workspace,
    histories: HarnessHistories,
    harness: str,
    agent_id: str,
    folder: Path,
    existing: frozenset[SessionLocation],
) -> list[CaptureResult]:
    """Capture the sessions of a folder that are not in `existing`."""
    results = []
    for location in sorted(list_harness_sessions(histories, harness, folder) - existing):
        if location.parent:  # captured with the session that it works for
            continue
        try:
            capture = ADAPTERS[harness].read(location.path, location.session)
        except LineageError:  # not a transcript after all
            continue
        if capture.project and Path(capture.project).resolve() != folder.resolve():
            continue
        session_id = location.session or capture.session_id or location.path.stem
        target = ResumeTarget(harness, agent_id, session_id, session_token="", folder=str(folder))
        results.append(_capture(ws, target, location.path))
    return results


def _capture(ws: Workspace, target: ResumeTarget, path: Path) -> CaptureResult:
    size = wait_until_stable(path, ws.now)
    payload = {
        "harness": target.harness,
        "agent_id": target.agent_id,
        "session_id": target.session_id,
        "transcript_path": str(path),
        "project": resolve_project(target.folder),
        "private": target.private,
        "reason": "lineage",
        **({"lane": target.lane} if target.lane else {"session_key": target.session_key}),
    }
    result = capture_session_tree(ws, payload, ws.now)
    if not ws.documents.tombstones.has(result.session_token):
        seen = SeenSession(
            harness=target.harness,
            agent_id=target.agent_id,
            session_id=target.session_id,
            session_token=result.session_token,
            transcript_path=str(path),
            cwd=target.folder,
            event=SESSION_END,
            at=ws.now,
            captured_size=size,
            session_key=target.session_key,
            lane=target.lane,
        )
        ws.telemetry.record_event(seen)
        ws.documents.checkpoints.discard(result.session_token)
    return result
