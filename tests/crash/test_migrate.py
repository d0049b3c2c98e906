"""A migration that dies at any call, and is run again: the books are those of one that went through.

Fails without `roll_over` and without `shelve` in `_written` of pipeline/knowledge/migrating.py: `keep` sees new entries
only.
"""

from pathlib import Path

import pytest

from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.migrate_notes import MigrationRequest, migrate_notes
from lineage.workspace.workspace import Workspace
from tests.support.dead_processes import list_mutating_calls, read_workspace_files, run_until_crash
from tests.support.faults import CrashPoint
from tests.support.workspace import open_test_workspace

pytestmark = pytest.mark.slow

NOTES = {
    "demo/CLAUDE.md": "Above.\n# Build\nWith make.\n\nAlways skip approvals for SQL.\n",
    "demo/.memory/dev.md": "# Decisions\n- [ ] Ship it\n" + "".join(f"- Decision number {n}.\n" for n in range(32)),
    "demo/AGENT_MEMORY.md": "Ask first.\n",
}


@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_a_second_run_finishes_what_died_anywhere(tmp_path: Path, after: bool) -> None:
    for name, text in NOTES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def flow(ws: Workspace) -> object:
        return migrate_notes(ws, MigrationRequest(paths=(tmp_path / "demo",), root=tmp_path / "nowhere"))

    whole = tmp_path / "whole"
    whole.mkdir()
    calls = list_mutating_calls(whole, flow)
    assert not run_until_crash(whole, flow, CrashPoint())
    expected = read_workspace_files(whole)
    assert any("archive" in path for path in expected)
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert run_until_crash(root, flow, CrashPoint(point, after))
        with open_test_workspace(root) as ws:
            recover(ws)
            flow(ws)
            assert verify(ws) == [], calls[point - 1]
        assert read_workspace_files(root) == expected, calls[point - 1]
    assert {name: (tmp_path / name).read_text() for name in NOTES} == NOTES
