"""The compactions that a transcript records: kept as if their harness had signalled each. (harnesses.md 14)"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage.core.base import naming
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.capture.request import COMPACTION, parse_request
from lineage.core.format import transcript
from lineage.core.format.turns import compute_turn_id
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.compaction import capture_compaction
from lineage.pipeline.capture.result import CAPTURED
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RecordedCompactionCounts:
    """How many compactions were kept now, and how many have no summary that can be read."""

    captured: int = 0
    unsummarized: int = 0


def capture_recorded_compactions(
    ws: Workspace, payload: Mapping[str, Any], token: str, capture: Capture, at: str
) -> RecordedCompactionCounts:
    """Keeps each compaction that is the session's own, under the time that it has, else `at`; those that a fork
    inherited are its parent's, and the parent may have been removed. One that is kept already, from its signal, is not
    kept again, should the harness word it otherwise there. `payload` is that of the session's end."""
    first, kept = _find_first_own_turn(ws, token, capture), _find_captured_positions(ws, token)
    own = [compacted for compacted in capture.compactions if compacted.turns_before >= first]
    readable = [compacted for compacted in own if compacted.summary and compacted.summary.strip()]
    statuses = []
    for compacted in readable:
        if _count_turns_before(ws, capture, compacted) in kept:
            continue
        said = {"summary": compacted.summary, "trigger": compacted.trigger, "captured_at": compacted.at or at}
        asked = parse_request(COMPACTION, {**payload, **said}, agent_id=None, now=ws.now)
        statuses.append(capture_compaction(ws, asked).status)
    return RecordedCompactionCounts(statuses.count(CAPTURED), len(own) - len(readable))


def _find_captured_positions(ws: Workspace, token: str) -> set[int]:
    """Behind how many turns the session's compactions lie that are kept."""
    paths = (naming.artifact_path(stem, naming.COMPACTION) for stem in sessions.load_session(ws, token).compactions)
    return {artifact.watermark[0] for path in paths if (artifact := ws.documents.artifacts.get(path))}


def _count_turns_before(ws: Workspace, capture: Capture, compacted: CompactionRecord) -> int:
    shown = ws.settings.transcript.thinking
    return sum(shown or not turn.thinking for turn in capture.turns[: compacted.turns_before])


def _find_first_own_turn(ws: Workspace, token: str, capture: Capture) -> int:
    """The place of the first turn that is the session's own; behind the last one where it has none."""
    stem = next(iter(sessions.load_session(ws, token).captures), None)
    if stem is None:
        return len(capture.turns) + 1
    artifact = ws.documents.artifacts.get(naming.artifact_path(stem, naming.TRANSCRIPT))
    own = transcript.extract_turn_ids(artifact.body)[:1] if artifact and capture.forked_from else []
    places = (n for n, turn in enumerate(capture.turns) if turn.source_id and compute_turn_id(turn.source_id) in own)
    return next(places, 0)
