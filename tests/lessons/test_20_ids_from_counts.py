"""Lessons, 20: "Ids from a count of what exists: 105 adds left 100 entries with 96 distinct ids."

Fails where an id is made of anything that other entries change: a count, a time, a place in the file.
"""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.core.books.entry import compute_entry_id
from lineage.pipeline.memory.books import forget_entry, read_contents
from lineage.pipeline.memory.remember import Memo, remember
from lineage.workspace.workspace import Workspace
from tests.support.workspace import at_time, open_memory_workspace


def ids(ws: Workspace, scope: str, kind: str) -> list[str]:
    refs = ws.documents.books.list_shelves(scope, kind)
    return [place.entry.id for ref in refs for place in read_contents(ws, ref).entries]


@pytest.mark.slow
def test_105_adds_make_105_entries_with_105_ids(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        for number in range(105):
            later = at_time(ws, f"2026-11-21T12:{number // 60:02d}:{number % 60:02d}.000Z")
            memo = Memo(text=f"The decision of day {number} holds.", scope="agent/ann", kind="decision")
            assert remember(later, memo).status == "remembered"
        found = ids(ws, "agent/ann", "decision")
        assert (len(found), len(set(found))) == (105, 105)
        assert len(read_contents(ws, ws.documents.books.list_shelves("agent/ann", "decision")[0]).entries) <= 30


def test_forgetting_in_between_gives_no_id_away(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        first = remember(ws, Memo(text="The first note is this.")).id
        second = remember(ws, Memo(text="The second note is this.")).id
        forget_entry(ws, str(first))
        third = remember(ws, Memo(text="The third note is this.")).id
        assert len({first, second, third}) == 3
        assert set(ids(ws, "global", "note")) == {second, third}


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.sampled_from(["global", "agent/a"]), st.sampled_from(["note", "fact"]), st.text(min_size=1)),
        unique_by=lambda one: (one[0], one[1], one[2].strip()),
    )
)
def test_an_id_is_of_the_entry_alone(entries: list[tuple[str, str, str]]) -> None:
    alone = {one: compute_entry_id(*one, None) for one in entries}
    assert {one: compute_entry_id(*one, None) for one in reversed(entries)} == alone
