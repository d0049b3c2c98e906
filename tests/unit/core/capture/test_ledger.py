"""The ledger: the window of thirty days by end, both included; an entry a capture, ordered by the artifacts alone."""

from itertools import permutations

import pytest

from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.capture.ledger import Window, build_entries, build_head, compute_membership, is_visible
from tests.support.parametrize import each
from tests.support.strategies import LATER, LATER_STEM, STEM, TIME, make_artifact, make_manifest

EARLIER = "2026-03-27T00:00:00.000Z"
CAPTURED = [
    build_head(make_artifact(naming.TRANSCRIPT)),
    build_head(make_artifact(naming.SUMMARY)),
    build_head(make_artifact(naming.TRANSCRIPT, captured_at=LATER, ended_at=None)),
    build_head(make_artifact(naming.SUMMARY, captured_at=LATER, ended_at=None)),
]
COMPACTED = [build_head(make_artifact(naming.COMPACTION, captured_at=at, ended_at=None)) for at in (EARLIER, TIME)]
MANIFEST = (naming.artifact_path(STEM, naming.MANIFEST), "manifest")
NOW = "2026-03-31T10:00:00.000Z"


def test_both_ends_belong_to_the_window_and_a_millisecond_beyond_does_not() -> None:
    window = Window.from_end(NOW)
    for end in (shift_time(NOW, days=-30), NOW):
        assert window.contains(end)
    assert not window.contains(shift_time(NOW, days=-30, milliseconds=-1))
    assert not window.contains(shift_time(NOW, milliseconds=1))


def test_a_session_belongs_to_its_end_and_to_its_capture_only_where_that_is_unknown() -> None:
    assert compute_membership("2026-03-01T00:00:00.000Z", NOW) == "2026-03-01T00:00:00.000Z"
    assert compute_membership(None, NOW) == NOW


@each("heads", list(permutations([*CAPTURED, COMPACTED[0]])))
def test_every_capture_has_one_entry_newest_first_whatever_the_order(heads: tuple[object, ...]) -> None:
    found = build_entries(heads)  # type: ignore[arg-type]
    assert [entry.stem for entry in found] == [LATER_STEM, STEM]
    assert [entry.membership for entry in found] == [LATER, TIME]
    assert found[1].links == (
        (naming.artifact_path(STEM, naming.SUMMARY), "summary"),
        (naming.artifact_path(STEM, naming.TRANSCRIPT), "transcript"),
        MANIFEST,
    )


@pytest.mark.parametrize("heads", list(permutations(COMPACTED)))
def test_a_session_that_was_only_compacted_has_its_newest_compactions_entry(heads: tuple[object, ...]) -> None:
    (entry,) = build_entries(heads)  # type: ignore[arg-type]
    assert entry.stem == STEM
    assert entry.links == ((naming.artifact_path(STEM, naming.COMPACTION), "compaction"), MANIFEST)


def test_a_capture_whose_summary_is_still_missing_shows_its_transcript() -> None:
    (entry,) = build_entries(CAPTURED[:1])
    assert [label for _, label in entry.links] == ["transcript", "manifest"]


def test_trials_are_not_visible() -> None:
    assert is_visible(make_artifact())
    assert is_visible(make_manifest())
    assert not is_visible(make_artifact(project="/tmp/x"))
    assert not is_visible(make_artifact(project=None, session_id="test-1"))
