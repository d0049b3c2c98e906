"""The sweep, and the blocks that new sessions begin with. (harnesses.md 0.2, 0.4)"""

import json
import os
import signal
import stat
import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest

from lineage.app.working import work
from lineage.core.identity import session_token
from lineage.core.times import from_epoch, shifted
from lineage.pipeline.house import House
from lineage.pipeline.incoming.preparing import prepare
from lineage.pipeline.incoming.sweeping import Swept
from lineage.telemetry import Seen
from tests.support.commands import Lineage
from tests.support.doorbells import (
    block,
    captured,
    command,
    drained,
    ended,
    environment,
    eventually,
    jobs,
    leave,
    payload,
    say,
    swept,
    workers,
)
from tests.support.houses import end, house_at, turns

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")


# --- The sweep -------------------------------------------------------------------------------------------------------


def test_the_sweep_captures_what_ended_without_a_signal(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-1.jsonl", "Mend the reader.")
    leave(root, payload("Stop", "s-1", transcript_path=str(path)))
    drained(root, home)
    assert swept(root, home).captured == [session_token("default", "s-1")]
    assert "Mend the reader" in block(root)
    assert swept(root, home) == Swept(unchanged=1)


def test_the_sweep_captures_what_grew(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-1.jsonl", "Mend the reader.")
    leave(root, ended(path))
    drained(root, home)
    assert swept(root, home) == Swept(unchanged=1)
    say(path, "And the writer.")
    assert len(swept(root, home).captured) == 1
    assert len(captured(root)) == 2


def test_the_sweep_leaves_those_alone_that_are_being_written(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-1.jsonl", "Mend the reader.")
    leave(root, payload("Stop", "s-1", transcript_path=str(path)))
    drained(root, home)
    written = from_epoch(path.stat().st_mtime)
    assert swept(root, home, shifted(written, milliseconds=599_000)) == Swept(waiting=1)
    assert len(swept(root, home, shifted(written, milliseconds=600_000)).captured) == 1


def test_the_sweep_counts_those_whose_transcript_is_gone(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-1.jsonl", "Mend the reader.")
    leave(root, payload("Stop", "s-1", transcript_path=str(path)))
    drained(root, home)
    path.unlink()
    assert swept(root, home) == Swept(gone=1)


def test_one_session_that_cannot_be_read_keeps_no_other_from_the_sweep(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-2.jsonl", "Mend the reader.")
    (tmp_path / "s-1.jsonl").write_text("no transcript\n" * 3)
    os.utime(tmp_path / "s-1.jsonl", (1, 1))
    for name in ("s-1.jsonl", path.name):
        leave(root, payload("Stop", Path(name).stem, transcript_path=str(tmp_path / name)))
    drained(root, home)
    done = swept(root, home)
    assert [session for session, _ in done.failed] == ["s-1"]
    assert len(done.captured) == 1


def test_a_session_start_sweeps(tmp_path: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-1.jsonl", "Mend the reader.")
    leave(root, payload("Stop", "s-1", transcript_path=str(path)))
    leave(root, payload("SessionStart", "s-2"))
    (done,) = work(root)
    assert done.outcomes == {"captured": 1}


def test_the_commands_say_what_they_did(lineage: Lineage, tmp_path: Path) -> None:
    path = say(tmp_path / "s-1.jsonl", "Mend the reader.")
    with patch.dict(os.environ):
        leave(lineage.root, ended(path))
        assert lineage("work").out == "captured: 1\n"
        assert lineage("work").out == "nothing was waiting\n"
        say(path, "And the writer.")
        assert "1 session captured, 0 unchanged" in lineage("sweep").out
        assert lineage("sweep", "--json").json == {
            "captured": [],
            "unchanged": 1,
            "waiting": 0,
            "gone": 0,
            "failed": [],
        }


# --- Blocks ----------------------------------------------------------------------------------------------------------


def private_and_not(house: House, folder: str) -> None:
    end(house, "s-open", transcript=turns("Mend the reader.", "Done."), project=folder)
    for number in range(9):
        talk = turns(f"Hide the wombat {number}.", "Done.")
        end(house, f"s-{number}", transcript=talk, project=folder, private=True)
    house.telemetry.saw(Seen("generic", "default", "s-open", "t", None, folder, "turn-end", house.now, None))


def test_no_private_session_is_in_a_block(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        private_and_not(house, "/home/ada/demo")
        assert prepare(house) == 1
        assert prepare(house) == 0
    assert "s-open" in block(tmp_path) or "reader" in block(tmp_path)
    assert "wombat" not in block(tmp_path)


def test_no_other_projects_or_agents_session_is_in_a_block(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        end(house, "s-1", transcript=turns("Mend the wombat.", "Done."), project="/srv/demo")
        end(house, "s-2", transcript=turns("Mend the quokka.", "Done."), project="demo", agent_id="eve")
        end(house, "s-3", transcript=turns("Mend the reader.", "Done."), project="demo")
        house.telemetry.saw(Seen("generic", "default", "s-3", "t", None, "demo", "turn-end", house.now, None))
        prepare(house)
    assert "reader" in block(tmp_path, "demo")
    assert "wombat" not in block(tmp_path, "demo")
    assert "quokka" not in block(tmp_path, "demo")


@POSIX
def test_what_the_worker_leaves_is_for_its_owner_alone(tmp_path: Path, home: Path) -> None:
    root, old = tmp_path / "w", os.umask(0)
    try:
        leave(root, ended(tmp_path / "gone.jsonl", "s-1"))
        leave(root, payload("Stop", "s-2"))
        due = drained(root, home).next_due
        say(tmp_path / "gone.jsonl", "Late.")
        for path in (root / ".lineage").rglob("*"):
            if path.is_dir() or path.suffix in (".json", ".txt", ".lock"):
                assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        drained(root, home, due or "")
    finally:
        os.umask(old)


@POSIX
def test_the_worker_lets_go_of_all_that_is_the_harnesss(tmp_path: Path) -> None:
    """A hook's pipe that a worker kept open would keep its harness waiting."""
    leave(tmp_path, ended(tmp_path / "gone.jsonl", "s-1"))
    process = subprocess.Popen(
        command(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    out, err = process.communicate(json.dumps(payload("SessionStart")).encode(), timeout=60)
    assert (out, err, process.returncode) == (b"", b"", 0)
    eventually(lambda: bool(workers(tmp_path)), "the worker, which waits for what is tried again soon")
    (worker,) = workers(tmp_path)
    try:
        assert os.getsid(worker) != os.getsid(0)
        assert {str(Path(f"/proc/{worker}/fd/{number}").readlink()) for number in (0, 1, 2)} == {os.devnull}
    finally:
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: not workers(tmp_path), "it is gone")
        for path in jobs(tmp_path):
            path.unlink()
