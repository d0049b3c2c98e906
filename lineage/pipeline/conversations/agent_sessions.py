"""Sessions that lineage has a harness go on with, or begin: where they are, and their capture when they end.

Hooks do nothing in a process that lineage starts (`LINEAGE_SUPPRESS`), so lineage captures what comes of it itself.
(format: Commands)
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage.errors import LineageError
from lineage.harness import ADAPTERS, SessionLocation
from lineage.harness.hook_payload import SESSION_END
from lineage.harness.programs import get_program
from lineage.harness.projects import resolve_project
from lineage.pipeline.capture.result import CaptureResult
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, locate_transcript
from lineage.pipeline.ingest.wait_until_stable import wait_until_stable
from lineage.pipeline.ingest.worker import capture_session_tree
from lineage.telemetry import SeenSession
from lineage.workspace.lookup import resolve_session
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ResumeTarget:
    """A session that a harness is asked to go on with. `folder`: where it ran, None where nobody said so."""

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
    """The session that an id, key, token or a prefix of one names. Raises NotFoundError for none and for many."""
    row = resolve_session(ws, reference)
    seen = next((seen for seen in ws.telemetry.list_seen_sessions() if seen.session_token == row.session_token), None)
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
    """The sessions that a harness keeps, or of the folder where it keeps them there."""
    history = get_program(harness).history_file
    if history:
        return frozenset(ADAPTERS[harness].discover(folder / history))
    return frozenset(histories.list_sessions(harness))


def capture_target(ws: Workspace, histories: HarnessHistories, target: ResumeTarget) -> list[CaptureResult]:
    """Captures what a session has become; nothing where its transcript is not found."""
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
    """Captures the sessions of a folder that a harness did not keep before."""
    outcomes = []
    for found in sorted(list_harness_sessions(histories, harness, folder) - existing):
        try:
            capture = ADAPTERS[harness].read(found.path, found.session)
        except LineageError:  # not a transcript, whatever its name: the sweep's business, if anybody's
            continue
        if capture.project and Path(capture.project).resolve() != folder.resolve():
            continue
        session = found.session or capture.session_id or found.path.stem
        begun = ResumeTarget(harness, agent_id, session, "", str(folder))
        outcomes.append(_capture(ws, begun, found.path))
    return outcomes


def _capture(ws: Workspace, target: ResumeTarget, path: Path) -> CaptureResult:
    size = wait_until_stable(path, ws.now)
    outcome = capture_session_tree(ws, _build_payload(target, path), ws.now)
    if not ws.documents.tombstones.has(outcome.session_token):
        ws.telemetry.record_event(_build_seen_session(ws, target, path, outcome.session_token, size))
        ws.documents.checkpoints.discard(outcome.session_token)
    return outcome


def _build_payload(target: ResumeTarget, path: Path) -> dict[str, Any]:
    key = {"lane": target.lane} if target.lane else {"session_key": target.session_key}
    return {
        "harness": target.harness,
        "agent_id": target.agent_id,
        "session_id": target.session_id,
        "transcript_path": str(path),
        "project": resolve_project(target.folder),
        "private": target.private,
        "reason": "lineage",
        **key,
    }


def _build_seen_session(ws: Workspace, target: ResumeTarget, path: Path, token: str, size: int | None) -> SeenSession:
    return SeenSession(
        harness=target.harness,
        agent_id=target.agent_id,
        session_id=target.session_id,
        session_token=token,
        transcript_path=str(path),
        cwd=target.folder,
        event=SESSION_END,
        at=ws.now,
        captured_size=size,
        session_key=target.session_key,
        lane=target.lane,
    )
