"""The worker where something fails, and what it has to do with sessions that were removed. (harnesses.md 0.1)"""

from pathlib import Path
from unittest.mock import patch

import pytest

from lineage.core.times import shifted
from lineage.errors import EngineMissing
from lineage.pipeline.incoming import working
from lineage.pipeline.incoming.sweeping import Swept
from lineage.pipeline.incoming.working import Drained
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.verification import verify
from tests.support.doorbells import (
    LATER,
    block,
    captured,
    drained,
    ended,
    jobs,
    leave,
    payload,
    say,
    seen,
    spooled,
    swept,
)
from tests.support.houses import house_at
from tests.support.wrecks import every_byte

pytestmark = pytest.mark.slow

# --- What fails ------------------------------------------------------------------------------------------------------


@pytest.mark.leaves_findings
def test_a_transcript_that_vanished_is_given_up_in_the_end(tmp_path: Path, home: Path) -> None:
    root, now = tmp_path / "w", LATER
    leave(root, ended(tmp_path / "gone.jsonl", "s-1", reason="exit"))
    waited = []
    while (done := drained(root, home, now)).put_off:
        assert drained(root, home, now).put_off == []  # not before its time
        assert done.next_due
        waited.append(done.next_due)
        now = done.next_due
    assert len(waited) == 4
    ((_, why),) = done.given_up
    assert "gone.jsonl is not there" in why
    assert jobs(root) == []
    with house_at(root, now=now) as house:
        (rung,) = house.canon.signals.dead()
        assert (rung.why, rung.payload["reason"], rung.attempts) == (why, "exit", 4)
        assert [finding.what for finding in verify(house)] == [f"given up: {why}"]
    assert drained(root, home, shifted(now, days=1)) == Drained()


def test_a_transcript_that_comes_late_is_captured(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    leave(root, ended(tmp_path / "s-1.jsonl"))
    due = drained(root, home).next_due
    say(tmp_path / "s-1.jsonl", "Mend the reader.")
    assert drained(root, home, due or "").outcomes == {"captured": 1}
    assert jobs(root) == []


@pytest.mark.leaves_findings
@pytest.mark.parametrize("session", ["a" * 2000, "a\nb"])
def test_a_bad_id_is_given_up_at_once(tmp_path: Path, home: Path, session: str) -> None:
    root = tmp_path / "w"
    leave(root, ended(say(tmp_path / "s-1.jsonl", "Hello."), session))
    leave(root, payload("Stop", session))
    done = drained(root, home)
    assert len(done.given_up) == 2
    assert (done.put_off, jobs(root), seen(root)) == ([], [], [])


def test_without_an_engine_nothing_is_counted(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    leave(root, ended(say(tmp_path / "s-1.jsonl", "Hello.")))
    now = LATER
    with patch.object(working, "run", side_effect=EngineMissing("no engine")):
        for _ in range(8):
            done = drained(root, home, now)
            assert [why for _, why in done.put_off] == ["no engine"]
            now = done.next_due or ""
    assert spooled(root)[0]["attempts"] == 0
    assert drained(root, home, now).outcomes == {"captured": 1}


@pytest.mark.leaves_findings
def test_what_nobody_expected_keeps_no_other_waiting(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    leave(root, ended(say(tmp_path / "s-1.jsonl", "Hello.")))
    leave(root, payload("Stop", "s-2"))
    with patch.object(working, "run", side_effect=MemoryError):
        done = drained(root, home)
    assert [why for _, why in done.put_off] == ["an unexpected MemoryError"]
    assert [row.session_id for row in seen(root)] == ["s-2"]


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
    leave(root, payload("Stop"))
    damaged = root / ".lineage/spool/signals/damaged.json"
    damaged.write_bytes(data)
    assert drained(root, home).given_up == []
    assert jobs(root) == [damaged]
    assert damaged.read_bytes() == data
    with house_at(root) as house:
        assert [finding.path for finding in verify(house)] == [".lineage/spool/signals/damaged.json"]


def test_another_harnesss_payload_is_counted_and_cleared(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "w"
    leave(root, payload("sessionEnd", cursor_version="2.0"))
    leave(root, payload("SubagentStop"))
    leave(root, {"hook_event_name": "SessionEnd"})
    assert drained(root, home).ignored == {"another harness's": 1, "sub-agent": 1, "no session id": 1}
    assert jobs(root) == []
    assert seen(root) == []


# --- Removal ---------------------------------------------------------------------------------------------------------


def test_a_removed_sessions_signals_are_refused_and_leave_no_trace(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-quokka.jsonl", "Mend the wombat.")
    leave(root, ended(path))
    drained(root, home)
    with house_at(root) as house:
        remove(house, "s-quokka", reason="asked")
    for event in ("SessionStart", "Stop", "SessionEnd", "PostCompact"):
        leave(root, payload(event, "s-quokka", transcript_path=str(path)))
    assert drained(root, home).outcomes == {"refused": 2}
    assert (jobs(root), seen(root), captured(root)) == ([], [], [])
    assert swept(root, home) == Swept()


def test_removal_takes_signals_and_blocks_with_it(tmp_path: Path, home: Path) -> None:
    root, path = tmp_path / "w", say(tmp_path / "s-quokka.jsonl", "Mend the wombat in reader.py.")
    leave(root, ended(path))
    drained(root, home)
    assert block(root)
    leave(root, ended(path))
    leave(root, payload("Stop", "s-quokka"))
    with house_at(root) as house:
        receipt = remove(house, "s-quokka", reason="asked")
    assert len(receipt.spool_files) == 2
    assert (jobs(root), block(root)) == ([], "")
    held = [path for path, data in every_byte(root).items() if b"quokka" in data or b"wombat" in data]
    assert held == []
