"""The sweep, and the blocks that new sessions begin with. (harnesses.md 0.2, 0.4)"""

import json
import os
import signal
import sqlite3
import stat
import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from lineage.app.worker import run_worker
from lineage.core.base.naming import derive_session_token
from lineage.core.base.times import from_epoch, shift_time
from lineage.core.format.transcript import extract_turn_ids
from lineage.pipeline.ingest.worker import OpenSession, SweepResult
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.telemetry import SeenSession
from lineage.workspace.workspace import Workspace
from tests.support.codex import make_meta, make_user_input
from tests.support.commands import LineageCommand
from tests.support.dead_processes import read_artifacts
from tests.support.hook_process import (
    append_transcript,
    build_environment,
    drain_spool,
    enqueue_in_process,
    hook_command,
    list_captured,
    list_spooled_paths,
    list_worker_pids,
    make_end_payload,
    make_payload,
    read_context_block,
    run_harness,
    run_hook,
    run_sweep,
    wait_until,
)
from tests.support.openclaw import add_session, create_database
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")


# --- The sweep -------------------------------------------------------------------------------------------------------


def test_the_sweep_captures_what_ended_without_a_signal(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
    drain_spool(root, home)
    assert run_sweep(root, home).captured == [derive_session_token("default", "s-1")]
    assert "Mend the reader" in read_context_block(root)
    assert run_sweep(root, home) == SweepResult(unchanged=1)


def test_the_sweep_captures_what_grew(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_end_payload(path))
    drain_spool(root, home)
    assert run_sweep(root, home) == SweepResult(unchanged=1)
    append_transcript(path, "And the writer.")
    assert len(run_sweep(root, home).captured) == 1
    assert len(list_captured(root)) == 2


def test_the_sweep_leaves_those_alone_that_are_being_written(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
    drain_spool(root, home)
    written = from_epoch(path.stat().st_mtime)
    waiting = OpenSession("claude-code", "s-1", until=shift_time(written, milliseconds=600_000))
    assert run_sweep(root, home, shift_time(written, milliseconds=599_000)) == SweepResult(waiting=[waiting])
    assert len(run_sweep(root, home, shift_time(written, milliseconds=600_000)).captured) == 1


@POSIX
def test_a_session_is_over_when_its_process_is_gone(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    with run_harness() as harness:
        monkeypatch.setenv("LINEAGE_HARNESS_PID", str(harness.pid))
        enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
        drain_spool(root, home)
        # a pause is no end, however long
        (waiting,) = run_sweep(root, home, "2099-01-01T00:00:00.000Z").waiting
        assert (waiting.session_id, waiting.until) == ("s-1", None)
    assert len(run_sweep(root, home).captured) == 1


@POSIX
def test_a_session_of_a_server_is_over_when_that_is_gone_or_it_is_quiet(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    with run_harness() as server:
        monkeypatch.setenv("LINEAGE_HARNESS_PID", str(server.pid))
        # the file of another harness tells of nothing but its time here
        enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)), harness="codex")
        drain_spool(root, home)
        written = from_epoch(path.stat().st_mtime)
        (waiting,) = run_sweep(root, home, shift_time(written, milliseconds=599_000)).waiting
        assert waiting.until == shift_time(written, milliseconds=600_000)
    assert run_sweep(root, home, shift_time(written, milliseconds=599_000)).waiting == []


@POSIX
@pytest.mark.slow
def test_a_turn_s_end_starts_the_worker_that_sees_the_process_die(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    with run_harness() as harness:
        payload = make_payload("Stop", "s-1", transcript_path=str(path))
        run_hook(root, payload, LINEAGE_NO_WORKER="", LINEAGE_HARNESS_PID=str(harness.pid))
        wait_until(lambda: bool(list_worker_pids(root)) and not list_spooled_paths(root), "the worker that watches")
        assert not list(read_artifacts(root))
    wait_until(lambda: bool(list(read_artifacts(root))), "the capture behind the death")
    wait_until(lambda: not list_worker_pids(root), "the worker's end")


def test_an_end_without_a_word_and_without_a_transcript_is_nothing(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_payload("SessionStart", "s-1"))
    enqueue_in_process(root, make_end_payload(tmp_path / "never.jsonl", "s-1"))
    done = drain_spool(root, home)
    assert (done.put_off, done.given_up, done.next_due, list_spooled_paths(root)) == ([], [], None, [])
    # Gemini CLI tells of an end twice.
    enqueue_in_process(root, make_end_payload(tmp_path / "never.jsonl", "s-1", reason="exit"))
    assert (drain_spool(root, home).put_off, list_spooled_paths(root)) == ([], [])
    # Should it turn up, it is captured all the same.
    append_transcript(tmp_path / "never.jsonl", "Late.")
    assert len(run_sweep(root, home).captured) == 1


def test_a_database_that_cannot_be_read_is_named_and_tried_again_by_the_next_sweep(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook names no file: OpenClaw's sessions lie in a database of their agent."""
    root = tmp_path / "w"
    path = create_database(home / ".openclaw/agents/main/agent/openclaw-agent.sqlite")
    message = {"role": "user", "content": "Mend the reader."}
    add_session(path, "s-1", [{"type": "message", "id": "e1", "timestamp": "2026-10-02T09:00:00Z", "message": message}])
    payload = {"event": "turn-end", "session_id": "s-1", "transcript_path": f"sqlite:main:s-1:{path}"}
    enqueue_in_process(root, payload, "openclaw")
    drain_spool(root, home)
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = delete")
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("CREATE TABLE other(id)")
        ((session, why),) = run_sweep(root, home).failed
        assert (session, "openclaw-agent.sqlite: database is locked" in why) == ("s-1", True)
        writer.execute("ROLLBACK")
    assert len(run_sweep(root, home).captured) == 1
    assert run_sweep(root, home) == SweepResult(unchanged=1)
    add_session(path, "s-1", [{"type": "message", "id": "e2", "timestamp": "2026-10-02T09:01:00Z", "message": message}])
    assert len(run_sweep(root, home).captured) == 1
    assert [len(extract_turn_ids(artifact.body)) for artifact in list_captured(root)] == [1, 1]


def test_the_sweep_counts_those_whose_transcript_is_gone(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
    drain_spool(root, home)
    path.unlink()
    assert run_sweep(root, home) == SweepResult(gone=1)


def test_one_session_that_cannot_be_read_keeps_no_other_from_the_sweep(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-2.jsonl", "Mend the reader.")
    (tmp_path / "s-1.jsonl").write_text("no transcript\n" * 3)
    os.utime(tmp_path / "s-1.jsonl", (1, 1))
    for name in ("s-1.jsonl", path.name):
        enqueue_in_process(root, make_payload("Stop", Path(name).stem, transcript_path=str(tmp_path / name)))
    drain_spool(root, home)
    done = run_sweep(root, home)
    assert [session for session, _ in done.failed] == ["s-1"]
    assert len(done.captured) == 1


def test_a_session_start_sweeps(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
    enqueue_in_process(root, make_payload("SessionStart", "s-2"))
    (done,) = run_worker(root)
    assert done.outcomes == {"captured": 1}


def test_the_commands_say_what_they_did(lineage: LineageCommand, tmp_path: Path) -> None:
    path = append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    with patch.dict(os.environ):
        enqueue_in_process(lineage.root, make_end_payload(path))
        assert lineage("work").out == "captured: 1\n"
        assert lineage("work").out == "nothing was waiting\n"
        append_transcript(path, "And the writer.")
        assert "1 session captured, 0 unchanged" in lineage("sweep").out
        assert lineage("sweep", "--json").json == {
            "captured": [],
            "unchanged": 1,
            "waiting": [],
            "gone": 0,
            "failed": [],
            "unread": [],
        }


def test_a_late_end_from_codex_s_daemon_adds_nothing(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`/exit` only detaches: the end comes a minute later, perhaps after a sweep, and from a process that goes on."""
    root, path = tmp_path / "w", tmp_path / "rollout-2026-10-02T09-00-00-t-1.jsonl"
    monkeypatch.setenv("LINEAGE_HARNESS_PID", str(os.getpid()))  # it lives on
    records = (make_meta("t-1"), make_user_input("Mend the reader."))
    times = ({"timestamp": f"2026-10-02T09:00:0{number}.000Z"} for number in range(2))
    path.write_text("".join(json.dumps({**record, **time}) + "\n" for record, time in zip(records, times, strict=True)))
    enqueue_in_process(root, make_payload("Stop", "t-1", transcript_path=str(path)), "codex")
    drain_spool(root, home)
    assert len(run_sweep(root, home).captured) == 1
    enqueue_in_process(root, make_payload("SessionEnd", "t-1", transcript_path=str(path)), "codex")
    done = drain_spool(root, home)
    assert (dict(done.outcomes), done.put_off, done.waiting) == ({"unchanged": 1}, [], [])
    assert len(list_captured(root)) == 1


# --- Sessions that no hook told of -----------------------------------------------------------------------------------


@pytest.fixture
def history(home: Path) -> Path:
    folder = home / ".claude/projects/-home-ada-demo"
    folder.mkdir(parents=True)
    return folder


def test_the_sweep_finds_sessions_from_before_the_hooks_once(lineage: LineageCommand, history: Path) -> None:
    path = append_transcript(history / "s-1.jsonl", "Mend the reader.")
    append_transcript(history / "s-2.jsonl", "Mend the writer.")
    enqueue_in_process(lineage.root, make_end_payload(path))
    assert lineage("work").out == "captured: 1\n"
    assert lineage("sweep", "--json").json["captured"] == [derive_session_token("default", "s-2")]
    for _ in range(2):
        assert lineage("sweep", "--json").json["captured"] == []
    assert len(list_captured(lineage.root)) == 2
    append_transcript(history / "s-2.jsonl", "And the binder.")
    assert lineage("sweep", "--json").json["captured"] == [derive_session_token("default", "s-2")]


def test_a_chat_s_session_is_one_whether_a_hook_or_its_database_names_it(lineage: LineageCommand, home: Path) -> None:
    """OpenClaw's hooks give the lane; `import` finds it in the database. A session that is known without stays one."""
    database = create_database(home / ".openclaw/agents/main/agent/openclaw-agent.sqlite")
    said = {"type": "message", "id": "m1", "timestamp": "2026-10-02T10:00:00.000Z"}
    for session in ("s-1", "s-2", "s-3"):
        add_session(database, session, [{**said, "message": {"role": "user", "content": f"Mend {session}."}}])
    ended = {"event": "session-end", "session_id": "s-1", "lane": "agent:main:main"}
    enqueue_in_process(lineage.root, ended, harness="openclaw")
    lineage("work")
    lineage("session-end", "--harness", "openclaw", "--session-id", "s-2", "--transcript-path", str(database))
    lineage("import", "openclaw")
    enqueue_in_process(lineage.root, {**ended, "session_id": "s-2"}, harness="openclaw")
    enqueue_in_process(lineage.root, {**ended, "session_id": "s-3"}, harness="openclaw")
    lineage("work")
    assert lineage("sweep", "--idle", "0", "--json").json["captured"] == []
    found = {item.session_id: item.session_key for item in list_captured(lineage.root)}
    assert len(list_captured(lineage.root)) == 3
    assert found == {"s-1": "agent:main:main#s-1", "s-2": None, "s-3": "agent:main:main#s-3"}


def test_the_sweep_waits_for_a_session_that_no_hook_told_of(lineage: LineageCommand, history: Path) -> None:
    lineage("init")
    os.utime(append_transcript(history / "s-1.jsonl", "Mend the reader."))
    swept = lineage("sweep", "--json").json
    assert (swept["captured"], [waiting["session_id"] for waiting in swept["waiting"]]) == ([], ["s-1"])
    assert len(lineage("sweep", "--idle", "0", "--json").json["captured"]) == 1


def test_the_sweep_leaves_alone_what_hooks_say_is_open_or_another_agent_s(
    lineage: LineageCommand, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = append_transcript(history / "s-1.jsonl", "Mend the reader.")
    other = append_transcript(history / "s-2.jsonl", "Mend the writer.")
    enqueue_in_process(lineage.root, make_end_payload(other), agent="eve")
    monkeypatch.setenv("LINEAGE_HARNESS_PID", str(os.getpid()))
    enqueue_in_process(lineage.root, make_payload("Stop", "s-1", transcript_path=str(path)))
    swept = lineage("sweep", "--json").json
    assert (swept["captured"], [waiting["session_id"] for waiting in swept["waiting"]]) == ([], ["s-1"])
    assert len(list_captured(lineage.root)) == 1


def test_the_sweep_takes_the_agent_of_the_hooks_and_no_other_workspace_s_sessions(
    lineage: LineageCommand, history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    append_transcript(history / "s-1.jsonl", "Mend the reader.")
    other = LineageCommand(tmp_path / "other", capsys)
    for command in (lineage, other):
        command("init")
    assert other("hooks", "install", "claude-code", "--agent", "eve").code == 0
    assert lineage("sweep", "--json").json["captured"] == []
    assert other("sweep", "--json").json["captured"] == [derive_session_token("eve", "s-1")]


# --- Blocks ----------------------------------------------------------------------------------------------------------


def private_and_not(ws: Workspace, folder: str) -> None:
    end_session(ws, "s-open", transcript=make_turns("Mend the reader.", "Done."), project=folder)
    for number in range(9):
        talk = make_turns(f"Hide the wombat {number}.", "Done.")
        end_session(ws, f"s-{number}", transcript=talk, project=folder, private=True)
    ws.telemetry.record_event(SeenSession("generic", "default", "s-open", "t", None, folder, "turn-end", ws.now, None))


def test_no_private_session_is_in_a_block(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        private_and_not(ws, "/home/ada/demo")
        assert prepare_contexts(ws) == 1
        assert prepare_contexts(ws) == 0
    assert "s-open" in read_context_block(tmp_path) or "reader" in read_context_block(tmp_path)
    assert "wombat" not in read_context_block(tmp_path)


def test_no_other_projects_or_agents_session_is_in_a_block(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1", transcript=make_turns("Mend the wombat.", "Done."), project="/srv/demo")
        end_session(ws, "s-2", transcript=make_turns("Mend the quokka.", "Done."), project="demo", agent_id="eve")
        end_session(ws, "s-3", transcript=make_turns("Mend the reader.", "Done."), project="demo")
        ws.telemetry.record_event(SeenSession("generic", "default", "s-3", "t", None, "demo", "turn-end", ws.now, None))
        prepare_contexts(ws)
    assert "reader" in read_context_block(tmp_path, "demo")
    assert "wombat" not in read_context_block(tmp_path, "demo")
    assert "quokka" not in read_context_block(tmp_path, "demo")


@POSIX
def test_what_the_worker_leaves_is_for_its_owner_alone(tmp_path: Path, home: Path) -> None:
    root, old = tmp_path / "w", os.umask(0)
    try:
        enqueue_in_process(root, make_payload("Stop", "s-1"))
        enqueue_in_process(root, make_end_payload(tmp_path / "gone.jsonl", "s-1"))
        enqueue_in_process(root, make_payload("Stop", "s-2"))
        due = drain_spool(root, home).next_due
        append_transcript(tmp_path / "gone.jsonl", "Late.")
        for path in (root / ".lineage").rglob("*"):
            if path.is_dir() or path.suffix in (".json", ".txt", ".lock"):
                assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        drain_spool(root, home, due or "")
    finally:
        os.umask(old)


@POSIX
def test_the_worker_lets_go_of_all_that_is_the_harnesss(tmp_path: Path) -> None:
    """A hook's pipe that a worker kept open would keep its harness waiting."""
    enqueue_in_process(tmp_path, make_payload("Stop", "s-1"))
    enqueue_in_process(tmp_path, make_end_payload(tmp_path / "gone.jsonl", "s-1"))
    process = subprocess.Popen(
        hook_command(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=build_environment(),
    )
    out, err = process.communicate(json.dumps(make_payload("SessionStart")).encode(), timeout=60)
    assert (out, err, process.returncode) == (b"", b"", 0)
    wait_until(lambda: bool(list_worker_pids(tmp_path)), "the worker, which waits for what is tried again soon")
    (worker,) = list_worker_pids(tmp_path)
    try:
        assert os.getsid(worker) != os.getsid(0)
        assert {str(Path(f"/proc/{worker}/fd/{number}").readlink()) for number in (0, 1, 2)} == {os.devnull}
    finally:
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not list_worker_pids(tmp_path), "it is gone")
        for path in list_spooled_paths(tmp_path):
            path.unlink()
