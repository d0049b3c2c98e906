"""The compactions that a transcript records: kept as if their harness had signaled each (harnesses.md 14)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage.core.base import naming
from lineage.core.capture.capture import Capture
from lineage.core.capture.request import COMPACTION, parse_request
from lineage.core.format import transcript
from lineage.core.format.turns import compute_turn_id
from lineage.pipeline.capture.compaction import capture_compaction
from lineage.pipeline.capture.result import CAPTURED
from lineage.pipeline.capture.session import Session, load_session
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RecordedCompactionCounts:
    """The number of compactions kept now, and of those without a readable summary."""

    captured: int = 0
    unsummarized: int = 0


def capture_recorded_compactions(
    ws: Workspace, payload: Mapping[str, Any], token: str, capture: Capture, at: str
) -> RecordedCompactionCounts:
    """Keep each of the session's own compactions, at its recorded time, else at `at` (canonical UTC).

    `payload` is that of the session's end. A compaction that was kept from its signal is not kept again, even if the
    harness words it differently. Those that a fork inherited stay its parent's.
    """
    session = load_session(ws, token)
    paths = (naming.artifact_path(stem, naming.COMPACTION) for stem in session.compactions)
    captured_positions = {artifact.watermark[0] for path in paths if (artifact := ws.documents.artifacts.get(path))}
    first = _find_first_own_turn(ws, session, capture)
    own = [record for record in capture.compactions if record.turns_before >= first]
    readable = [record for record in own if record.summary and record.summary.strip()]
    statuses = []
    for record in readable:
        before = capture.turns[: record.turns_before]
        # Thoughts that the transcript leaves out have no number.
        if sum(ws.settings.transcript.thinking or not turn.thinking for turn in before) in captured_positions:
            continue
        values = {"summary": record.summary, "trigger": record.trigger, "captured_at": record.at or at}
        request = parse_request(COMPACTION, {**payload, **values}, agent_id=None, now=ws.now)
        statuses.append(capture_compaction(ws, request).status)
    return RecordedCompactionCounts(statuses.count(CAPTURED), len(own) - len(readable))


def _find_first_own_turn(ws: Workspace, session: Session, capture: Capture) -> int:
    """Return the position of the session's first own turn; behind the last turn if it has no capture."""
    if not session.captures:
        return len(capture.turns) + 1
    artifact = ws.documents.artifacts.get(naming.artifact_path(session.captures[0], naming.TRANSCRIPT))
    own_ids = transcript.extract_turn_ids(artifact.body)[:1] if artifact and capture.forked_from else []
    ids = (compute_turn_id(turn.source_id) if turn.source_id else None for turn in capture.turns)
    return next((position for position, turn_id in enumerate(ids) if turn_id in own_ids), 0)
