"""The worker where something fails, and what it has to do with sessions that were removed. (harnesses.md 0.1)"""

from pathlib import Path
from unittest.mock import patch

import pytest

from lineage.app import worker as working_process
from lineage.app.worker import run_worker
from lineage.core.base.times import shift_time
from lineage.errors import DiskFull, EngineMissing, LineageError
from lineage.pipeline.ingest import worker
from lineage.pipeline.ingest.worker import DrainResult, SweepResult
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from tests.support.dead_processes import read_all_files
from tests.support.hook_process import (
    LATER,
    append_transcript,
    drain_spool,
    enqueue_in_process,
    list_captured,
    list_spooled_paths,
    make_end_payload,
    make_payload,
    read_context_block,
    read_seen_sessions,
    read_spooled_events,
    run_sweep,
)
from tests.support.workspace import open_test_workspace

pytestmark = pytest.mark.slow

# --- What fails ------------------------------------------------------------------------------------------------------


@pytest.mark.leaves_findings
def test_a_transcript_that_vanished_is_given_up_in_the_end(tmp_path: Path, home: Path) -> None:
    root, now = tmp_path / "w", LATER
    enqueue_in_process(root, make_payload("Stop", "s-1"))
    enqueue_in_process(root, make_end_payload(tmp_path / "gone.jsonl", "s-1", reason="exit"))
    waited = []
    while (done := drain_spool(root, home, now)).put_off:
        assert drain_spool(root, home, now).put_off == []  # not before its time
        assert done.next_due
        waited.append(done.next_due)
        now = done.next_due
    assert len(waited) == 4
    ((_, why),) = done.given_up
    assert "gone.jsonl is not there" in why
    assert list_spooled_paths(root) == []
    with open_test_workspace(root, now=now) as ws:
        (rung,) = ws.documents.hook_queue.dead_letters()
        assert (rung.why, rung.payload["reason"], rung.attempts) == (why, "exit", 4)
        assert [finding.what for finding in verify(ws)] == [f"given up: {why}"]
    assert drain_spool(root, home, shift_time(now, days=1)) == DrainResult()


def test_a_transcript_that_comes_late_is_captured(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_payload("Stop", "s-1"))
    enqueue_in_process(root, make_end_payload(tmp_path / "s-1.jsonl"))
    due = drain_spool(root, home).next_due
    append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    assert drain_spool(root, home, due or "").outcomes == {"captured": 1}
    assert list_spooled_paths(root) == []


@pytest.mark.leaves_findings
@pytest.mark.parametrize("session", ["a" * 2000, "a\nb"])
def test_a_bad_id_is_given_up_at_once(tmp_path: Path, home: Path, session: str) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_end_payload(append_transcript(tmp_path / "s-1.jsonl", "Hello."), session))
    enqueue_in_process(root, make_payload("Stop", session))
    done = drain_spool(root, home)
    assert len(done.given_up) == 2
    assert (done.put_off, list_spooled_paths(root), read_seen_sessions(root)) == ([], [], [])


def test_without_an_engine_nothing_is_counted(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_end_payload(append_transcript(tmp_path / "s-1.jsonl", "Hello.")))
    now = LATER
    with patch.object(worker, "capture_session_tree", side_effect=EngineMissing("no engine")):
        for _ in range(8):
            done = drain_spool(root, home, now)
            assert [why for _, why in done.put_off] == ["no engine"]
            now = done.next_due or ""
    assert read_spooled_events(root)[0]["attempts"] == 0
    assert drain_spool(root, home, now).outcomes == {"captured": 1}


@pytest.mark.leaves_findings
@pytest.mark.parametrize("error", [EngineMissing("no engine"), DiskFull("the disk is full")])
def test_what_only_a_person_can_help_keeps_no_worker_alive(tmp_path: Path, error: LineageError) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_end_payload(append_transcript(tmp_path / "s-1.jsonl", "Hello.")))
    with (
        patch.object(worker, "capture_session_tree", side_effect=error),
        patch.object(working_process, "_MAX_SECONDS", 20),  # where it waits for the next try, it makes one
    ):
        (done,) = run_worker(root)
    assert [why for _, why in done.put_off] == [error.message]
    assert read_spooled_events(root)[0]["attempts"] == 0


@pytest.mark.leaves_findings
def test_what_nobody_expected_keeps_no_other_waiting(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_end_payload(append_transcript(tmp_path / "s-1.jsonl", "Hello.")))
    enqueue_in_process(root, make_payload("Stop", "s-2"))
    with patch.object(worker, "capture_session_tree", side_effect=MemoryError):
        done = drain_spool(root, home)
    assert [why for _, why in done.put_off] == ["an unexpected MemoryError"]
    assert [row.session_id for row in read_seen_sessions(root)] == ["s-2"]


@pytest.mark.leaves_findings
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 9, "payload": {}}',
        b'{"version":1,"harness":1,"agent":"a","at":"b","payload":{}}',
    ],
)
def test_a_damaged_signal_is_left_and_reported(tmp_path: Path, home: Path, data: bytes) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_payload("Stop"))
    damaged = root / ".lineage/spool/signals/damaged.json"
    damaged.write_bytes(data)
    assert drain_spool(root, home).given_up == []
    assert list_spooled_paths(root) == [damaged]
    assert damaged.read_bytes() == data
    with open_test_workspace(root) as ws:
        assert [finding.path for finding in verify(ws)] == [".lineage/spool/signals/damaged.json"]


def test_another_harnesss_payload_is_counted_and_cleared(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_payload("sessionEnd", cursor_version="2.0"))
    enqueue_in_process(root, make_payload("SubagentStop"))
    enqueue_in_process(root, {"hook_event_name": "SessionEnd"})
    assert drain_spool(root, home).ignored == {"another harness's": 1, "sub-agent": 1, "no session id": 1}
    assert list_spooled_paths(root) == []
    assert read_seen_sessions(root) == []


# --- Removal ---------------------------------------------------------------------------------------------------------


def test_a_removed_sessions_signals_are_refused_and_leave_no_trace(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-quokka.jsonl", "Mend the wombat.")
    enqueue_in_process(root, make_end_payload(path))
    drain_spool(root, home)
    with open_test_workspace(root) as ws:
        remove(ws, "s-quokka", reason="asked")
    for event in ("SessionStart", "Stop", "SessionEnd", "PostCompact"):
        enqueue_in_process(root, make_payload(event, "s-quokka", transcript_path=str(path)))
    assert drain_spool(root, home).outcomes == {"refused": 2}
    assert (list_spooled_paths(root), read_seen_sessions(root), list_captured(root)) == ([], [], [])
    assert run_sweep(root, home) == SweepResult()


def test_removal_takes_signals_and_blocks_with_it(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-quokka.jsonl", "Mend the wombat in reader.py.")
    enqueue_in_process(root, make_end_payload(path))
    drain_spool(root, home)
    assert read_context_block(root)
    enqueue_in_process(root, make_end_payload(path))
    enqueue_in_process(root, make_payload("Stop", "s-quokka"))
    with open_test_workspace(root) as ws:
        receipt = remove(ws, "s-quokka", reason="asked")
    assert len(receipt.spool_files) == 2
    assert (list_spooled_paths(root), read_context_block(root)) == ([], "")
    held = [path for path, data in read_all_files(root).items() if b"quokka" in data or b"wombat" in data]
    assert held == []
