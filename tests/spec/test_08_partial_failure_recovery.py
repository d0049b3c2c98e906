"""Spec, test 8: every partial-failure state is recovered, by `recover` and by the next writing command.

Fails without the rows of `_CANONICAL` and the steps after them in core/capture/planner.py, without `finish_pending` in
`_run` of app/workspace.py (or of `recover`), without `apply_plan` in pipeline/maintenance/recover.py (`.lineage/`
deleted), when a flow's plan asks for a sentence although a job holds one, and when anything is written that exists.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.pipeline.capture import compaction as compaction_flow
from lineage.pipeline.capture import session_end as session_end_flow
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand
from tests.support.dead_processes import (
    SENTENCE,
    delete_machine_state,
    leave_dead_process,
    list_mutating_calls,
    list_spool_paths,
    read_artifacts,
    read_workspace_files,
)
from tests.support.dead_processes import strip_write_fields as settled
from tests.support.workspace import compact_session, end_session, find_root, make_turns, open_test_workspace

LATER = "2026-11-21T16:00:00.000Z"
TALK = make_turns("Why does reader.py drop the last line?", "It splits on newline; fixed in reader.py.")

Recovery = Callable[[LineageCommand], None]


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> LineageCommand:
    """The command line on a wreck, at a later time, where making a sentence is an error."""

    def no_second(*_: Any) -> tuple[str, str]:
        raise AssertionError("a second sentence was made")

    monkeypatch.setattr("lineage.app.clock.now", lambda: LATER)
    monkeypatch.setattr(session_end_flow, "compose_sentence", no_second)
    monkeypatch.setattr(compaction_flow, "compose_sentence", no_second)
    return LineageCommand(tmp_path / "vault", capsys)


def ended(ws: Workspace) -> None:
    end_session(ws, transcript=TALK)


def compacted(ws: Workspace) -> None:
    compact_session(ws, transcript=TALK)


def by_recover(lineage: LineageCommand) -> None:
    assert lineage("recover").code == 0


def by_reindex(lineage: LineageCommand) -> None:
    assert lineage("reindex").code == 0


def by_render(lineage: LineageCommand) -> None:
    assert lineage("render").code == 0


def by_the_same_end_again(lineage: LineageCommand) -> None:
    """Signalled again, at another time, straight to the flow."""
    with open_test_workspace(lineage.root, now=LATER) as ws:
        ended(ws)


STATES = {
    "sentence generated, artifact write failed": "--transcript.md",
    "transcript written, summary failed": "--summary.md",
    "summary and transcript written, manifest failed": "--manifest.md",
    "artifacts and manifest written, MEMORY.md update failed": "MEMORY.md",
    "canonical writes done, index update failed": "index.upsert_in_transaction",
    "everything written, telemetry failed": "telemetry.count_capture",
    "everything done, the job is still there": "private.delete",
}
WRITTEN = {name: call for name, call in STATES.items() if call != "--transcript.md"}
FINISHED_BY_THE_SPOOL = [by_recover, by_reindex, by_render, by_the_same_end_again]
FINISHED_BY_THE_FILES = [by_recover, by_the_same_end_again]


def undisturbed(root: Path, flow: Callable[[Workspace], None]) -> dict[str, bytes]:
    """What the flow leaves behind where nothing fails."""
    calls: dict[str, bytes] = {}

    def kept(ws: Workspace) -> None:
        flow(ws)
        calls.update(read_workspace_files(find_root(ws)))

    list_mutating_calls(root, kept)
    return calls


def is_whole(lineage: LineageCommand, expected: dict[str, bytes]) -> None:
    """Nothing is missing, nothing is there twice, the first sentence is the only one, and again changes nothing."""
    assert settled(read_workspace_files(lineage.root)) == settled(expected)
    assert {artifact.memory_sentence for artifact in read_artifacts(lineage.root)} == {SENTENCE}
    assert list_spool_paths(lineage.root) == []
    before = read_workspace_files(lineage.root)
    assert lineage("verify", "--json").json == {"findings": []}
    assert lineage("recover").out == "nothing was unfinished\n"
    assert read_workspace_files(lineage.root) == before


@pytest.mark.slow
@pytest.mark.parametrize("recovery", FINISHED_BY_THE_SPOOL)
@pytest.mark.parametrize("call", STATES.values(), ids=STATES)
def test_a_session_end_that_failed_here_is_finished_from_the_spool(
    lineage: LineageCommand, call: str, recovery: Recovery
) -> None:
    expected = undisturbed(lineage.root, ended)
    leave_dead_process(lineage.root, ended, dies_at=call)
    assert len(list_spool_paths(lineage.root)) == 1
    recovery(lineage)
    is_whole(lineage, expected)


@pytest.mark.slow
@pytest.mark.parametrize("recovery", FINISHED_BY_THE_FILES)
@pytest.mark.parametrize("call", WRITTEN.values(), ids=WRITTEN)
def test_a_session_end_that_failed_here_is_finished_from_the_files_alone(
    lineage: LineageCommand, call: str, recovery: Recovery
) -> None:
    expected = undisturbed(lineage.root, ended)
    leave_dead_process(lineage.root, ended, dies_at=call)
    delete_machine_state(lineage.root)
    recovery(lineage)
    is_whole(lineage, expected)


COMPACTIONS = {
    "sentence generated, artifact write failed": "--compaction.md",
    "compaction written, manifest failed": "--manifest.md",
    "artifact and manifest written, MEMORY.md update failed": "MEMORY.md",
    "canonical writes done, index update failed": "index.upsert_in_transaction",
}


@pytest.mark.slow
@pytest.mark.parametrize("recovery", [by_recover, by_reindex])
@pytest.mark.parametrize("call", COMPACTIONS.values(), ids=COMPACTIONS)
def test_a_compaction_that_failed_here_is_finished_from_the_spool(
    lineage: LineageCommand, call: str, recovery: Recovery
) -> None:
    expected = undisturbed(lineage.root, compacted)
    leave_dead_process(lineage.root, compacted, dies_at=call)
    recovery(lineage)
    is_whole(lineage, expected)


@pytest.mark.slow
@pytest.mark.parametrize("call", list(COMPACTIONS.values())[1:], ids=list(COMPACTIONS)[1:])
def test_a_compaction_that_failed_here_is_finished_from_the_files_alone(lineage: LineageCommand, call: str) -> None:
    expected = undisturbed(lineage.root, compacted)
    leave_dead_process(lineage.root, compacted, dies_at=call)
    delete_machine_state(lineage.root)
    by_recover(lineage)
    is_whole(lineage, expected)


def test_a_late_compaction_whose_manifest_failed_is_linked_from_the_files_alone(lineage: LineageCommand) -> None:
    lineage.root.mkdir()
    leave_dead_process(lineage.root, ended, dies_at="private.delete", after=True)
    leave_dead_process(lineage.root, compacted, dies_at="store.replace(memory", now="2026-11-21T13:00:00.000Z")
    delete_machine_state(lineage.root)
    by_recover(lineage)
    (compaction,) = (artifact for artifact in read_artifacts(lineage.root) if artifact.kind == "compaction")
    manifest = next(data for path, data in read_workspace_files(lineage.root).items() if path.endswith("--manifest.md"))
    assert f'compaction_path: "{compaction.path}"'.encode() in manifest
    assert lineage("verify").code == 0


@pytest.mark.parametrize("lost", [False, True], ids=["as-it-was", "machine-lost"])
def test_a_fallback_sentence_that_was_engaged_stays_the_sentence(
    lineage: LineageCommand, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spec: sentence generation failed, fallback path engaged; then the summary failed."""
    monkeypatch.setattr("tests.support.dead_processes._fixed_sentence", lambda *_: (SENTENCE, "fallback"))
    leave_dead_process(lineage.root, ended, dies_at="--summary.md")
    if lost:
        delete_machine_state(lineage.root)
    by_recover(lineage)
    found = {(artifact.memory_sentence, artifact.memory_sentence_quality) for artifact in read_artifacts(lineage.root)}
    assert found == {(SENTENCE, "fallback")}
    assert f"| {SENTENCE} [[".encode() in read_workspace_files(lineage.root)["MEMORY.md"]


def test_a_sentence_that_only_the_spool_held_is_made_anew_when_the_spool_is_lost(
    lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No artifact holds the first one: recovery invents none, and the next signal is the session's first."""
    leave_dead_process(lineage.root, ended, dies_at="--transcript.md")
    delete_machine_state(lineage.root)
    by_recover(lineage)
    assert list(read_artifacts(lineage.root)) == []
    monkeypatch.setattr(session_end_flow, "compose_sentence", lambda *_: (SENTENCE, "ok"))
    by_the_same_end_again(lineage)
    assert len(list(read_artifacts(lineage.root))) == 2
    assert lineage("verify").code == 0
