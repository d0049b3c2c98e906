"""Spec, test 10: a reindex does not touch what the database alone knows.

Fails when `reindex`, `Index.reset` or `discard` reach runtime.db, when the counters move into index.db,
and when a resumed session counts the turns of its earlier captures again.
"""

from pathlib import Path

from lineage.pipeline.house import House
from lineage.pipeline.lookup import show
from lineage.pipeline.upkeep.reindexing import reindex
from tests.support.houses import at, compact, end, house_at, turns
from tests.support.indexes import changed, lose, spoil, tables

LATER = "2026-11-22T08:00:00.000Z"


def used(root: Path) -> None:
    """A workspace whose sessions were captured, compacted and looked at, one with a rank."""
    with house_at(root) as house:
        end(house, transcript=turns("Why?", "Because of AKIA" + "QWERTYUIOPASDFGH."))
        talk = turns("One?", "Yes.", "Two?", "Yes.")
        end(house, "s-2", transcript=talk[:2])
        end(house, "s-2", transcript=talk)
        compact(house, "s-2")
        for _ in range(3):
            show(at(house, LATER), "s-1", "summary")
        changed(house.telemetry, "update access set rank = 0.75 where shown = 3")


def runtime(house: House) -> dict[str, list[tuple[object, ...]]]:
    """Every table of the runtime state, but for the time of the last render, which a reindex is."""
    return {
        name: sorted(row for row in rows if not str(row[0]).startswith("rendered "))
        for name, rows in tables(house.telemetry).items()
    }


def test_a_reindex_keeps_counters_ranks_and_times(tmp_path: Path) -> None:
    used(tmp_path)
    with house_at(tmp_path, now=LATER) as house:
        before = runtime(house)
        assert before["access"][0][1:] == (3, LATER, 0.75)
        assert house.telemetry.counters() == {
            "captures": 3, "compactions": 1, "turns": 6, "redactions": 1, "shown": 3,
        }  # fmt: skip
        for _ in range(2):
            reindex(house, confirmed=True)
            assert runtime(house) == before


def test_the_loss_of_the_index_leaves_them_alone(tmp_path: Path) -> None:
    used(tmp_path)
    with house_at(tmp_path, now=LATER) as house:
        before = runtime(house)
    lose(tmp_path)
    with house_at(tmp_path, now=LATER) as house:
        reindex(house)
        assert runtime(house) == before


def test_a_damaged_index_leaves_them_alone(tmp_path: Path) -> None:
    used(tmp_path)
    with house_at(tmp_path, now=LATER) as house:
        before = runtime(house)
    spoil(tmp_path)
    with house_at(tmp_path, now=LATER) as house:
        assert house.index.is_new
        reindex(house)
        assert runtime(house) == before


def test_a_reindex_whose_files_are_all_gone_leaves_them_alone(tmp_path: Path) -> None:
    used(tmp_path)
    for path in (tmp_path / "memory").glob("*.md"):
        path.unlink()
    with house_at(tmp_path, now=LATER) as house:
        before = runtime(house)
        assert reindex(house, confirmed=True).dropped == 9
        assert runtime(house) == before


def test_a_repeated_flow_counts_nothing_twice(tmp_path: Path) -> None:
    used(tmp_path)
    with house_at(tmp_path, now=LATER) as house:
        before = runtime(house)
        end(house, "s-2", transcript=turns("One?", "Yes.", "Two?", "Yes."))
        compact(house, "s-2")
        assert runtime(house) == before


def test_counters_have_no_part_in_memory_md_and_in_the_ranking_of_search(tmp_path: Path) -> None:
    used(tmp_path)
    with house_at(tmp_path, now=LATER) as house:
        text, hits = house.canon.store.read("MEMORY.md").data, house.index.search("reader because", None, limit=5)
        for _ in range(50):
            show(house, "s-2", "summary")
        reindex(house)
        assert house.canon.store.read("MEMORY.md").data == text
        assert house.index.search("reader because", None, limit=5) == hits
