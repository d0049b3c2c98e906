"""Observe → plan → apply: what is still missing of a capture, as data. (architecture: one idea)

`Seen` is what lies there already, `Intent` is what shall be true. `plan` compares them row by row of one table; the
spec's partial-failure states are nothing else than its rows. Running a flow twice, finishing it after a crash at any
point and repairing what a sync half-delivered are the same call.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from lineage.core.base.naming import TRANSCRIPT
from lineage.core.format.documents import Artifact
from lineage.core.format.job import Job


class CaptureStep(Enum):
    """The effects of a flow, in the order of the spec: source of truth first. (spec: write ordering)"""

    SPOOL = "spool"
    CLAIM = "claim"
    TRANSCRIPT = "transcript"
    SUMMARY = "summary"
    COMPACTION = "compaction"
    MANIFEST = "manifest"
    MEMORY = "knowledge"
    PROJECTION = "projection"
    INDEX = "rows"
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


class CaptureState(NamedTuple):
    """What lies there already. `present` are the kinds of the intent's artifacts that exist."""

    is_spooled: bool = False
    is_claimed: bool = False
    existing_kinds: frozenset[str] = frozenset()
    is_in_manifest: bool = False
    is_projected: bool = False
    is_indexed: bool = False
    is_counted: bool = False


_StepCheck = Callable[[Intent, CaptureState], bool]


def _misses_artifact(kind: str) -> _StepCheck:
    return lambda intent, seen: any(a.kind == kind for a in intent.artifacts) and kind not in seen.existing_kinds


_CANONICAL: tuple[tuple[CaptureStep, _StepCheck], ...] = (
    (CaptureStep.CLAIM, lambda _, seen: not seen.is_claimed),
    (CaptureStep.TRANSCRIPT, _misses_artifact(TRANSCRIPT)),
    (CaptureStep.SUMMARY, _misses_artifact("summary")),
    (CaptureStep.COMPACTION, _misses_artifact("compaction")),
    (CaptureStep.MANIFEST, lambda _, seen: not seen.is_in_manifest),
)
_DERIVED: tuple[tuple[CaptureStep, _StepCheck], ...] = (
    (CaptureStep.PROJECTION, lambda _, seen: not seen.is_projected),
    (CaptureStep.INDEX, lambda _, seen: not seen.is_indexed),
    (CaptureStep.TELEMETRY, lambda _, seen: not seen.is_counted),
)


def plan_steps(intent: Intent, state: CaptureState) -> tuple[CaptureStep, ...]:
    """The steps that are missing, in order; empty where nothing is.

    The job is spooled before the first canonical write and cleared after the last step. A canonical write, and a job
    that was left behind, make the projections doubtful: they follow whatever was seen of them. A capture is learned
    from by the run that writes its transcript, or by the one that finds its job: never again for what is missing later.
    """
    canonical = [step for step, missing in _CANONICAL if missing(intent, state)]
    stale = (CaptureStep.PROJECTION, CaptureStep.INDEX) if canonical or state.is_spooled else ()
    is_capture = intent.artifacts[0].kind == TRANSCRIPT
    learned = is_capture and (state.is_spooled or CaptureStep.TRANSCRIPT in canonical)
    derived = [step for step, missing in _DERIVED if missing(intent, state) or step in stale]
    steps = [*canonical, *[CaptureStep.MEMORY] * learned, *derived]
    if steps and not state.is_spooled:
        steps.insert(0, CaptureStep.SPOOL)
    if steps:
        steps.append(CaptureStep.CLEAR)
    return tuple(steps)
