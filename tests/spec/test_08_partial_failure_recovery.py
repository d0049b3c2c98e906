"""Spec, test 8: every partial-failure state is recovered, by `recover` and by the next writing command.

Fails without the rows of `_CANONICAL` and `_DERIVED` in core/planner.py, without `resume` in `_run` of app (or of
`recover`), without `carry_out` in `_finish_session` of pipeline/upkeep/recovery.py (`.lineage/` deleted), when
`_intent` of a flow asks for a sentence although a job holds one, and when anything is written that is there already.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.pipeline.capture import compaction as compaction_flow
from lineage.pipeline.capture import session_end as session_end_flow
from lineage.pipeline.house import House
from tests.support.commands import Lineage
from tests.support.houses import compact, end, house_at, root_of, turns
from tests.support.wrecks import SENTENCE, artifacts, canonical, lose_machine, rehearsed, spooled, wreck
from tests.support.wrecks import without_write_times as settled

LATER = "2026-11-21T16:00:00.000Z"
TALK = turns("Why does reader.py drop the last line?", "It splits on newline; fixed in reader.py.")

Recovery = Callable[[Lineage], None]


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Lineage:
    """The command line on a wreck, at a later time, where making a sentence is an error."""

    def no_second(*_: Any) -> tuple[str, str]:
        raise AssertionError("a second sentence was made")

    monkeypatch.setattr("lineage.app.now", lambda: LATER)
    monkeypatch.setattr(session_end_flow, "memory_sentence", no_second)
    monkeypatch.setattr(compaction_flow, "memory_sentence", no_second)
    return Lineage(tmp_path / "vault", capsys)


def ended(house: House) -> None:
    end(house, transcript=TALK)


def compacted(house: House) -> None:
    compact(house, transcript=TALK)


def by_recover(lineage: Lineage) -> None:
    assert lineage("recover").code == 0


def by_reindex(lineage: Lineage) -> None:
    assert lineage("reindex").code == 0


def by_render(lineage: Lineage) -> None:
    assert lineage("render").code == 0


def by_the_same_end_again(lineage: Lineage) -> None:
    """Signalled again, at another time, straight to the flow."""
    with house_at(lineage.root, now=LATER) as house:
        ended(house)


STATES = {
    "sentence generated, artifact write failed": "--transcript.md",
    "transcript written, summary failed": "--summary.md",
    "summary and transcript written, manifest failed": "--manifest.md",
    "artifacts and manifest written, MEMORY.md update failed": "MEMORY.md",
    "canonical writes done, index update failed": "index.staged",
    "everything written, telemetry failed": "telemetry.count_capture",
    "everything done, the job is still there": "private.delete",
}
WRITTEN = {name: call for name, call in STATES.items() if call != "--transcript.md"}
FINISHED_BY_THE_SPOOL = [by_recover, by_reindex, by_render, by_the_same_end_again]
FINISHED_BY_THE_FILES = [by_recover, by_the_same_end_again]


def undisturbed(root: Path, flow: Callable[[House], None]) -> dict[str, bytes]:
    """What the flow leaves behind where nothing fails."""
    calls: dict[str, bytes] = {}

    def kept(house: House) -> None:
        flow(house)
        calls.update(canonical(root_of(house)))

    rehearsed(root, kept)
    return calls


def is_whole(lineage: Lineage, expected: dict[str, bytes]) -> None:
    """Nothing is missing, nothing is there twice, the first sentence is the only one, and again changes nothing."""
    assert settled(canonical(lineage.root)) == settled(expected)
    assert {artifact.memory_sentence for artifact in artifacts(lineage.root)} == {SENTENCE}
    assert spooled(lineage.root) == []
    before = canonical(lineage.root)
    assert lineage("verify", "--json").json == {"findings": []}
    assert lineage("recover").out == "nothing was unfinished\n"
    assert canonical(lineage.root) == before


@pytest.mark.slow
@pytest.mark.parametrize("recovery", FINISHED_BY_THE_SPOOL)
@pytest.mark.parametrize("call", STATES.values(), ids=STATES)
def test_a_session_end_that_failed_here_is_finished_from_the_spool(
    lineage: Lineage, call: str, recovery: Recovery
) -> None:
    expected = undisturbed(lineage.root, ended)
    wreck(lineage.root, ended, dies_at=call)
    assert len(spooled(lineage.root)) == 1
    recovery(lineage)
    is_whole(lineage, expected)


@pytest.mark.slow
@pytest.mark.parametrize("recovery", FINISHED_BY_THE_FILES)
@pytest.mark.parametrize("call", WRITTEN.values(), ids=WRITTEN)
def test_a_session_end_that_failed_here_is_finished_from_the_files_alone(
    lineage: Lineage, call: str, recovery: Recovery
) -> None:
    expected = undisturbed(lineage.root, ended)
    wreck(lineage.root, ended, dies_at=call)
    lose_machine(lineage.root)
    recovery(lineage)
    is_whole(lineage, expected)


COMPACTIONS = {
    "sentence generated, artifact write failed": "--compaction.md",
    "compaction written, manifest failed": "--manifest.md",
    "artifact and manifest written, MEMORY.md update failed": "MEMORY.md",
    "canonical writes done, index update failed": "index.staged",
}


@pytest.mark.slow
@pytest.mark.parametrize("recovery", [by_recover, by_reindex])
@pytest.mark.parametrize("call", COMPACTIONS.values(), ids=COMPACTIONS)
def test_a_compaction_that_failed_here_is_finished_from_the_spool(
    lineage: Lineage, call: str, recovery: Recovery
) -> None:
    expected = undisturbed(lineage.root, compacted)
    wreck(lineage.root, compacted, dies_at=call)
    recovery(lineage)
    is_whole(lineage, expected)


@pytest.mark.slow
@pytest.mark.parametrize("call", list(COMPACTIONS.values())[1:], ids=list(COMPACTIONS)[1:])
def test_a_compaction_that_failed_here_is_finished_from_the_files_alone(lineage: Lineage, call: str) -> None:
    expected = undisturbed(lineage.root, compacted)
    wreck(lineage.root, compacted, dies_at=call)
    lose_machine(lineage.root)
    by_recover(lineage)
    is_whole(lineage, expected)


def test_a_late_compaction_whose_manifest_failed_is_linked_from_the_files_alone(lineage: Lineage) -> None:
    lineage.root.mkdir()
    wreck(lineage.root, ended, dies_at="private.delete", after=True)
    wreck(lineage.root, compacted, dies_at="store.replace(memory", now="2026-11-21T13:00:00.000Z")
    lose_machine(lineage.root)
    by_recover(lineage)
    (compaction,) = (artifact for artifact in artifacts(lineage.root) if artifact.kind == "compaction")
    manifest = next(data for path, data in canonical(lineage.root).items() if path.endswith("--manifest.md"))
    assert f'compaction_path: "{compaction.path}"'.encode() in manifest
    assert lineage("verify").code == 0


@pytest.mark.parametrize("lost", [False, True], ids=["as-it-was", "machine-lost"])
def test_a_fallback_sentence_that_was_engaged_stays_the_sentence(
    lineage: Lineage, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spec: sentence generation failed, fallback path engaged; then the summary failed."""
    monkeypatch.setattr("tests.support.wrecks._first", lambda *_: (SENTENCE, "fallback"))
    wreck(lineage.root, ended, dies_at="--summary.md")
    if lost:
        lose_machine(lineage.root)
    by_recover(lineage)
    found = {(artifact.memory_sentence, artifact.memory_sentence_quality) for artifact in artifacts(lineage.root)}
    assert found == {(SENTENCE, "fallback")}
    assert f"| {SENTENCE} [[".encode() in canonical(lineage.root)["MEMORY.md"]


def test_a_sentence_that_only_the_spool_held_is_made_anew_when_the_spool_is_lost(
    lineage: Lineage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No artifact holds the first one: recovery invents none, and the next signal is the session's first."""
    wreck(lineage.root, ended, dies_at="--transcript.md")
    lose_machine(lineage.root)
    by_recover(lineage)
    assert list(artifacts(lineage.root)) == []
    monkeypatch.setattr(session_end_flow, "memory_sentence", lambda *_: (SENTENCE, "ok"))
    by_the_same_end_again(lineage)
    assert len(list(artifacts(lineage.root))) == 2
    assert lineage("verify").code == 0
