"""The planner's table, for every combination of what may lie there already."""

from dataclasses import replace
from itertools import chain, combinations, product

import pytest

from lineage.core.base import naming
from lineage.core.capture.planner import CaptureState, CaptureStep, Intent, plan_steps
from lineage.core.format.job import Job
from tests.support.strategies import STEM, TIME, make_artifact

JOB = Job(flow="f", token="t", captured_at=TIME, sentence="s", quality="ok", payload={})
CAPTURE = Intent(JOB, STEM, (make_artifact(naming.TRANSCRIPT), make_artifact(naming.SUMMARY)))
COMPACTED = Intent(JOB, STEM, (make_artifact(naming.COMPACTION),))
ORDER = list(CaptureStep)
FLAGS = {
    CaptureStep.CLAIM: ("is_claimed",),
    CaptureStep.MANIFEST: ("is_in_manifest",),
    CaptureStep.PUBLISH: ("is_projected", "is_indexed"),
    CaptureStep.TELEMETRY: ("is_counted",),
}
CANONICAL = {
    CaptureStep.CLAIM,
    CaptureStep.TRANSCRIPT,
    CaptureStep.SUMMARY,
    CaptureStep.COMPACTION,
    CaptureStep.MANIFEST,
}


def kinds(intent: Intent) -> list[str]:
    return [item.kind for item in intent.artifacts]


def every_seen(intent: Intent) -> list[CaptureState]:
    subsets = chain.from_iterable(combinations(kinds(intent), size) for size in range(len(intent.artifacts) + 1))
    return [
        CaptureState(spooled, claimed, frozenset(present), listed, projected, indexed, counted)
        for present in subsets
        for spooled, claimed, listed, projected, indexed, counted in product((False, True), repeat=6)
    ]


def missing(intent: Intent, seen: CaptureState) -> set[CaptureStep]:
    """The effects that are not there."""
    flags = {step for step, names in FLAGS.items() if not all(getattr(seen, name) for name in names)}
    return flags | {CaptureStep(kind) for kind in kinds(intent) if kind not in seen.existing_kinds}


def after(seen: CaptureState, step: CaptureStep) -> CaptureState:
    """What is seen when a step has been made."""
    if step in FLAGS:
        return replace(seen, **dict.fromkeys(FLAGS[step], True))
    if step in (CaptureStep.SPOOL, CaptureStep.CLEAR):
        return replace(seen, is_spooled=step is CaptureStep.SPOOL)
    return replace(seen, existing_kinds=seen.existing_kinds | {step.value})


CASES = [(intent, seen) for intent in (CAPTURE, COMPACTED) for seen in every_seen(intent)]


def test_every_combination_is_there() -> None:
    assert len(CASES) == 2**8 + 2**7
    assert len(set(every_seen(CAPTURE))) == 2**8


def test_the_steps_stand_in_the_order_of_the_spec_and_each_once() -> None:
    for intent, seen in CASES:
        steps = plan_steps(intent, seen)
        assert list(steps) == [step for step in ORDER if step in steps], seen


def test_source_of_truth_comes_first() -> None:
    assert [step.value for step in ORDER] == [
        "spool", "claim", "transcript", "summary", "compaction", "manifest", "learn", "publish", "telemetry",
        "clear",
    ]  # fmt: skip


def test_nothing_is_planned_exactly_where_nothing_is_missing_and_no_job_waits() -> None:
    for intent, seen in CASES:
        assert (plan_steps(intent, seen) == ()) == (not missing(intent, seen) and not seen.is_spooled), seen


def test_whatever_is_missing_is_planned_and_nothing_canonical_twice() -> None:
    for intent, seen in CASES:
        steps = set(plan_steps(intent, seen))
        assert missing(intent, seen) <= steps
        assert steps & CANONICAL == missing(intent, seen) & CANONICAL


def test_the_projections_follow_a_canonical_write_and_a_job_that_was_left_behind() -> None:
    for intent, seen in CASES:
        steps, gone = set(plan_steps(intent, seen)), missing(intent, seen)
        stale = bool(gone & CANONICAL) or seen.is_spooled
        assert (CaptureStep.PUBLISH in steps) == (stale or CaptureStep.PUBLISH in gone), seen
        assert (CaptureStep.TELEMETRY in steps) == (CaptureStep.TELEMETRY in gone), seen


def test_a_capture_is_learned_from_where_its_transcript_is_written_or_its_job_waits_and_never_else() -> None:
    for intent, seen in CASES:
        is_due = seen.is_spooled or naming.TRANSCRIPT not in seen.existing_kinds
        assert (CaptureStep.LEARN in plan_steps(intent, seen)) == (intent is CAPTURE and is_due), seen


def test_the_job_is_spooled_before_the_first_write_and_cleared_after_the_last() -> None:
    for intent, seen in CASES:
        steps = plan_steps(intent, seen)
        assert (CaptureStep.SPOOL in steps) == (bool(missing(intent, seen)) and not seen.is_spooled), seen
        assert CaptureStep.SPOOL not in steps[1:]
        assert (CaptureStep.CLEAR in steps) == bool(steps)
        assert CaptureStep.CLEAR not in steps[:-1]


@pytest.mark.parametrize("intent", [CAPTURE, COMPACTED], ids=["capture", "compaction"])
def test_a_run_that_stops_anywhere_is_finished_by_the_next_one(intent: Intent) -> None:
    for start in every_seen(intent):
        steps = plan_steps(intent, start)
        for made in range(len(steps) + 1):
            seen = start
            for step in steps[:made]:
                seen = after(seen, step)
            for step in plan_steps(intent, seen):
                seen = after(seen, step)
            assert missing(intent, seen) == set()
            assert plan_steps(intent, seen) == ()
