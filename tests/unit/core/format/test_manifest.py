"""The manifest from one revision to the next: only links are added, whatever the order in which they arrive."""

from collections.abc import Sequence
from itertools import permutations

import pytest

from lineage.core.base import naming
from lineage.core.format import manifest as manifests
from lineage.core.format.documents import Artifact, Manifest, parse_document, serialize_document
from tests.support.parametrize import each
from tests.support.strategies import LATER, LATER_STEM, SESSION, STEM, TIME, make_artifact


def capture(at: str, **values: object) -> tuple[Artifact, Artifact]:
    times = {"captured_at": at, "started_at": at, "ended_at": at, "title": f"Title of {at[:10]}", **values}
    return make_artifact(naming.TRANSCRIPT, **times), make_artifact(naming.SUMMARY, **times)


FIRST = capture(TIME)
SECOND = capture(LATER)
COMPACTIONS = [(make_artifact(naming.COMPACTION, captured_at=at, ended_at=None),) for at in (TIME, LATER)]
ARRIVALS = [FIRST, SECOND, *COMPACTIONS]


def after(arrivals: Sequence[Sequence[Artifact]]) -> Manifest:
    current: Manifest | None = None
    for number, artifacts in enumerate(arrivals, 1):
        current = manifests.link_artifacts(current, STEM, artifacts, f"write-{number}", LATER)
        assert current is not None
        assert current.revision == number
        assert current.write_id == f"write-{number}"
    assert current is not None
    return current


@each("arrivals", list(permutations(ARRIVALS)))
def test_the_order_of_arrival_does_not_matter(arrivals: Sequence[Sequence[Artifact]]) -> None:
    result = after(arrivals)
    assert parse_document(serialize_document(result), result.path) == result
    assert result.stem == STEM
    assert (result.captures, result.compactions) == ([STEM, LATER_STEM], [STEM, LATER_STEM])
    assert result.summary_path == naming.artifact_path(LATER_STEM, naming.SUMMARY)
    assert result.transcript_path == naming.artifact_path(LATER_STEM, naming.TRANSCRIPT)
    assert result.compaction_path == naming.artifact_path(LATER_STEM, naming.COMPACTION)
    assert result.memory_md_refs == ["MEMORY.md#2026-03-28", "MEMORY.md#2026-03-29"]
    assert (result.started_at, result.ended_at) == (TIME, LATER)
    assert result.title == "Title of 2026-03-29"


@pytest.mark.parametrize("again", ARRIVALS, ids=["first", "second", "compaction", "late-compaction"])
def test_what_is_named_already_is_no_new_revision(again: Sequence[Artifact]) -> None:
    assert manifests.link_artifacts(after(ARRIVALS), STEM, again, "write-9", LATER) is None


@pytest.mark.parametrize("compaction", COMPACTIONS)
def test_lesson_5_a_compaction_never_changes_the_sessions_times(compaction: Sequence[Artifact]) -> None:
    before = after([FIRST])
    changed = manifests.link_artifacts(before, STEM, compaction, "write-2", LATER)
    assert changed is not None
    assert (changed.started_at, changed.ended_at, changed.title) == (before.started_at, before.ended_at, before.title)
    assert changed.captures == before.captures


def test_the_first_capture_may_follow_a_compaction_and_gives_the_times() -> None:
    compacted = after(COMPACTIONS[:1])
    assert (compacted.started_at, compacted.ended_at, compacted.captures) == (None, None, [])
    captured = after([COMPACTIONS[0], SECOND])
    assert (captured.started_at, captured.ended_at) == (LATER, LATER)


def test_the_body_links_to_everything_of_the_session() -> None:
    result = after(ARRIVALS)
    for stem in (STEM, LATER_STEM):
        for kind in naming.ARTIFACT_KINDS:
            assert f"[[{naming.artifact_path(stem, kind)}|{kind}]]" in result.body
    assert "[[MEMORY.md#2026-03-29|ledger]]" in result.body


def test_a_title_stays_in_its_line() -> None:
    result = after([capture(TIME, title="a\n## Captures\n- [[x]] <script>")])
    assert "# a ## Captures - \\[\\[x\\]\\] &lt;script>\n" in result.body
    assert result.body.count("\n## Captures\n") == 1


def test_a_row_is_anchored_in_the_ledger_of_its_agent_by_the_day_it_ended() -> None:
    own = make_artifact(agent_id="dev.2", ended_at="2026-03-27T23:00:00.000Z")
    assert manifests.memory_md_anchor(own) == "agents/dev.2/MEMORY.md#2026-03-27"
    assert manifests.memory_md_anchor(make_artifact(ended_at=None)) == "MEMORY.md#2026-03-28"
    assert own.identity != SESSION
