"""Checkpoints, end to end: a turn ends, the session is interrupted, the next one is told once. (harnesses.md 0.2)"""

import json
import os
import re
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from lineage.app import clock
from lineage.core.base.naming import derive_session_token
from lineage.core.base.times import from_epoch, shift_time
from lineage.core.format.checkpoint import Checkpoint
from lineage.pipeline.ingest.checkpoints import NO_TRANSCRIPT, PRIVATE, TOO_LARGE, UNREADABLE
from lineage.pipeline.ingest.worker import DrainResult
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.telemetry import SeenSession
from lineage.workspace.lookup import resolve_session
from tests.support import hook_process
from tests.support.git import make_repository
from tests.support.hook_process import (
    append_transcript,
    enqueue_in_process,
    make_end_payload,
    make_payload,
    read_context_block,
    run_hook,
)
from tests.support.workspace import compact_session, end_session, open_test_workspace

pytestmark = pytest.mark.slow
DEMO = "/home/ada/demo"
SECRET = "AKIA" + "QWERTYUIOPASDFGH"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "w"


def turn_ended(root: Path, path: Path, agent: str = "default", **more: Any) -> None:
    enqueue_in_process(root, make_payload("Stop", path.stem, transcript_path=str(path), **more), agent=agent)


def drained(root: Path, home: Path, later: int = 0) -> DrainResult:
    """What a worker does now, or so many days later."""
    return hook_process.drain_spool(root, home, shift_time(clock.now(), days=later))


def interrupt(root: Path, tmp_path: Path, home: Path, said: str) -> Path:
    """The transcript of a session that a worker has seen a turn of, and that has not ended."""
    path = append_transcript(tmp_path / "s-1.jsonl", said)
    turn_ended(root, path)
    drained(root, home)
    return path


def kept(root: Path, agent: str | None = None) -> list[Checkpoint]:
    with open_test_workspace(root) as ws:
        return ws.documents.checkpoints.list_for_agent(agent)


def said(root: Path) -> list[list[str]]:
    return [[message.text for message in one.messages] for one in kept(root)]


def starts(root: Path, session: str = "s-new", harness: str = "claude-code", **more: Any) -> str:
    """What a new session is told. A moment passes first: the clock of hooks has milliseconds."""
    time.sleep(0.005)
    event = {"event": "session-start"} if harness == "opencode" else {}
    done = run_hook(root, make_payload("SessionStart", session, source="startup", **more) | event, harness)
    return done.stdout.decode()


def test_an_interrupted_session_is_recovered_once(root: Path, tmp_path: Path, home: Path) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    drained(root, home)
    assert "wombat" in read_context_block(root)
    assert "wombat" in starts(root)
    drained(root, home)
    assert [one.used_at is not None for one in kept(root)] == [True]
    assert "wombat" not in (read_context_block(root) + starts(root, "s-next"))
    drained(root, home)
    assert said(root) == [[]]


def test_a_session_that_ends_leaves_nothing_to_recover(root: Path, tmp_path: Path, home: Path) -> None:
    path = interrupt(root, tmp_path, home, "Mend the wombat's reader.")
    assert said(root) == [["Mend the wombat's reader."]]
    enqueue_in_process(root, make_end_payload(path))
    drained(root, home)
    assert kept(root) == []
    assert drained(root, home).unkept == {}
    assert kept(root) == []


def test_what_ends_before_the_worker_looks_is_never_written(root: Path, tmp_path: Path, home: Path) -> None:
    path = append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    turn_ended(root, path)
    enqueue_in_process(root, make_end_payload(path))
    for signal in (root / ".lineage" / "spool" / "signals").iterdir():  # both in one millisecond
        signal.write_text(re.sub(r'"at": ?"[^"]*"', '"at": "2026-10-02T10:00:00.000Z"', signal.read_text()))
    drained(root, home)
    assert not (root / ".lineage" / "checkpoints").exists() or kept(root) == []


def test_a_session_that_the_sweep_captures_was_interrupted(root: Path, tmp_path: Path, home: Path) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    drained(root, home)
    assert hook_process.run_sweep(root, home, clock.now()).captured == [derive_session_token("default", "s-1")]
    assert said(root) == [["Mend the wombat's reader."]]
    assert "had not ended" in read_context_block(root)


def test_each_turn_end_takes_the_checkpoint_on(root: Path, tmp_path: Path, home: Path) -> None:
    path = append_transcript(tmp_path / "s-1.jsonl", *(f"Message {number}." for number in range(55)))
    turn_ended(root, path)
    drained(root, home)
    assert said(root) == [[f"Message {number}." for number in range(5, 55)]]
    append_transcript(path, "And one more.")
    drained(root, home)
    assert said(root)[0][-1] == "Message 54."
    turn_ended(root, path)
    drained(root, home)
    assert said(root)[0][-1] == "And one more."
    assert len(said(root)[0]) == 50


def test_a_used_one_comes_back_when_its_session_goes_on(root: Path, tmp_path: Path, home: Path) -> None:
    path = interrupt(root, tmp_path, home, "Mend the wombat's reader.")
    starts(root)
    drained(root, home)
    assert said(root) == [[]]
    time.sleep(0.005)
    turn_ended(root, append_transcript(path, "And the quokka's."))
    drained(root, home)
    assert said(root) == [["Mend the wombat's reader.", "And the quokka's."]]
    assert "quokka" in read_context_block(root)


def test_a_session_that_began_before_the_block_held_it_does_not_use_it_up(
    root: Path, tmp_path: Path, home: Path
) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    assert "wombat" not in starts(root)
    drained(root, home)
    assert [one.used_at for one in kept(root)] == [None]
    assert "wombat" in starts(root, "s-next")
    drained(root, home)
    assert [one.used_at is not None for one in kept(root)] == [True]


def test_a_hook_that_rang_as_the_block_was_prepared_does_not_use_it_up(root: Path, tmp_path: Path, home: Path) -> None:
    """It may have been answered with the block before: better told twice than never."""
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    drained(root, home)
    enqueue_in_process(root, make_payload("SessionStart", "s-2"))
    (job,) = hook_process.list_spooled_paths(root)
    job.write_text(json.dumps(json.loads(job.read_text()) | {"at": kept(root)[0].offered_at}))
    drained(root, home)
    assert [one.used_at for one in kept(root)] == [None]


@pytest.mark.parametrize(("harness", "cwd"), [("goose", DEMO), ("claude-code", "/srv/other"), ("claude-code", None)])
def test_a_session_whose_block_does_not_hold_it_does_not_use_it_up(
    root: Path, tmp_path: Path, home: Path, harness: str, cwd: str | None
) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    drained(root, home)
    assert "wombat" not in starts(root, harness=harness, cwd=cwd)
    drained(root, home)
    assert [one.used_at for one in kept(root)] == [None]
    assert "wombat" in starts(root, "s-next")
    drained(root, home)
    assert [one.used_at is not None for one in kept(root)] == [True]


def test_a_session_below_the_projects_folder_uses_it_up(root: Path, tmp_path: Path, home: Path) -> None:
    project = make_repository(tmp_path / "demo")
    (project / "src" / "deep").mkdir(parents=True)
    path = append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader.")
    turn_ended(root, path, cwd=str(project))
    drained(root, home)
    assert "wombat" in starts(root, cwd=str(project / "src" / "deep"))
    drained(root, home)
    assert [one.used_at is not None for one in kept(root)] == [True]


def test_a_session_that_is_resumed_has_no_use_for_its_own(root: Path, tmp_path: Path, home: Path) -> None:
    path = interrupt(root, tmp_path, home, "Mend the reader.")
    enqueue_in_process(root, make_payload("SessionStart", "s-1", source="resume", transcript_path=str(path)))
    drained(root, home)
    assert kept(root) == []


def test_another_agents_session_does_not_use_it_up(root: Path, tmp_path: Path, home: Path) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."), agent="ann")
    drained(root, home)
    assert "wombat" not in starts(root)
    assert "wombat" in read_context_block(root, agent="ann")
    drained(root, home)
    assert [one.used_at for one in kept(root, "ann")] == [None]


def test_another_project_is_not_told(root: Path, tmp_path: Path, home: Path) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    enqueue_in_process(root, make_payload("SessionStart", "s-2", cwd="/srv/other"))
    drained(root, home)
    assert "wombat" in read_context_block(root)
    assert "wombat" not in read_context_block(root, "/srv/other")


def test_no_secret_reaches_a_checkpoint_and_it_is_its_owners_alone(root: Path, tmp_path: Path, home: Path) -> None:
    before = os.umask(0)
    try:
        turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", f"The key is {SECRET}.", "x" * 1990 + f" {SECRET}"))
        drained(root, home)
    finally:
        os.umask(before)
    (path,) = (root / ".lineage" / "checkpoints").rglob("*.json")
    assert SECRET[:8] not in path.read_text()
    assert "[REDACTED:" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in list(path.parents)[:2]] == [0o700, 0o700]


def test_a_private_session_has_none(root: Path, tmp_path: Path, home: Path) -> None:
    path = append_transcript(tmp_path / "s-1.jsonl", "Hide the wombat.")
    with open_test_workspace(root, now=clock.now()) as ws:
        end_session(ws, "s-1", harness="claude-code", transcript_path=str(path), private=True)
    turn_ended(root, path)
    assert drained(root, home).unkept == {PRIVATE: 1}
    assert kept(root) == []
    assert "wombat" not in read_context_block(root)


def test_a_session_that_is_captured_as_private_after_its_checkpoint_is_told_at_no_start(
    root: Path, tmp_path: Path, home: Path
) -> None:
    path = interrupt(root, tmp_path, home, "Hide the wombat.")
    (saved,) = kept(root)
    assert "wombat" in read_context_block(root)
    with open_test_workspace(root, now=clock.now()) as ws:
        end_session(ws, "s-1", harness="claude-code", transcript_path=str(path), private=True)
        assert kept(root) == []
        assert "wombat" not in read_context_block(root)
        ws.documents.checkpoints.put(saved)  # a worker wrote it meanwhile
        assert "wombat" not in build_context(ws, ContextRequest(project=DEMO)).body


def test_a_session_whose_compaction_is_private_is_told_at_no_start(root: Path, tmp_path: Path, home: Path) -> None:
    path = interrupt(root, tmp_path, home, "Hide the wombat.")
    with open_test_workspace(root, now=clock.now()) as ws:
        compact_session(ws, "s-1", "Goal: hide it.", harness="claude-code", transcript_path=str(path), private=True)
    assert kept(root) == []
    assert "wombat" not in read_context_block(root)


def test_a_running_fork_of_a_private_session_has_no_checkpoint(root: Path, tmp_path: Path, home: Path) -> None:
    origin = append_transcript(tmp_path / "s-1.jsonl", "Hide the wombat.")
    with open_test_workspace(root, now=clock.now()) as ws:
        end_session(ws, "s-1", harness="claude-code", transcript_path=str(origin), private=True)
    fork = append_transcript(tmp_path / "s-2.jsonl", "And the quokka.")
    records = [json.loads(line) for line in fork.read_text("utf-8").splitlines()]
    lines = [json.dumps(record | {"forkedFrom": {"sessionId": "s-1"}}) for record in records]
    fork.write_text("\n".join(lines) + "\n", "utf-8")
    turn_ended(root, fork)
    assert drained(root, home).unkept == {PRIVATE: 1}
    assert kept(root) == []


def test_a_session_that_has_ended_since_its_checkpoint_is_not_told_as_one_that_had_not(
    root: Path, tmp_path: Path, home: Path
) -> None:
    path = interrupt(root, tmp_path, home, "Mend the wombat's reader.")
    with open_test_workspace(root, now=clock.now()) as ws:
        assert "had not ended" in build_context(ws, ContextRequest(project=DEMO)).body
        end_session(ws, "s-1", harness="claude-code", transcript_path=str(path), ended_at=ws.now)
        told = build_context(ws, ContextRequest(project=DEMO)).body
    assert "wombat" in told
    assert "had not ended" not in told


@pytest.mark.leaves_findings
@pytest.mark.parametrize("harm", ["private", "damaged", "buried"])
def test_one_that_should_not_be_there_is_dropped(root: Path, tmp_path: Path, home: Path, harm: str) -> None:
    """Private from the first capture on, in doubt, or removed on another machine, whose tombstone a sync brings."""
    path, token = append_transcript(tmp_path / "s-1.jsonl", "Hide the wombat."), derive_session_token("default", "s-1")
    turn_ended(root, path)
    drained(root, home)
    assert "wombat" in read_context_block(root)
    with open_test_workspace(root, now=clock.now()) as ws:
        end_session(ws, "s-1", harness="claude-code", transcript_path=str(path), private=harm == "private")
    if harm == "damaged":
        (manifest,) = (root / "memory").glob("*--manifest.md")
        manifest.chmod(0o600)
        manifest.write_text("---\nkind: [\n---\n")
    if harm == "buried":
        (root / "memory" / "tombstones").mkdir()
        (root / "memory" / "tombstones" / f"{token}.md").write_text("a tombstone in doubt still counts")
    assert drained(root, home).put_off == []
    assert kept(root) == []


def test_a_removed_session_has_none_any_more_and_gets_none(root: Path, tmp_path: Path, home: Path) -> None:
    path = interrupt(root, tmp_path, home, "Forget the wombat.")
    hook_process.run_sweep(root, home, clock.now())
    with open_test_workspace(root, now=clock.now()) as ws:
        remove(ws, resolve_session(ws, "s-1").session_token, reason="private")
    assert kept(root) == []
    turn_ended(root, path)
    with open_test_workspace(root, now=clock.now()) as ws:  # a note still on its way at the removal
        token = derive_session_token("default", "s-1")
        ws.telemetry.record_event(
            SeenSession("claude-code", "default", "s-1", token, str(path), DEMO, "turn-end", ws.now, None)
        )
    assert drained(root, home).unkept == {}
    assert kept(root) == []
    with open_test_workspace(root) as ws:
        ws.telemetry.forget(token)
        ws.telemetry.scrub()
    assert not [path for path in (root / ".lineage").rglob("*") if path.is_file() and b"wombat" in path.read_bytes()]


def test_what_a_fork_brought_from_a_removed_session_stays_out(root: Path, tmp_path: Path, home: Path) -> None:
    parent = append_transcript(tmp_path / "s-1.jsonl", "Forget the wombat.")
    enqueue_in_process(root, make_end_payload(parent))
    drained(root, home)
    with open_test_workspace(root, now=clock.now()) as ws:
        remove(ws, "s-1", reason="private")
    copied = json.loads(parent.read_text()) | {"sessionId": "s-2"}
    fork = tmp_path / "s-2.jsonl"
    fork.write_text(json.dumps(copied) + "\n")
    turn_ended(root, append_transcript(fork, "Mend the reader."))
    drained(root, home)
    assert said(root) == [["Mend the reader."]]


def test_what_cannot_be_kept_is_counted_and_keeps_nobody_from_work(root: Path, tmp_path: Path, home: Path) -> None:
    (tmp_path / "s-1.jsonl").write_text("no transcript\n" * 3)
    with (tmp_path / "s-2.jsonl").open("wb") as file:
        file.truncate(300 << 20)
    for name in ("s-1", "s-2", "s-3"):
        turn_ended(root, tmp_path / f"{name}.jsonl")
    turn_ended(root, append_transcript(tmp_path / "s-4.jsonl", "Mend the reader."))
    assert drained(root, home).unkept == {UNREADABLE: 1, TOO_LARGE: 1, NO_TRANSCRIPT: 1}
    assert said(root) == [["Mend the reader."]]


def test_a_damaged_one_is_ignored_by_worker_and_context(root: Path, tmp_path: Path, home: Path) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    drained(root, home)
    (path,) = (root / ".lineage" / "checkpoints").rglob("*.json")
    path.write_bytes(path.read_bytes()[:100])
    with open_test_workspace(root, now=clock.now()) as ws:
        assert build_context(ws, ContextRequest(project=DEMO)).body == ""
        assert ws.documents.checkpoints.list_damaged() == [path.relative_to(root / ".lineage").as_posix()]
    starts(root)
    assert drained(root, home).put_off == []
    assert said(root) == [["Mend the wombat's reader."]]


def test_after_seven_days_it_is_over(root: Path, tmp_path: Path, home: Path) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    drained(root, home)
    drained(root, home, later=6)
    assert "wombat" in read_context_block(root)
    drained(root, home, later=8)
    assert kept(root) == []
    assert "wombat" not in read_context_block(root)


def test_of_many_sessions_that_never_end_the_newest_are_kept_and_the_others_left_unread(
    root: Path, tmp_path: Path, home: Path
) -> None:
    for number in range(20):
        turn_ended(root, append_transcript(tmp_path / f"s-{number}.jsonl", f"Task {number}."))
        time.sleep(0.002)
    drained(root, home)
    assert [texts[0] for texts in said(root)] == [f"Task {number}." for number in range(4, 20)]
    written = {path: path.stat().st_mtime_ns for path in (root / ".lineage" / "checkpoints").rglob("*.json")}
    for path in tmp_path.glob("s-*.jsonl"):
        path.unlink()
    assert drained(root, home).unkept == {}
    assert {path: path.stat().st_mtime_ns for path in written} == written


def test_a_context_asked_for_by_hand_uses_nothing_up(root: Path, tmp_path: Path, home: Path) -> None:
    turn_ended(root, append_transcript(tmp_path / "s-1.jsonl", "Mend the wombat's reader."))
    drained(root, home)
    moment = from_epoch(time.time())
    with open_test_workspace(root, now=moment) as ws:
        first, second = (build_context(ws, ContextRequest(project=DEMO)).body for _ in range(2))
    assert first == second
    assert "wombat" in first
    assert [one.used_at for one in kept(root)] == [None]
