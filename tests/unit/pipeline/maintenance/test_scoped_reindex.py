"""The reindex of a scope makes its rows anew and leaves all others alone.

Fails without any condition of `find_tokens` or `holds`, without `is_anew`, `orphaned`, the look at sessions without
rows, and where every agent's MEMORY.md is rendered.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from lineage.core.base.naming import derive_session_token, memory_md_path
from lineage.errors import NotFoundError
from lineage.index import ArtifactRow
from lineage.pipeline.maintenance.reindex import SuddenLoss, reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.scoped_reindex import ReindexScope, reindex_scope
from lineage.workspace.lookup import load_row
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand
from tests.support.workspace import end_session, open_test_workspace, read_rows, read_store

SESSIONS = (("s-1", "ada", "/home/ada/demo"), ("s-2", "ada", "/home/ada/other"), ("s-3", "bob", "/srv/demo"))
SCOPES = {
    "agent": (ReindexScope("ada"), {"s-1", "s-2"}),
    "name": (ReindexScope(project="demo"), {"s-1", "s-3"}),
    "folder": (ReindexScope(project="/home/ada/demo"), {"s-1"}),
    "both": (ReindexScope("bob", "demo"), {"s-3"}),
}


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path / "w") as opened:
        for session, agent, project in SESSIONS:
            end_session(opened, session, agent_id=agent, project=project)
        reindex(opened)
        yield opened


def list_titles(ws: Workspace) -> set[tuple[str, bool]]:
    """Each session, and whether a title of its rows is spoilt."""
    return {(row["session_id"], row["title"] == "spoilt") for row in read_rows(ws)}


def spoil(ws: Workspace) -> None:
    """Write another title into every row."""
    loaded = (load_row(ws.documents.store, path) for path in ws.index.load_stamps())
    ws.index.upsert(found[0]._replace(title="spoilt") for found in loaded if found)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCOPES)
def test_rows_of_the_scope_are_made_anew_and_no_others(ws: Workspace, name: str) -> None:
    scope, sessions = SCOPES[name]
    spoil(ws)
    report = reindex_scope(ws, scope)
    assert list_titles(ws) == {(session, session not in sessions) for session, _, _ in SESSIONS}
    assert (report.unchanged, report.added, report.changed, report.dropped) == (3 * len(sessions), 0, 0, 0)
    reindex_scope(ws, ReindexScope())


@pytest.mark.slow
@pytest.mark.parametrize("name", SCOPES)
def test_files_without_rows_get_them_if_they_are_of_the_scope(ws: Workspace, name: str) -> None:
    scope, sessions = SCOPES[name]
    ws.index.delete_paths(list(ws.index.load_stamps()))
    assert reindex_scope(ws, scope).added == 3 * len(sessions)
    assert {row["session_id"] for row in read_rows(ws)} == sessions
    reindex(ws)


@pytest.mark.leaves_findings
def test_what_is_wrong_in_the_scope_is_told_and_what_is_wrong_elsewhere_is_not(ws: Workspace) -> None:
    for session in ("s-1", "s-3"):
        path = next(row["source_path"] for row in read_rows(ws) if row["session_id"] == session)
        blob = ws.documents.store.read(path)
        ws.documents.store.replace(path, blob.data + b"more", blob.version)
    report = reindex_scope(ws, ReindexScope("ada"))
    assert [path for path, _ in report.problems] == [
        next(path for path in ws.documents.store.stat_all("memory/") if derive_session_token("ada", "s-1") in path)
    ]


@pytest.mark.leaves_findings
def test_rows_of_lost_files_go_and_a_sudden_loss_is_asked_about(ws: Workspace) -> None:
    token = derive_session_token("bob", "s-3")
    paths = [path for path in ws.index.load_stamps() if token in path]
    for path in paths[:2]:
        ws.documents.store.delete(path)
    with pytest.raises(SuddenLoss):
        reindex_scope(ws, ReindexScope("bob"))
    assert len(read_rows(ws)) == 9
    assert reindex_scope(ws, ReindexScope("bob"), confirmed=True).dropped == 2
    assert len(read_rows(ws)) == 7
    assert reindex_scope(ws, ReindexScope("ada")).dropped == 0


def test_a_removed_session_s_file_that_came_back_gets_no_row_not_even_for_a_moment(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = derive_session_token("bob", "s-3")
    files = {path: ws.documents.store.read(path).data for path in ws.index.load_stamps() if token in path}
    remove(ws, "s-3", reason="asked for")
    for path, data in files.items():
        ws.documents.store.create(path, data)
    original, written = ws.index.upsert, list[str]()

    def upsert(rows: Iterable[ArtifactRow]) -> None:
        rows = list(rows)
        written.extend(row.session_id for row in rows)
        original(rows)

    monkeypatch.setattr(ws.index, "upsert", upsert)
    reindex_scope(ws, ReindexScope())
    assert set(written) == {"s-1", "s-2"}
    assert {row["session_id"] for row in read_rows(ws)} == {"s-1", "s-2"}
    for path in files:
        ws.documents.store.delete(path)


def test_memory_md_of_the_scope_s_agents_is_rendered_and_an_incomplete_index_is_made_whole(ws: Workspace) -> None:
    texts = {}
    for agent in ("ada", "bob"):
        blob = ws.documents.store.read(memory_md_path(agent))
        ws.documents.store.replace(memory_md_path(agent), b"edited", blob.version)
        texts[agent] = blob.data
    reindex_scope(ws, ReindexScope(project="/srv/demo"))
    assert ws.documents.store.read(memory_md_path("bob")).data == texts["bob"]
    assert ws.documents.store.read(memory_md_path("ada")).data == b"edited"
    ws.index.reset()
    reindex_scope(ws, ReindexScope("bob"))
    assert len(read_rows(ws)) == 9


@pytest.mark.parametrize(
    "scope", [ReindexScope("eve"), ReindexScope("ada", "nowhere"), ReindexScope(project="x")], ids=str
)
def test_a_scope_without_a_session_is_an_error_and_changes_nothing(ws: Workspace, scope: ReindexScope) -> None:
    spoil(ws)
    before = read_store(ws.documents.store, "")
    with pytest.raises(NotFoundError, match=f"no session of {scope}"):
        reindex_scope(ws, scope)
    assert list_titles(ws) == {(session, True) for session, _, _ in SESSIONS}
    assert read_store(ws.documents.store, "") == before
    reindex_scope(ws, ReindexScope())


def test_the_command_takes_a_scope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lineage = LineageCommand(tmp_path / "vault", capsys)
    lineage("init")
    lineage.end_sample()
    assert "0 added, 0 changed, 0 dropped, 3 unchanged" in lineage("reindex", "--agent", "default").out
    for typo in (("--project", "nowhere"), ("--agent", "defualt")):
        done = lineage("reindex", *typo)
        assert (done.code, f"{typo[1]}\n" in done.err) == (1, True), done.err
    assert not (lineage.root / "agents" / "defualt").exists()
    assert lineage("reindex", "--agent", "default", "--recent").code == 2
    assert lineage("reindex", "--agent", "a:b").code == 2
