"""Lessons, 28: "120 decisions, compacted every 5: 52 survive anywhere. Open tasks are merged into a summary."

Fails without `archive` before `settle` in `Books.roll_over`, and without `is_open` in `stays` of core/rollover.py.
"""

from pathlib import Path

import pytest

from lineage.pipeline.house import House
from lineage.pipeline.knowledge.bookkeeping import Place, done, opened, pin
from lineage.pipeline.knowledge.remembering import Memo, remember
from tests.support.houses import at, memory_house

SCOPE = "agent/ann"


def later(house: House, number: int) -> House:
    return at(house, f"2026-11-21T12:{number // 60:02d}:{number % 60:02d}.000Z")


def places(house: House, kind: str, *, in_use: bool) -> list[Place]:
    refs = [ref for ref in house.canon.books.shelves(SCOPE, kind) if (ref.shelf == "") == in_use]
    return [place for ref in refs for place in opened(house, ref).places]


@pytest.mark.slow
def test_120_decisions_survive_word_for_word(tmp_path: Path) -> None:
    texts = [f"Decision {number}: the part {number} stays as it is." for number in range(120)]
    with memory_house(tmp_path) as house:
        for number, text in enumerate(texts):
            said = remember(later(house, number), Memo(text=text, scope=SCOPE, kind="decision"))
            if number == 7:
                pin(house, str(said.id))
        in_use, archived = (places(house, "decision", in_use=flag) for flag in (True, False))
        found = [place.entry.body for place in (*archived, *in_use)]
        assert sorted(found) == sorted(texts)
        assert len(in_use) <= 30
        assert texts[7] in [place.entry.body for place in in_use]
        assert texts[-20:] == [place.entry.body for place in in_use][-20:]


@pytest.mark.slow
def test_open_tasks_stay_each_by_itself_and_done_ones_roll_over(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        for number in range(60):
            said = remember(later(house, number), Memo(text=f"Task number {number}", scope=SCOPE, kind="task"))
            if number % 2:
                done(house, str(said.id))
        in_use, archived = (places(house, "task", in_use=flag) for flag in (True, False))
        still_open = [f"Task number {number}" for number in range(0, 60, 2)]
        assert [place.entry.body for place in in_use if not place.entry.done] == still_open
        assert archived
        assert all(place.entry.done for place in archived)
        assert len(in_use) + len(archived) == 60
