"""The sweep: capture sessions that ended without an event, or grew since their capture (harnesses.md 0.2)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.base.times import from_epoch, shift_time
from lineage.errors import DatabaseDamaged
from lineage.harness.projects import resolve_project
from lineage.pipeline.capture.result import CAPTURED
from lineage.pipeline.ingest.checkpoints import offer_checkpoints
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, locate_transcript
from lineage.pipeline.ingest.wait_until_stable import read_file_size
from lineage.pipeline.ingest.worker import capture_session_tree, describe_error
from lineage.telemetry import SeenSession
from lineage.workspace.stale_index import find_outage
from lineage.workspace.workspace import Workspace

IDLE_MINUTES = 10
_NOT_YET = "9999"


@dataclass(slots=True)
class SweepResult:
    """`captured` tokens, `failed` (session, reason), counts; `waiting` are in use, `gone` have no transcript."""

    captured: list[str] = field(default_factory=list)
    unchanged: int = 0
    waiting: int = 0
    gone: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)


def sweep(ws: Workspace, histories: HarnessHistories, *, idle_minutes: int = IDLE_MINUTES) -> SweepResult:
    """Capture the sessions of hooks that grew since their capture, unless written to in the last `idle_minutes`."""
    done = SweepResult()
    if outage := find_outage(ws):
        done.failed.append(("what hooks told of", outage))
        return done
    quiet_since = shift_time(ws.now, milliseconds=-60_000 * idle_minutes)
    for seen in ws.telemetry.list_seen_sessions():
        path = locate_transcript(histories, seen.harness, seen.session_id, seen.transcript_path)
        size = read_file_size(path) if path else None
        if path is None or size is None:
            done.gone += 1
        elif size == seen.captured_size:
            done.unchanged += 1
        elif _read_mtime(path) > quiet_since:
            done.waiting += 1
        else:
            _capture_session(ws, seen, path, size, done)
    if done.captured:
        offer_checkpoints(ws)
    return done


def _capture_session(ws: Workspace, seen: SeenSession, path: Path, size: int, done: SweepResult) -> None:
    payload: dict[str, Any] = {
        "harness": seen.harness,
        "agent_id": seen.agent_id,
        "session_id": seen.session_id,
        "session_key": seen.session_key,
        "lane": seen.lane,
        "transcript_path": str(path),
        "reason": "sweep",
        "project": resolve_project(seen.cwd),
    }
    try:
        result = capture_session_tree(ws, payload, ws.now)
    except DatabaseDamaged:
        raise
    except Exception as error:  # noqa: BLE001  (a bug must not keep the other sessions from capture)
        done.failed.append((seen.session_id, describe_error(error)))
        return
    # The size from before the capture: if the file grew meanwhile, the next sweep sees a difference.
    ws.telemetry.record_captured_size(seen, size)
    if result.status == CAPTURED:
        done.captured.append(result.session_token)
    else:
        done.unchanged += 1


def _read_mtime(path: Path) -> str:
    try:
        return from_epoch(path.stat().st_mtime)
    except FileNotFoundError:  # deleted just now: the next sweep counts it
        return _NOT_YET
