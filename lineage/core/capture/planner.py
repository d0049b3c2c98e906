"""Observe → plan → apply: the missing steps of a capture, as data (architecture: one idea).

`CaptureState` describes the files and rows of a capture today, `Intent` describes them after the run. `plan_steps`
compares the two. A first run, a second run, recovery after a crash at any point and the repair of a half-delivered
sync are the same call; the spec's partial-failure states are combinations of missing steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from lineage.core.base import naming
from lineage.core.format.documents import Artifact
from lineage.core.format.job import Job


class CaptureStep(Enum):
    """A step of a flow, in the order of the spec: source of truth first (spec: write ordering)."""

    SPOOL = "spool"
    CLAIM = "claim"
    TRANSCRIPT = naming.TRANSCRIPT
    SUMMARY = naming.SUMMARY
    COMPACTION = naming.COMPACTION
    MANIFEST = "manifest"
    LEARN = "learn"
    PUBLISH = "publish"
    TELEMETRY = "telemetry"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class Intent:
    """A wanted capture or compaction, its claimed stem, and whether the session has no file yet."""

    job: Job
    stem: str
    artifacts: tuple[Artifact, ...]
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class CaptureState:
    """The state of an intent today. `existing_kinds` are the kinds of its artifacts that exist."""

    is_spooled: bool = False
    is_claimed: bool = False
    existing_kinds: frozenset[str] = frozenset()
    is_in_manifest: bool = False
    is_projected: bool = False
    is_indexed: bool = False
    is_counted: bool = False


_StepCheck = Callable[[Intent, CaptureState], bool]


def _lacks_artifact(kind: str) -> _StepCheck:
    return lambda intent, state: any(a.kind == kind for a in intent.artifacts) and kind not in state.existing_kinds


_CANONICAL: tuple[tuple[CaptureStep, _StepCheck], ...] = (
    (CaptureStep.CLAIM, lambda _, state: not state.is_claimed),
    (CaptureStep.TRANSCRIPT, _lacks_artifact(naming.TRANSCRIPT)),
    (CaptureStep.SUMMARY, _lacks_artifact(naming.SUMMARY)),
    (CaptureStep.COMPACTION, _lacks_artifact(naming.COMPACTION)),
    (CaptureStep.MANIFEST, lambda _, state: not state.is_in_manifest),
)


def plan_steps(intent: Intent, state: CaptureState) -> tuple[CaptureStep, ...]:
    """Return the missing steps in order, spooling first and clearing last; none if the intent is true."""
    canonical = [step for step, is_missing in _CANONICAL if is_missing(intent, state)]
    steps = list(canonical)
    # Learn once: in the run that writes the transcript or finds its job, not again when rows are repaired later.
    if intent.artifacts[0].kind == naming.TRANSCRIPT and (state.is_spooled or CaptureStep.TRANSCRIPT in canonical):
        steps.append(CaptureStep.LEARN)
    # After a canonical write or a crash MEMORY.md and the rows are in doubt, even if they name the capture.
    if canonical or state.is_spooled or not (state.is_projected and state.is_indexed):
        steps.append(CaptureStep.PUBLISH)
    if not state.is_counted:
        steps.append(CaptureStep.TELEMETRY)
    if not steps:
        return ()
    return (*([] if state.is_spooled else [CaptureStep.SPOOL]), *steps, CaptureStep.CLEAR)
