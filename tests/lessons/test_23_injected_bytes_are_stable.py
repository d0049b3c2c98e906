"""Lessons, 23: "Clock, nonce or reordering inside the injected block breaks the model's prefix cache: 26.9 s against
0.44 s per turn. Injected bytes must be stable."

Fails where the block says when it was made, where anything in it is in the order of a set, and where what is added to a
later section changes an earlier one.
"""

from pathlib import Path

import pytest

from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.telemetry import SeenSession
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.commands import LineageCommand, run_process
from tests.support.workspace import at_time, end_session, open_test_workspace

pytestmark = pytest.mark.slow

DEMO = "/home/ada/demo"


def furnish(ws: Workspace) -> None:
    for number in range(6):
        end_session(ws, f"s-{number}")
        for scope in ("global", "project/demo", "agent/default"):
            for kind in ("preference", "decision", "lesson", "task", "note"):
                write_entry(ws, scope, kind, f"This {kind} of {scope} has the number {number}.")
    publish_all(ws)


def test_another_process_another_minute_the_same_bytes(lineage: LineageCommand) -> None:
    with open_test_workspace(lineage.root) as ws:
        furnish(ws)
    texts = {
        run_process(lineage.root, "context", "--project", DEMO, PYTHONHASHSEED=str(seed), TZ=zone).out
        for seed, zone in enumerate(("UTC", "Asia/Tokyo", "America/Lima"))
    }
    assert len(texts) == 1
    assert "This preference of global" in texts.pop()


@pytest.mark.parametrize("time", ["12:00:00.001", "17:31:08.250", "23:59:59.999"])
def test_all_day_long_the_same_bytes(tmp_path: Path, time: str) -> None:
    with open_test_workspace(tmp_path, now="2026-11-21T12:00:00.000Z") as ws:
        furnish(ws)
        asked = ContextRequest(project=DEMO)
        assert build_context(at_time(ws, f"2026-11-21T{time}Z"), asked) == build_context(ws, asked)


def test_what_is_added_later_leaves_what_stands_before_it_alone(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1")
        write_entry(ws, "global", "preference", "Prefers tabs.")
        write_entry(ws, "agent/default", "task", "Mend the reader.")
        before = build_context(ws, ContextRequest(project=DEMO)).body
        write_entry(ws, "agent/default", "task", "Feed the wombat.", at="2026-11-20T11:00:00Z")
        publish_all(ws)
        after = build_context(ws, ContextRequest(project=DEMO)).body
        assert after != before
        assert after.partition("Feed the wombat.")[0] == before.partition("Mend the reader.")[0]


def test_a_prepared_block_that_would_stay_the_same_is_not_written_again(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        furnish(ws)
        ws.telemetry.record_event(SeenSession("generic", "default", "s-1", "t", None, DEMO, "turn-end", ws.now, None))
        assert prepare_contexts(ws) == 2  # the project's, and that of no project
        assert prepare_contexts(at_time(ws, "2026-11-21T23:00:00.000Z")) == 0
