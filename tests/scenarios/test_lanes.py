"""`lineage list --lane`: which sessions a lane has had, which one it is in, and whether that is over."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage.app import clock
from lineage.core.base.times import shift_time
from lineage.pipeline.conversations.lanes import DAILY, IDLE, LaneState, load_lane, resolve_lane
from lineage.telemetry import SeenSession
from tests.support.commands import LineageCommand, run_process
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

LANE = "home:telegram:dm:123"
SETTINGS = '[sessions]\ndaily_reset = "04:00"\nreset_time_zone = "Europe/Berlin"\nidle_minutes = 120\n'
NINE = "2026-11-20T09"


def talked(root: Path, session: str, lane: str = LANE, start: str = NINE, **more: Any) -> None:
    """A captured session of a lane, one message a minute, two of them."""
    with open_test_workspace(root) as ws:
        talk = make_turns("Good morning.", "Good morning, Ada.", start=f"{start}:00")
        end_session(ws, session, lane=lane, transcript=talk, **more)


def shown(root: Path, moment: str, lane: str = LANE, agent: str | None = "default", **more: Any) -> LaneState:
    from lineage.app.workspace import open_workspace

    ws = open_workspace(root, create=True)
    try:
        return load_lane(at_time(ws, moment), lane, agent, **{"limit": 20, **more})
    finally:
        ws.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "lineage.toml").write_text(SETTINGS)
    return tmp_path


def test_a_lane_lists_its_sessions_newest_first_and_the_one_it_is_in(root: Path) -> None:
    talked(root, "s-1")
    talked(root, "s-2", start="2026-11-20T11")
    talked(root, "s-3", lane=f"{LANE}4")
    talked(root, "s-4", lane=LANE.upper())
    found = shown(root, "2026-11-20T12:00:00.000Z")
    assert [row.session_id for row in found.sessions] == ["s-2", "s-1"]
    assert (found.current, found.last_message, found.stale) == ("s-2", "2026-11-20T11:01:00.000Z", False)
    assert [row.session_id for row in shown(root, NINE + ":00:00.000Z", limit=1).sessions] == ["s-2"]


@pytest.mark.parametrize(
    ("moment", "stale"),
    [
        ("2026-11-20T11:00:59.999Z", False),
        ("2026-11-20T11:01:00.000Z", True),
        ("2026-11-21T03:00:00.000Z", True),
    ],
)
def test_it_is_over_after_a_silence(root: Path, moment: str, stale: bool) -> None:
    talked(root, "s-1")
    found = shown(root, moment)
    assert (found.stale, found.over_at, found.why) == (stale, "2026-11-20T11:01:00.000Z", IDLE)


@pytest.mark.parametrize(("moment", "stale"), [("2026-11-21T02:59:59.999Z", False), ("2026-11-21T03:00:00.000Z", True)])
def test_it_is_over_at_the_daily_reset_by_the_zones_clocks(root: Path, moment: str, stale: bool) -> None:
    talked(root, "s-1", start="2026-11-21T02")
    found = shown(root, moment)
    assert (found.stale, found.over_at, found.why) == (stale, "2026-11-21T03:00:00.000Z", DAILY)


def test_what_tools_wrote_is_no_message(root: Path) -> None:
    talk = [*make_turns("Good morning.", start=f"{NINE}:00"), {"role": "tool", "text": "tick", "at": f"{NINE}:59:00Z"}]
    with open_test_workspace(root) as ws:
        end_session(
            ws, "s-1", lane=LANE, transcript=[*talk, {"role": "system", "text": "Idle.", "at": f"{NINE}:59:30Z"}]
        )
    assert shown(root, f"{NINE}:59:59.000Z").last_message == f"{NINE}:00:00.000Z"


def test_a_session_that_goes_on_counts_before_it_is_captured(root: Path) -> None:
    talked(root, "s-1")
    with open_test_workspace(root) as ws:
        when = "2026-11-20T10:30:00.000Z"
        for session, lane, agent in (("s-2", LANE, "default"), ("s-3", "home:main", "default"), ("s-4", LANE, "ann")):
            ws.telemetry.record_event(
                SeenSession("openclaw", agent, session, "t", None, None, "turn-end", when, None, None, lane)
            )
    found = shown(root, "2026-11-20T11:30:00.000Z")
    assert (found.current, found.last_message, found.stale) == ("s-2", "2026-11-20T10:30:00.000Z", False)


def test_agents_are_told_apart(root: Path) -> None:
    talked(root, "s-1")
    talked(root, "s-2", agent_id="ann")
    assert [row.session_id for row in shown(root, NINE + ":30:00.000Z", agent="ann").sessions] == ["s-2"]
    assert len(shown(root, NINE + ":30:00.000Z", agent=None).sessions) == 2


def test_a_lane_that_nobody_was_in_is_empty_and_not_over(root: Path) -> None:
    found = shown(root, f"{NINE}:00:00.000Z", "home:main")
    assert (found.sessions, found.current, found.last_message, found.stale, found.why) == ([], None, None, False, None)


def test_wildcards_in_a_lane_are_no_wildcards(root: Path) -> None:
    talked(root, "s-1")
    assert shown(root, f"{NINE}:00:00.000Z", "home:telegram:dm:%").sessions == []
    assert shown(root, f"{NINE}:00:00.000Z", "home:telegram:dm:12_").sessions == []
    assert shown(root, f"{NINE}:00:00.000Z", "").sessions == []


def test_the_settings_make_the_lane_of_a_message(root: Path) -> None:
    more = '[identity_links]\nalice = ["telegram:123", "discord:456"]\n'
    (root / "lineage.toml").write_text(SETTINGS + 'dm_scope = "per-peer"\n' + more)
    from lineage.app.workspace import open_workspace

    ws = open_workspace(root)
    try:
        assert resolve_lane(ws, "home", "Telegram", "", " 123") == resolve_lane(ws, "home", "discord", "x", "456")
        assert resolve_lane(ws, "home", "telegram", "", "456") == "home:dm:telegram/456"
    finally:
        ws.close()


def test_the_command_says_how_the_lane_stands(lineage: LineageCommand) -> None:
    lineage("init")
    said = [{"role": "user", "text": "Hi.", "at": shift_time(clock.now(), days=-3)}]
    payload = {"harness": "openclaw", "session_id": "s-1", "lane": LANE, "transcript": said}
    assert run_process(lineage.root, "session-end", "--stdin", stdin=json.dumps(payload).encode()).code == 0
    over = lineage("sessions", "--lane", LANE)
    assert (over.code, "s-1" in over.out, "is over since" in over.out, "daily reset" in over.out) == (
        0,
        True,
        True,
        True,
    )
    keys = ["lane", "sessions", "current", "last_message", "over_at", "why", "stale"]
    assert list(lineage("sessions", "--lane", LANE, "--json").json) == keys
    (lineage.root / "lineage.toml").write_text('[sessions]\ndaily_reset = ""\n')
    assert "session s-1 goes on, last message" in lineage("sessions", "--lane", LANE).out
    assert lineage("sessions", "--lane", "home:main").out == "no sessions in the lane home:main yet\n"
    (lineage.root / "lineage.toml").write_text('[sessions]\nreset_time_zone = "Mars"\n')
    assert "not a time zone" in lineage("sessions", "--lane", LANE).err
