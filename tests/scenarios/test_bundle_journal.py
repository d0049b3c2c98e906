"""An import is there as a whole or not at all: it is finished from its job, or undone.

Fails without `undo` in `_finish_or_undo` of pipeline/bundles/bundling.py, without any deletion or row that it takes
back, without the question to the tombstones in `finish_session_import`, and without `unfinished` in app/bundling.py.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from lineage.documents import Documents
from lineage.documents.bundle_zip import unpack
from lineage.errors import WorkspaceError
from lineage.pipeline.maintenance.finish_pending import finish_pending, run_capture
from lineage.pipeline.maintenance.import_journal import finish_import
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.transfer.bundles import import_bundle
from lineage.store import LocalStore
from lineage.workspace.workspace import Workspace
from tests.support.bundles import export_bundle, importing_flow, read_documents, write_session_with_books
from tests.support.commands import LineageCommand
from tests.support.dead_processes import (
    leave_dead_process,
    list_mutating_calls,
    list_spool_paths,
    read_workspace_files,
    run_until_crash,
)
from tests.support.faults import CrashPoint
from tests.support.workspace import (
    NOW,
    at_time,
    build_end_request,
    end_session,
    make_turns,
    open_test_workspace,
    read_store,
)

pytestmark = pytest.mark.slow

AFTERWARDS = "2026-11-21T14:00:00.000Z"


@pytest.mark.slow
@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_an_import_that_died_anywhere_is_finished_from_its_job(tmp_path: Path, restore: bool, after: bool) -> None:
    with open_test_workspace(tmp_path / "there") as there:
        write_session_with_books(there)
        data = export_bundle(there)
    flow = importing_flow(data, restore=restore)
    whole = tmp_path / "whole"
    whole.mkdir()
    calls = list_mutating_calls(whole, flow)
    assert not run_until_crash(whole, flow, CrashPoint())
    expected = read_workspace_files(whole)
    assert len(calls) > 10
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert run_until_crash(root, flow, CrashPoint(point, after))
        begun = bool(list_spool_paths(root))
        assert begun or read_workspace_files(root) in ({}, expected), calls[point - 1]
        with open_test_workspace(root, now=NOW) as ws:
            for job in ws.documents.spool.list_pending():
                finish_import(ws, job)
            assert verify(ws) == [], calls[point - 1]
        assert list_spool_paths(root) == []
        assert read_workspace_files(root) in ([expected] if begun else [{}, expected]), calls[point - 1]


class _Failing(LocalStore):
    """A store whose disk is full from some write on; what is deleted is deleted."""

    def __init__(self, root: Path, writes: int) -> None:
        super().__init__(root)
        self.left = writes

    def create(self, key: str, data: bytes, *, frozen: bool = False) -> str:
        if not key.startswith(".lineage/"):
            self.left -= 1
        if self.left < 0 and key.startswith(("memory/", "books/")):
            raise WorkspaceError(f"{key}: no space left on device")
        return super().create(key, data, frozen=frozen)


@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
def test_an_import_whose_writing_fails_is_undone(tmp_path: Path, there: Workspace, restore: bool) -> None:
    token = write_session_with_books(there)
    data = export_bundle(there)
    for writes in range(len(unpack(data).files) + 1):
        root = tmp_path / f"full-{writes}"
        root.mkdir()
        (root / "books" / "session" / token).mkdir(parents=True)
        with open_test_workspace(root, store=_Failing(root, writes)) as ws:
            end_session(_plain(ws, root), "other")
            before = read_store(ws.documents.store, "memory/", "books/")
            with pytest.raises(WorkspaceError):
                import_bundle(ws, data, restore=restore)
            assert read_store(ws.documents.store, "memory/", "books/") == before
            assert ws.documents.spool.list_pending() == []
            assert len(ws.index.list_sessions(None)) == 1
            assert verify(ws) == []


def _plain(ws: Workspace, root: Path) -> Workspace:
    """The same workspace over a disk with room."""
    return replace(ws, documents=Documents(LocalStore(root), ws.documents.spool.store))


def test_a_session_that_was_removed_while_its_import_was_cut_off_goes_again(tmp_path: Path, there: Workspace) -> None:
    token = write_session_with_books(there)
    data = export_bundle(there)
    root = tmp_path / "root"
    root.mkdir()
    with open_test_workspace(root) as ws:
        import_bundle(ws, data, restore=True)
    flow = importing_flow(data, copy=True)
    calls = list_mutating_calls(root, flow)
    assert run_until_crash(root, flow, CrashPoint(len(calls) - 1))
    with open_test_workspace(root) as ws:
        (job,) = ws.documents.spool.list_pending()
        ws.documents.spool.clear(job)
        remove(ws, token, reason="asked for")
        ws.documents.spool.put(job)
        finish_import(ws, job)
        assert ws.documents.spool.list_pending() == []
        assert [path for path in read_documents(ws) if job.token in path] == []
        assert [finding for finding in verify(ws) if job.token in finding.path] == []


def test_the_import_of_a_session_that_was_claimed_meanwhile_is_undone_and_stops_no_capture(
    tmp_path: Path, there: Workspace
) -> None:
    write_session_with_books(there)
    root = tmp_path / "root"
    root.mkdir()
    flow = importing_flow(export_bundle(there), restore=True)
    leave_dead_process(root, flow, dies_at="spool", after=True)
    with open_test_workspace(root) as ws:
        (job,) = ws.documents.spool.list_pending()
        assert end_session(at_time(ws, AFTERWARDS), "s-1").session_token == job.token
        assert ws.documents.spool.list_pending() == [job]
        before = read_documents(ws)
        other = run_capture(at_time(ws, AFTERWARDS), build_end_request(ws, "s-2"))
        assert other.status == "captured"
        assert ws.documents.spool.list_pending() == []
        assert {path: data for path, data in read_documents(ws).items() if other.session_token not in path} == before
        assert sorted(row.session_id for row in ws.index.list_sessions(None)) == ["s-1", "s-2"]


def test_an_undone_import_leaves_what_another_wrote_under_the_same_name(tmp_path: Path, there: Workspace) -> None:
    write_session_with_books(there)
    root = tmp_path / "root"
    root.mkdir()
    leave_dead_process(root, importing_flow(export_bundle(there), restore=True), dies_at="spool", after=True)
    with open_test_workspace(root) as ws:
        (job,) = ws.documents.spool.list_pending()
        day, _, time = job.payload["stem"].partition("--")[0].partition("T")
        at = f"{day}T{time.replace('-', ':')}"
        end_session(ws, "s-1", transcript=make_turns("Other words.", "Indeed."), captured_at=at)
        before = read_documents(ws)
        finish_pending(ws)
        assert ws.documents.spool.list_pending() == []
        assert read_documents(ws) == before
        assert [row.session_token for row in ws.index.list_sessions(None)] == [job.token]


def test_importing_again_what_was_cut_off_finishes_it(
    tmp_path: Path, there: Workspace, lineage: LineageCommand
) -> None:
    write_session_with_books(there)
    file = tmp_path / "x.zip"
    file.write_bytes(export_bundle(there))
    lineage("init")
    flow = importing_flow(file.read_bytes())
    calls = list_mutating_calls(lineage.root, flow)
    assert run_until_crash(
        lineage.root, flow, CrashPoint(next(n for n, call in enumerate(calls, 1) if "manifest" in call))
    )
    (job,) = list_spool_paths(lineage.root)
    done = lineage("bundle", "import", str(file), "--json").json
    assert done["sessions"][0]["session_token"] in job
    assert len(lineage("sessions", "--json").json["sessions"]) == 1
    assert list_spool_paths(lineage.root) == []
