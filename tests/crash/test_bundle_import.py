"""An import that dies at any call, and `recover`, or the next command: it is there as a whole, or not at all.

Fails without the dispatch on `IMPORT` in `_finish_job` of pipeline/upkeep/resuming.py, and without IMPORT in its
`resume`.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.request import SESSION_END, parse_request
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.verify import verify
from lineage.workspace.workspace import Workspace
from tests.support.bundles import TURNS, export_bundle, importing_flow, write_session_with_books
from tests.support.dead_processes import list_mutating_calls, list_spool_paths, read_workspace_files, run_until_crash
from tests.support.faults import CrashPoint
from tests.support.workspace import NOW, make_turns, open_test_workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    with open_test_workspace(tmp_path / "there") as there:
        write_session_with_books(there)
        return export_bundle(there)


@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_recover_finishes_an_import_that_died_anywhere(tmp_path: Path, data: bytes, restore: bool, after: bool) -> None:
    flow, whole = importing_flow(data, restore=restore), tmp_path / "whole"
    whole.mkdir()
    calls = list_mutating_calls(whole, flow)
    assert not run_until_crash(whole, flow, CrashPoint())
    expected = read_workspace_files(whole)
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert run_until_crash(root, flow, CrashPoint(point, after))
        begun = bool(list_spool_paths(root)) or read_workspace_files(root) == expected
        with open_test_workspace(root, now=NOW) as ws:
            recover(ws)
            assert verify(ws) == [], calls[point - 1]
            again = recover(ws)
            assert (again.finished, again.waiting) == ([], [])
        assert list_spool_paths(root) == []
        found = {path: found for path, found in read_workspace_files(root).items() if path != "MEMORY.md"}
        wanted = {path: found for path, found in expected.items() if path != "MEMORY.md"}
        assert found == (wanted if begun else {}), calls[point - 1]


def test_the_end_of_the_very_session_that_is_being_restored_finishes_it_first(tmp_path: Path, data: bytes) -> None:
    flow = importing_flow(data, restore=True)
    (tmp_path / "calls").mkdir()
    calls = list_mutating_calls(tmp_path / "calls", flow)
    more = [*TURNS, *make_turns("And now?", "Nothing.", start="2026-11-20T20:00")]
    asked = {"harness": "generic", "session_id": "s-1", "project": "/home/ada/demo", "transcript": more}

    def ended(ws: Workspace) -> Any:
        return run_capture(ws, parse_request(SESSION_END, asked, agent_id=None, now="2026-11-21T15:00:00.000Z"))

    for point in range(2, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert run_until_crash(root, flow, CrashPoint(point))
        with open_test_workspace(root, now="2026-11-21T15:00:00.000Z") as ws:
            outcome = ended(ws)
            assert (outcome.status, outcome.turns) == ("captured", 2), calls[point - 1]
            assert (
                len(ws.documents.manifests.get(ws.documents.claims.get_stem(outcome.session_token) or "").captures) == 3
            )
            assert verify(ws) == []
        assert list_spool_paths(root) == []
