"""Lessons, 22: "Decay hides a user-stated preference after 16 turns."

Fails where `ranked` of pipeline/knowledge/said.py puts what is newer before what the user stated, where age or the
number of sessions has a part in it, and where `is_exempt` of core/books/book_edits.py lets such an entry roll over.
"""

from pathlib import Path

import pytest

from lineage.core.books.entry import ASSISTANT_TURN
from lineage.core.capture.ledger import Window
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.workspace.publish import publish_all, render_agent_memory
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace

STATED = "Prefers tabs over spaces in Makefiles."


def talk(ws: Workspace, count: int) -> None:
    """Sessions of many turns, each of which leaves something derived."""
    for number in range(count):
        words = [f"Step {number}.{turn}" for turn in range(20)]
        hour = f"2026-11-{number % 20 + 1:02d}T{number % 24:02d}"
        end_session(ws, f"s-{number}", transcript=make_turns(*words, start=f"{hour}:00"))
        for kind in ("preference", "decision", "note"):
            body = f"Derived {kind} {number} is that the demo needs care."
            write_entry(ws, "global", kind, body, source=ASSISTANT_TURN, at=f"{hour}:30:00Z")
    publish_all(ws)


@pytest.mark.slow
@pytest.mark.parametrize("year", [2019, 2026])
def test_after_many_turns_and_years_it_is_still_said_first(tmp_path: Path, year: int) -> None:
    with open_test_workspace(tmp_path, now="2026-11-21T12:00:00.000Z") as ws:
        write_entry(ws, "global", "preference", STATED, at=f"{year}-01-01T00:00:00Z")
        talk(ws, 40)
        for now in ("2026-11-21T12:00:00.000Z", "2031-11-21T12:00:00.000Z"):
            text = build_context(at_time(ws, now), ContextRequest(project="/home/ada/demo")).text
            (first, *_) = text.partition("## Rules and preferences\n")[2].split("\n")
            assert first == f"> - [user-stated] preference, {year}-01-01: {STATED}"
        head = render_agent_memory(ws, "default", ws.index.load_ledger("default", Window.from_end(ws.now))).text
        assert head.partition("## Rules\n\n")[2].startswith(f"- [user-stated] {STATED}")


@pytest.mark.slow
def test_it_outlives_the_cap_of_its_book(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path, now="2026-11-21T12:00:00.000Z") as ws:
        write_entry(ws, "global", "preference", STATED, at="2019-01-01T00:00:00Z")
        for number in range(150):
            write_entry(ws, "global", "preference", f"Derived {number}.", source=ASSISTANT_TURN)
        ws.documents.books.roll_over("global", "preference")
        assert STATED in build_context(ws, ContextRequest()).text
