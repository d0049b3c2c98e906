"""Harnesses in trouble: not there, newer or older, without their model, hanging, dead in the middle of a turn.

A program that is missing, fails or hangs where lineage starts it stands in test_programs.py and test_program_bounds.py,
one that writes no payload in test_hook_entry.py, stores of another schema with their adapters.

Fails without the unknown kinds that `Collector.skip` counts, the last case of `_process_event`, `deadline` in
`_wait_for_open`, `locate_transcript`'s look into a history, and `is_over` by process.
"""

import json
from pathlib import Path

import pytest

from lineage.app import worker
from lineage.app.locations import open_private_store
from lineage.pipeline.ingest.worker import OpenSession
from tests.support.commands import LineageCommand
from tests.support.hook_process import (
    append_transcript,
    drain_spool,
    enqueue_in_process,
    list_spooled_paths,
    make_end_payload,
    make_payload,
    run_harness,
    run_sweep,
)


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    made = LineageCommand(tmp_path / "vault", capsys)
    assert made("init").code == 0
    return made


def append_records(path: Path, *records: object, torn: str = "") -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
        file.write(torn)


def make_message(kind: str, identity: str, content: object, **more: object) -> dict[str, object]:
    message = {"role": kind, "content": content}
    shared = {"sessionId": "s-1", "timestamp": "2026-10-02T09:00:01.000Z", "cwd": "/home/ada/demo"}
    return {"type": kind, "uuid": identity, "message": message, **shared, **more}


def read_newest_transcript(root: Path) -> str:
    return sorted((root / "memory").glob("*--transcript.md"))[-1].read_text(encoding="utf-8")


def test_a_machine_without_any_harness_is_no_trouble(lineage: LineageCommand) -> None:
    for words, said in (
        (("doctor",), "no problems found"),
        (("hooks", "install"), "no harness with hooks on this machine"),
        (("hooks", "status"), "no harness with hooks on this machine"),
        (("import", "all"), "no harness has sessions on this machine"),
        (("sweep",), "0 sessions captured"),
    ):
        done = lineage(*words)
        assert (done.code, said in done.out) == (0, True), done


def test_a_harness_that_went_after_its_hook_leaves_its_session(lineage: LineageCommand, home: Path) -> None:
    """Its folder is gone, and with it what `locate_transcript` could list."""
    path = append_transcript(home / "s-1.jsonl", "Moor the boat.")
    enqueue_in_process(lineage.root, make_end_payload(path))
    assert lineage("work").code == 0
    assert "Moor the boat." in read_newest_transcript(lineage.root)
    path.unlink()
    assert lineage("sweep").out.endswith("1 without a transcript\n")
    assert lineage("doctor").code == 0


def test_a_newer_version_s_events_and_records_are_counted_and_the_rest_is_kept(
    lineage: LineageCommand, home: Path
) -> None:
    path = append_transcript(home / "s-1.jsonl", "Moor the boat.")
    block = {"type": "hologram", "data": "x"}
    append_records(
        path,
        {"type": "holodeck", "sessionId": "s-1", "version": 99},
        make_message("assistant", "a-1", [block, {"type": "text", "text": "It is moored."}], newField={"deep": [1]}),
    )
    enqueue_in_process(lineage.root, make_payload("HolodeckEnd", "s-1", transcript_path=str(path)))
    enqueue_in_process(lineage.root, make_end_payload(path, more={"nested": {"new": 1}}))
    done = lineage("work")
    assert (done.code, done.out, list_spooled_paths(lineage.root)) == (0, "captured: 1\n", [])
    text = read_newest_transcript(lineage.root)
    assert "Moor the boat." in text and "It is moored." in text
    shown = lineage("session-end", "--harness", "claude-code", "--session-id", "s-2", "--transcript-path", str(path))
    assert "unknown 2" in shown.out


def test_an_older_version_s_payload_without_a_path_is_found_in_its_history(lineage: LineageCommand, home: Path) -> None:
    folder = home / ".claude/projects/-home-ada-demo"
    folder.mkdir(parents=True)
    append_transcript(folder / "s-1.jsonl", "Moor the boat.")
    enqueue_in_process(lineage.root, make_payload("SessionEnd", "s-1"))
    assert "captured: 1" in lineage("work").out


def test_a_session_whose_model_was_not_reached_keeps_what_was_asked(lineage: LineageCommand, home: Path) -> None:
    path = append_transcript(home / "s-1.jsonl", "Moor the boat.")
    said = [{"type": "text", "text": "API Error: Connection refused 127.0.0.1:9"}]
    append_records(path, make_message("assistant", "a-1", said, isApiErrorMessage=True))
    enqueue_in_process(lineage.root, make_end_payload(path))
    assert "captured: 1" in lineage("work").out
    text = read_newest_transcript(lineage.root)
    assert "Moor the boat." in text
    assert "[!agent]" not in text  # the harness's note is nobody's answer
    assert lineage("verify").code == 0


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are told by /proc")
def test_a_harness_that_hangs_is_watched_for_a_bounded_time_and_swept_on_demand(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = append_transcript(home / "s-1.jsonl", "Moor the boat.")
    with run_harness() as harness:
        monkeypatch.setenv("LINEAGE_HARNESS_PID", str(harness.pid))
        enqueue_in_process(lineage.root, make_payload("Stop", "s-1", transcript_path=str(path)))
        drain_spool(lineage.root, home)
        (waiting,) = run_sweep(lineage.root, home).waiting
        assert waiting == OpenSession("claude-code", "s-1", until=None, process=waiting.process)
        # the next worker goes on with it
        assert not worker._wait_for_open([waiting], open_private_store(lineage.root), deadline=0)
        assert (
            "waiting: claude-code s-1, while its process runs → lineage admin sweep --idle 0" in lineage("doctor").out
        )
        assert "1 session captured" in lineage("sweep", "--idle", "0").out
        assert lineage("doctor").code == 0


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are told by /proc")
def test_a_harness_that_dies_in_the_middle_of_a_turn_leaves_what_it_wrote_and_goes_on_later(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No event tells of the turn; a call has no result, and the last record is torn."""
    path = home / "s-1.jsonl"
    with run_harness() as harness:
        monkeypatch.setenv("LINEAGE_HARNESS_PID", str(harness.pid))
        enqueue_in_process(lineage.root, make_payload("SessionStart", "s-1", transcript_path=str(path)))
        append_transcript(path, "Moor the boat.")
        call = {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "moor --berth 9"}}
        append_records(path, make_message("assistant", "a-1", [call]), torn='{"type":"user","uuid":"u-2","mess')
        drain_spool(lineage.root, home)
        (_,) = run_sweep(lineage.root, home).waiting
    (token,) = run_sweep(lineage.root, home).captured
    text = read_newest_transcript(lineage.root)
    assert "Moor the boat." in text and "moor --berth 9" in text and '"mess' not in text
    assert (lineage("verify").code, lineage("doctor").code) == (0, 0)
    # resumed, the harness leaves the torn line and writes on
    result = {"type": "tool_result", "tool_use_id": "t-1", "content": "moored at nine"}
    append_records(path, "", make_message("user", "u-3", [result]))
    assert run_sweep(lineage.root, home).captured == [token]
    newest = read_newest_transcript(lineage.root)
    assert "moored at nine" in newest and "[!user]" not in newest
