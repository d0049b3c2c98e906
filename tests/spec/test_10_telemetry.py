"""Spec, test 10: a reindex does not touch what the database alone knows.

Fails when `reindex`, `Index.reset` or `discard` reach runtime.db, when the counters move into index.db,
and when a resumed session counts the turns of its earlier captures again.
"""

from pathlib import Path

from lineage.pipeline.maintenance.reindex import reindex
from lineage.workspace.lookup import show_file
from lineage.workspace.workspace import Workspace
from tests.support.indexes import damage_index, delete_database, execute_directly, read_tables
from tests.support.workspace import at_time, compact_session, end_session, make_turns, open_test_workspace

LATER = "2026-11-22T08:00:00.000Z"


def used(root: Path) -> None:
    """A workspace whose sessions were captured, compacted and looked at, one with a rank."""
    with open_test_workspace(root) as ws:
        end_session(ws, transcript=make_turns("Why?", "Because of AKIA" + "QWERTYUIOPASDFGH."))
        talk = make_turns("One?", "Yes.", "Two?", "Yes.")
        end_session(ws, "s-2", transcript=talk[:2])
        end_session(ws, "s-2", transcript=talk)
        compact_session(ws, "s-2")
        for _ in range(3):
            show_file(at_time(ws, LATER), "s-1", "summary")
        execute_directly(ws.telemetry, "update access set rank = 0.75 where shown = 3")


def runtime(ws: Workspace) -> dict[str, list[tuple[object, ...]]]:
    """Every table of the runtime state, but for the time of the last render, which a reindex is."""
    return {
        name: sorted(row for row in rows if not str(row[0]).startswith("rendered "))
        for name, rows in read_tables(ws.telemetry).items()
    }


def test_a_reindex_keeps_counters_ranks_and_times(tmp_path: Path) -> None:
    used(tmp_path)
    with open_test_workspace(tmp_path, now=LATER) as ws:
        before = runtime(ws)
        assert before["access"][0][1:] == (3, LATER, 0.75)
        assert ws.telemetry.read_counters() == {
            "captures": 3, "compactions": 1, "turns": 6, "redactions": 1, "shown": 3,
        }  # fmt: skip
        for _ in range(2):
            reindex(ws, confirmed=True)
            assert runtime(ws) == before


def test_the_loss_of_the_index_leaves_them_alone(tmp_path: Path) -> None:
    used(tmp_path)
    with open_test_workspace(tmp_path, now=LATER) as ws:
        before = runtime(ws)
    delete_database(tmp_path)
    with open_test_workspace(tmp_path, now=LATER) as ws:
        reindex(ws)
        assert runtime(ws) == before


def test_a_damaged_index_leaves_them_alone(tmp_path: Path) -> None:
    used(tmp_path)
    with open_test_workspace(tmp_path, now=LATER) as ws:
        before = runtime(ws)
    damage_index(tmp_path)
    with open_test_workspace(tmp_path, now=LATER) as ws:
        assert ws.index.needs_reindex
        reindex(ws)
        assert runtime(ws) == before


def test_a_reindex_whose_files_are_all_gone_leaves_them_alone(tmp_path: Path) -> None:
    used(tmp_path)
    for path in (tmp_path / "memory").glob("*.md"):
        path.unlink()
    with open_test_workspace(tmp_path, now=LATER) as ws:
        before = runtime(ws)
        known = ws.index.load_hashes(path for path in ws.index.load_stamps() if path.endswith("--transcript.md"))
        assert reindex(ws, confirmed=True).dropped == 9
        after = runtime(ws)
        # what is gone leaves the hash that it had, and changes no counter
        assert {(path, sha256) for path, _, sha256 in after.pop("lost")} == set(known.items())
        assert before.pop("lost") == []
        assert after == before


def test_a_repeated_flow_counts_nothing_twice(tmp_path: Path) -> None:
    used(tmp_path)
    with open_test_workspace(tmp_path, now=LATER) as ws:
        before = runtime(ws)
        end_session(ws, "s-2", transcript=make_turns("One?", "Yes.", "Two?", "Yes."))
        compact_session(ws, "s-2")
        assert runtime(ws) == before


def test_counters_have_no_part_in_memory_md_and_in_the_ranking_of_search(tmp_path: Path) -> None:
    used(tmp_path)
    with open_test_workspace(tmp_path, now=LATER) as ws:
        text, hits = ws.documents.store.read("MEMORY.md").data, ws.index.search("reader because", None, limit=5)
        for _ in range(50):
            show_file(ws, "s-2", "summary")
        reindex(ws)
        assert ws.documents.store.read("MEMORY.md").data == text
        assert ws.index.search("reader because", None, limit=5) == hits
