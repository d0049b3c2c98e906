"""Lessons, 28: "120 decisions, compacted every 5: 52 survive anywhere. Open tasks are merged into a summary."

Fails without `archive` before `settle` in `Books.roll_over`, and without `is_open` in `is_exempt` of `book_edits`.
"""

from pathlib import Path

import pytest

from lineage.pipeline.memory.books import EntryLocation, pin_entry, read_contents, set_task_done
from lineage.pipeline.memory.remember import Memo, remember
from lineage.workspace.workspace import Workspace
from tests.support.workspace import at_time, open_memory_workspace

SCOPE = "agent/ann"


def later(ws: Workspace, number: int) -> Workspace:
    return at_time(ws, f"2026-11-21T12:{number // 60:02d}:{number % 60:02d}.000Z")


def places(ws: Workspace, kind: str, *, in_use: bool) -> list[EntryLocation]:
    refs = [ref for ref in ws.documents.books.list_shelves(SCOPE, kind) if (ref.shelf == "") == in_use]
    return [place for ref in refs for place in read_contents(ws, ref).entries]


@pytest.mark.slow
def test_120_decisions_survive_word_for_word(tmp_path: Path) -> None:
    texts = [f"Decision {number}: the part {number} stays as it is." for number in range(120)]
    with open_memory_workspace(tmp_path) as ws:
        for number, text in enumerate(texts):
            said = remember(later(ws, number), Memo(text=text, scope=SCOPE, kind="decision"))
            if number == 7:
                pin_entry(ws, str(said.id))
        in_use, archived = (places(ws, "decision", in_use=flag) for flag in (True, False))
        found = [place.entry.body for place in (*archived, *in_use)]
        assert sorted(found) == sorted(texts)
        assert len(in_use) <= 30
        assert texts[7] in [place.entry.body for place in in_use]
        assert texts[-20:] == [place.entry.body for place in in_use][-20:]


@pytest.mark.slow
def test_open_tasks_stay_each_by_itself_and_done_ones_roll_over(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        for number in range(60):
            said = remember(later(ws, number), Memo(text=f"Task number {number}", scope=SCOPE, kind="task"))
            if number % 2:
                set_task_done(ws, str(said.id))
        in_use, archived = (places(ws, "task", in_use=flag) for flag in (True, False))
        still_open = [f"Task number {number}" for number in range(0, 60, 2)]
        assert [place.entry.body for place in in_use if not place.entry.done] == still_open
        assert archived
        assert all(place.entry.done for place in archived)
        assert len(in_use) + len(archived) == 60
