"""Observe → plan → apply: what is still missing of a capture, as data. (architecture: one idea)

`Seen` is what lies there already, `Intent` is what shall be true. `plan` compares them row by row of one table; the
spec's partial-failure states are nothing else than its rows. Running a flow twice, finishing it after a crash at any
point and repairing what a sync half-delivered are the same call.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from lineage.core.documents import Artifact
from lineage.core.job import Job
from lineage.core.naming import TRANSCRIPT


class Step(Enum):
    """The effects of a flow, in the order of the spec: source of truth first. (spec: write ordering)"""

    SPOOL = "spool"
    CLAIM = "claim"
    TRANSCRIPT = "transcript"
    SUMMARY = "summary"
    COMPACTION = "compaction"
    MANIFEST = "manifest"
    KNOWLEDGE = "knowledge"
    PROJECTION = "projection"
    ROWS = "rows"
    TELEMETRY = "telemetry"
    CLEAR = "clear"


class Intent(NamedTuple):
    """What shall be true of one capture (transcript and summary) or one compaction when the run is over.

    `stem` is the session's claimed stem, where its manifest lies. `is_first` says that nothing of the session lies
    there yet.
    """

    job: Job
    stem: str
    artifacts: tuple[Artifact, ...]
    is_first: bool = False


class Seen(NamedTuple):
    """What lies there already. `present` are the kinds of the intent's artifacts that exist."""

    spooled: bool = False
    claimed: bool = False
    present: frozenset[str] = frozenset()
    listed: bool = False
    projected: bool = False
    indexed: bool = False
    counted: bool = False


_Missing = Callable[[Intent, Seen], bool]


def _artifact_missing(kind: str) -> _Missing:
    return lambda intent, seen: any(a.kind == kind for a in intent.artifacts) and kind not in seen.present


_CANONICAL: tuple[tuple[Step, _Missing], ...] = (
    (Step.CLAIM, lambda _, seen: not seen.claimed),
    (Step.TRANSCRIPT, _artifact_missing(TRANSCRIPT)),
    (Step.SUMMARY, _artifact_missing("summary")),
    (Step.COMPACTION, _artifact_missing("compaction")),
    (Step.MANIFEST, lambda _, seen: not seen.listed),
)
_DERIVED: tuple[tuple[Step, _Missing], ...] = (
    (Step.PROJECTION, lambda _, seen: not seen.projected),
    (Step.ROWS, lambda _, seen: not seen.indexed),
    (Step.TELEMETRY, lambda _, seen: not seen.counted),
)


def plan(intent: Intent, seen: Seen) -> tuple[Step, ...]:
    """The steps that are missing, in order; empty where nothing is.

    The job is spooled before the first canonical write and cleared after the last step. A canonical write, and a job
    that was left behind, make the projections doubtful: they follow whatever was seen of them. A capture is learned
    from by the run that writes its transcript, or by the one that finds its job: never again for what is missing later.
    """
    canonical = [step for step, missing in _CANONICAL if missing(intent, seen)]
    stale = (Step.PROJECTION, Step.ROWS) if canonical or seen.spooled else ()
    is_capture = intent.artifacts[0].kind == TRANSCRIPT
    learned = is_capture and (seen.spooled or Step.TRANSCRIPT in canonical)
    derived = [step for step, missing in _DERIVED if missing(intent, seen) or step in stale]
    steps = [*canonical, *[Step.KNOWLEDGE] * learned, *derived]
    if steps and not seen.spooled:
        steps.insert(0, Step.SPOOL)
    if steps:
        steps.append(Step.CLEAR)
    return tuple(steps)
