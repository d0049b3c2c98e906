"""The compactions that a transcript records: kept as if their harness had signalled each. (harnesses.md 14)"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage.core import naming, transcript
from lineage.core.capture import Capture, Compacted
from lineage.core.request import COMPACTION, request
from lineage.core.turns import turn_id
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.compaction import compaction
from lineage.pipeline.house import CAPTURED, House


@dataclass(frozen=True, slots=True)
class Kept:
    """How many compactions were kept now, and how many have no summary that can be read."""

    captured: int = 0
    unsummarized: int = 0


def keep_recorded(house: House, payload: Mapping[str, Any], token: str, capture: Capture, at: str) -> Kept:
    """Keeps each compaction that is the session's own, under the time that it has, else `at`; those that a fork
    inherited are its parent's, and the parent may have been removed. One that is kept already, from its signal, is not
    kept again, should the harness word it otherwise there. `payload` is that of the session's end."""
    first, kept = _first_own(house, token, capture), _kept(house, token)
    own = [compacted for compacted in capture.compactions if compacted.turns_before >= first]
    readable = [compacted for compacted in own if compacted.summary and compacted.summary.strip()]
    statuses = []
    for compacted in readable:
        if _place(house, capture, compacted) in kept:
            continue
        said = {"summary": compacted.summary, "trigger": compacted.trigger, "captured_at": compacted.at or at}
        asked = request(COMPACTION, {**payload, **said}, agent_id=None, now=house.now)
        statuses.append(compaction(house, asked).status)
    return Kept(statuses.count(CAPTURED), len(own) - len(readable))


def _kept(house: House, token: str) -> set[int]:
    """Behind how many turns the session's compactions lie that are kept."""
    paths = (naming.artifact_path(stem, naming.COMPACTION) for stem in sessions.observed(house, token).compactions)
    return {artifact.watermark[0] for path in paths if (artifact := house.canon.artifacts.get(path))}


def _place(house: House, capture: Capture, compacted: Compacted) -> int:
    shown = house.settings.transcript.thinking
    return sum(shown or not turn.thinking for turn in capture.turns[: compacted.turns_before])


def _first_own(house: House, token: str, capture: Capture) -> int:
    """The place of the first turn that is the session's own; behind the last one where it has none."""
    stem = next(iter(sessions.observed(house, token).captures), None)
    if stem is None:
        return len(capture.turns) + 1
    artifact = house.canon.artifacts.get(naming.artifact_path(stem, naming.TRANSCRIPT))
    own = transcript.turn_ids(artifact.body)[:1] if artifact and capture.forked_from else []
    places = (n for n, turn in enumerate(capture.turns) if turn.source_id and turn_id(turn.source_id) in own)
    return next(places, 0)
