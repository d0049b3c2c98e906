"""The head of MEMORY.md as books and rows make it: what every session and the agent are to know, and what is open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.core.book_paths import PENDING
from lineage.core.entry import ASSISTANT_TURN
from lineage.core.window import Window
from lineage.pipeline.house import House
from lineage.pipeline.publishing import publish_all, rendered
from tests.support.books import by_hand, put
from tests.support.houses import end, house_at
from tests.unit.pipeline.knowledge.test_context import bury, capture

LEDGER = "\n## Session Ledger"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_at(tmp_path) as house:
        yield house
        publish_all(house)


def head(house: House, agent: str = "default") -> str:
    text = rendered(house, agent, house.index.ledger(agent, Window.ending(house.now))).text
    return text.partition(LEDGER)[0]


def rows(house: House, heading: str, agent: str = "default") -> list[str]:
    lines = head(house, agent).partition(f"## {heading}\n\n")[2].partition("\n\n")[0].split("\n")
    return [line.partition(" · ")[0] for line in lines if line]


def test_what_is_remembered_for_all_and_for_the_agent(house: House) -> None:
    put(house, "global", "preference", "Prefers Go.")
    put(house, "global", "note", "A note for all.", at="2026-11-20T11:00:00Z")
    put(house, "agent/default", "decision", "This agent decided.", source=ASSISTANT_TURN)
    put(house, "agent/eve", "decision", "Eve decided.")
    put(house, "project/demo", "decision", "The project decided.")
    by_hand(house, "books/global/decision.md", "Written by hand.\n")
    assert rows(house, "Curated Memory") == [
        "- [user-stated] A note for all.",
        "- [user-stated] Prefers Go.",
        "- [user-stated] Written by hand.",
        "- [derived] This agent decided.",
    ]
    assert "Eve decided." in head(house, "eve")


def test_open_tasks_those_of_active_projects_too(house: House) -> None:
    end(house, "s-1")
    put(house, "global", "task", "Buy milk.")
    put(house, "project/demo", "task", "Mend the reader.", at="2026-11-20T11:00:00Z")
    put(house, "project/other", "task", "Mend the other.")
    by_hand(house, "books/agent/default/task.md", "- [x] Done\n- [ ] Not done\n")
    assert rows(house, "Open Tasks") == [
        "- [user-stated] Mend the reader.", "- [user-stated] Buy milk.", "- [user-stated] Not done",
    ]  # fmt: skip
    assert rows(house, "Active Projects") == ["- demo"]


@pytest.mark.leaves_findings
def test_nothing_that_waits_was_removed_or_is_private(house: House) -> None:
    private = capture(house, "s-1", private=True)
    removed = capture(house, "s-2")
    put(house, "global", "preference", "Waits.", shelf=PENDING)
    put(house, "global", "decision", "Private.", origin=f"[[{private}]]")
    put(house, "agent/default", "task", "Private task.", origin=f"[[{private}]]")
    put(house, "global", "note", "Removed.", origin=f"[[{removed}]]")
    assert rows(house, "Curated Memory") == ["- [user-stated] Removed."]
    bury(house, "s-2")
    assert "## Curated Memory" not in head(house)
    assert "## Open Tasks" not in head(house)


def test_the_head_leads_to_its_books_and_is_the_same_again(house: House) -> None:
    put(house, "global", "preference", "Prefers [[Go]]\n## Over Python.")
    row = "- [user-stated] Prefers \\[\\[Go\\]\\] ## Over Python. · preference, 2026-11-20"
    assert f"\n{row} · [[books/global/preference.md|book]]\n" in head(house)
    assert head(house) == head(house)
