"""The head of MEMORY.md as books and rows make it: what every session and the agent are to know, and what is open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.core.base.book_paths import PENDING
from lineage.core.books.entry import ASSISTANT_TURN
from lineage.core.capture.ledger import Window
from lineage.workspace.publish import publish_all, render_agent_memory
from lineage.workspace.workspace import Workspace
from tests.support.books import edit_by_hand, write_entry
from tests.support.workspace import end_session, open_test_workspace
from tests.unit.pipeline.memory.test_context import bury, capture

LEDGER = "\n## Session Ledger"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path) as ws:
        yield ws
        publish_all(ws)


def head(ws: Workspace, agent: str = "default") -> str:
    text = render_agent_memory(ws, agent, ws.index.load_ledger(agent, Window.from_end(ws.now))).text
    return text.partition(LEDGER)[0]


def rows(ws: Workspace, heading: str, agent: str = "default") -> list[str]:
    lines = head(ws, agent).partition(f"## {heading}\n\n")[2].partition("\n\n")[0].split("\n")
    return [line.partition(" · ")[0] for line in lines if line]


def test_the_rules_are_the_user_s_for_all_for_the_agent_and_for_active_projects(ws: Workspace) -> None:
    end_session(ws, "s-1")
    write_entry(ws, "global", "preference", "Prefers Go.")
    write_entry(ws, "global", "note", "A note for all.", at="2026-11-20T11:00:00Z")
    write_entry(ws, "agent/default", "decision", "This agent decided.", source=ASSISTANT_TURN)
    write_entry(ws, "agent/eve", "decision", "Eve's user decided.")
    write_entry(ws, "project/demo", "decision", "The project decided.", at="2026-11-20T10:30:00Z")
    write_entry(ws, "project/other", "decision", "Another project decided.")
    edit_by_hand(ws, "books/global/decision.md", "Written by hand.\n")
    assert rows(ws, "Rules") == [
        "- [user-stated] A note for all.",
        "- [user-stated] The project decided.",
        "- [user-stated] Prefers Go.",
        "- [user-stated] Written by hand.",
    ]
    assert "· demo, decision, 2026-11-20 ·" in head(ws)
    assert "Eve's user decided." in head(ws, "eve")


def test_what_the_user_wrote_into_the_curated_file_comes_first(ws: Workspace) -> None:
    text = "# Agent memory\n\n<!-- by hand -->\n\n- Never push to main.\nAsk first.\n"
    edit_by_hand(ws, "AGENT_MEMORY.md", text)
    assert rows(ws, "Curated Memory") == ["- [user-stated] Never push to main.", "- [user-stated] Ask first."]
    write_entry(ws, "global", "preference", "Prefers Go.")
    assert head(ws).index("## Curated Memory") < head(ws).index("## Rules")


def test_open_tasks_those_of_active_projects_too(ws: Workspace) -> None:
    end_session(ws, "s-1")
    write_entry(ws, "global", "task", "Buy milk.")
    write_entry(ws, "project/demo", "task", "Mend the reader.", at="2026-11-20T11:00:00Z")
    write_entry(ws, "project/other", "task", "Mend the other.")
    edit_by_hand(ws, "books/agent/default/task.md", "- [x] Done\n- [ ] Not done\n")
    assert rows(ws, "Open Tasks") == [
        "- [user-stated] Mend the reader.", "- [user-stated] Buy milk.", "- [user-stated] Not done",
    ]  # fmt: skip
    assert "Active Projects" not in head(ws)


@pytest.mark.leaves_findings
def test_nothing_that_waits_was_removed_or_is_private(ws: Workspace) -> None:
    private = capture(ws, "s-1", private=True)
    removed = capture(ws, "s-2")
    write_entry(ws, "global", "preference", "Waits.", shelf=PENDING)
    write_entry(ws, "global", "decision", "Private.", origin=f"[[{private}]]")
    write_entry(ws, "agent/default", "task", "Private task.", origin=f"[[{private}]]")
    write_entry(ws, "global", "note", "Removed.", origin=f"[[{removed}]]")
    assert rows(ws, "Rules") == ["- [user-stated] Removed."]
    bury(ws, "s-2")
    assert "## Rules" not in head(ws)
    assert "## Open Tasks" not in head(ws)


def test_the_head_leads_to_its_books_and_is_the_same_again(ws: Workspace) -> None:
    write_entry(ws, "global", "preference", "Prefers [[Go]]\n## Over Python.")
    row = "- [user-stated] Prefers \\[\\[Go\\]\\] ## Over Python. · preference, 2026-11-20"
    assert f"\n{row} · [[books/global/preference.md|book]]\n" in head(ws)
    assert head(ws) == head(ws)
