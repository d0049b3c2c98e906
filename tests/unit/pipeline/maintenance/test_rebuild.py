"""A rebuild on real files: the same index however it is made, and what changes while it is being made.

What each guard rests on:
- numbers that say nothing of the processes: `done + 1` in `_write_all_rows`.
- a session that is removed meanwhile: `_forget` in `_rebuild`; a file that changes: the comparison behind `_rebuild`.
- one step for everybody: `aside.replace`; without `_UNFINISHED` there a half-written index counts as whole.
- text is not left behind: `collect` and the lock in `folder`, both in index/aside.py.
- nothing changed: `stamps` in `_diff`; what is fetched then is one statement, whatever there is.
"""

import contextlib
import multiprocessing
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lineage.core.base.naming import Identity
from lineage.core.format.documents import Tombstone
from lineage.errors import WorkspaceError
from lineage.index import SqliteIndex, schema, shadow_build
from lineage.index.shadow_build import temporary_folder
from lineage.pipeline.ingest.worker_pool import open_worker_pool
from lineage.pipeline.maintenance import reindex as reindexing
from lineage.pipeline.maintenance.reindex import reindex, sync_rows
from lineage.pipeline.search.found_passages import load_passages
from lineage.workspace.workspace import Workspace
from tests.support.workspace import at_time, compact_session, end_session, make_turns, open_test_workspace, read_rows

SESSIONS = 5
SAID = "Why does reader{0}.py drop the last line?", "It splits on newline {0}; fixed. Größe 修正. {1}fig."
pytestmark = [pytest.mark.slow, pytest.mark.leaves_findings]  # a damaged file is one of those that are read

TABLES = {
    "artifacts": "select * from artifacts order by id",
    "entries": "select * from entries order by stem",
    "days": "select * from days order by agent_id, day, project",
    "search": "select rowid, * from search order by rowid",
    "terms": "select term, doc, offset, col from temp.instances order by doc, col, offset, term",
    "books": "select * from books order by path",
}
QUERIES = ("reader3", "newline fixed", "größe", "修正", "last line")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions, one of them resumed, one compacted and one of another agent; a damaged file and one of nobody's."""
    root = tmp_path_factory.mktemp("rebuilding") / "w"
    with open_test_workspace(root) as ws:
        for number in range(SESSIONS):
            end_session(
                ws, f"s-{number}", transcript=make_turns(*(text.format(number, "qxzvw"[number]) for text in SAID))
            )
        end_session(at_time(ws, "2026-11-21T13:00:00.000Z"), "s-1", transcript=make_turns(*SAID, "More?", "No."))
        compact_session(ws, "s-2", summary="Goal: mend reader2.")
        compact_session(ws, "only-compacted", summary="Goal: split lines.")
        end_session(ws, "reviewed", agent_id="reviewer", transcript=make_turns("Review reader3.py", "Fixed."))
    damaged = sorted((root / "memory").glob("*--summary.md"))[4]
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes() + b"more\n")
    (root / "memory" / "note.md").write_text("by hand")
    return root


@pytest.fixture
def workspace(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which a rebuild takes several batches."""
    monkeypatch.setattr(reindexing, "_MIN_REBUILD", 5)
    monkeypatch.setattr(reindexing, "_REBUILD_BATCH", 3)
    root = tmp_path / "w"
    shutil.copytree(template, root)
    return root


def contents(root: Path) -> dict[str, list[Any]]:
    """What every table says, and that FTS5 finds its own in order."""
    with contextlib.closing(sqlite3.connect(root / ".lineage" / "index.db")) as connection:
        connection.execute("insert into search (search) values ('integrity-check')")
        connection.execute("create virtual table temp.instances using fts5vocab(main, search, instance)")
        return {name: connection.execute(sql).fetchall() for name, sql in TABLES.items()}


def found(ws: Workspace) -> list[Any]:
    """The results of each query, each with its passages: these are the same where the numbers of rows are not."""
    results = []
    for query in QUERIES:
        hits = ws.index.search(query, None, limit=50)
        passages = load_passages(ws, hits, query)
        results.append([(replace(hit, rows=()), texts) for hit, texts in zip(hits, passages, strict=True)])
    return results


def rebuilt(
    root: Path, executor: Executor | None = None
) -> tuple[dict[str, list[Any]], list[Any], reindexing.ReindexReport]:
    with open_test_workspace(root) as ws:
        ws.index.reset()
        report = reindex(ws, executor=executor)
        return contents(root), found(ws), replace(report, published=[])


def test_one_process_and_four_make_the_same_index_with_the_same_numbers(workspace: Path) -> None:
    alone, hits, report = rebuilt(workspace)
    with open_worker_pool(4) as pool:
        together, other_hits, other = rebuilt(workspace, pool.pool)
    assert together == alone
    assert (other_hits, other) == (hits, report)
    assert all(hits)
    listed = sorted((workspace / "memory").glob("*--*.md"))
    assert all(listed[row[0] - 1].name == Path(row[1]).name for row in alone["artifacts"])
    assert (report.added, report.unchanged, len(report.problems), report.strays) == (
        len(alone["artifacts"]), 0, 1, ["memory/note.md"],
    )  # fmt: skip


def test_a_rebuild_says_what_one_in_place_says(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, hits, report = rebuilt(workspace)
    monkeypatch.setattr(reindexing, "_MIN_REBUILD", 10_000)
    in_place, other_hits, other = rebuilt(workspace)
    assert (other_hits, other) == (hits, report)
    for name in ("entries", "days", "books"):
        assert in_place[name] == whole[name]
    assert [row[1:] for row in in_place["artifacts"]] == [row[1:] for row in whole["artifacts"]]
    assert [row[1:] for row in in_place["search"]] == [row[1:] for row in whole["search"]]


class Interrupted(Executor):
    """An executor that does the work here and now, and something else behind the first piece of it."""

    def __init__(self, then: Callable[[], object]) -> None:
        self._then = [then]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        while self._then:
            self._then.pop()()
        return future


def test_a_session_that_is_removed_meanwhile_is_not_there_afterwards(workspace: Path) -> None:
    token = Identity("default", "s-3").token

    def bury() -> None:
        with open_test_workspace(workspace) as other:
            tombstone = Tombstone(
                kind="tombstone", agent_id="default", session_token=token, removed_at=other.now,
                reason="asked for", removed_paths=[], removed_turns=[],
            )  # fmt: skip
            other.documents.tombstones.put(tombstone)

    tables, hits, report = rebuilt(workspace, Interrupted(bury))
    assert not [row for row in tables["artifacts"] if token in row]
    assert not any(hit.session_token == token for several in hits for hit, _ in several)
    assert [path for path in report.buried if token in path]
    assert b"vfig" not in (workspace / ".lineage" / "index.db").read_bytes()


def test_what_is_captured_meanwhile_has_its_rows(workspace: Path) -> None:
    def capture() -> None:
        with open_test_workspace(workspace) as other:
            end_session(other, "newcomer", transcript=make_turns("Who is new?", "I am."))
            end_session(
                at_time(other, "2026-11-21T15:00:00.000Z"),
                "s-1",
                transcript=make_turns(*SAID, "More?", "No.", "Now?", "Yes."),
            )

    with open_test_workspace(workspace) as ws:
        ws.index.reset()
        reindex(ws, executor=Interrupted(capture))
        assert ws.index.search("newcomer", None, limit=5) or ws.index.search("who is new", None, limit=5)
        seen = read_rows(ws)
    assert seen == _in_place(workspace)


def _in_place(root: Path) -> list[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch, open_test_workspace(root) as ws:
        patch.setattr(reindexing, "_MIN_REBUILD", 10_000)
        ws.index.reset()
        sync_rows(ws, confirmed=True)
        return read_rows(ws)


def test_who_has_the_index_open_sees_the_new_rows(workspace: Path) -> None:
    with open_test_workspace(workspace) as ws:
        ws.index.reset()
        with open_test_workspace(workspace) as reader:
            assert reader.index.needs_reindex
            assert reader.index.count_by_kind() == {}
            sync_rows(ws)
            assert reader.index.count_by_kind() == ws.index.count_by_kind() != {}
            assert reader.index.is_complete()
            assert sync_rows(reader).unchanged == sum(ws.index.count_by_kind().values())


def test_several_who_find_no_rows_make_them_once(workspace: Path) -> None:
    (workspace / ".lineage" / "index.db").unlink()
    with open_test_workspace(workspace) as ws, open_test_workspace(workspace) as other:
        assert ws.index.needs_reindex
        assert other.index.needs_reindex
        sync_rows(ws)
        made: list[str] = []
        with other.index.trace_statements(made.append):
            report = sync_rows(other)
        assert report.added == 0
        assert not [sql for sql in made if sql.lstrip().startswith("insert")]


def test_a_rebuild_that_fails_changes_nothing_and_leaves_nothing(workspace: Path) -> None:
    def fail() -> None:
        raise KeyError

    with open_test_workspace(workspace) as ws:
        ws.index.reset()
        with pytest.raises(KeyError):
            synchronize_by(ws, Interrupted(fail))
        assert ws.index.count_by_kind() == {}
        assert ws.index.needs_reindex
    assert not list((workspace / ".lineage").glob("rebuild-*"))


def synchronize_by(ws: Workspace, executor: Executor) -> None:
    reindex(ws, executor=executor)


def test_what_a_dead_builder_left_is_collected_and_what_a_living_one_holds_is_not(workspace: Path) -> None:
    state = workspace / ".lineage"
    dead = state / "rebuild-dead"
    dead.mkdir()
    (dead / "held").touch()
    (dead / "built.db").write_text("text of somebody's")
    with temporary_folder(state) as living:
        assert not dead.exists()
        with open_test_workspace(workspace) as ws:
            ws.index.scrub()
        assert living.exists()
    assert not living.exists()
    dead.mkdir()
    (dead / "held").touch()
    with open_test_workspace(workspace) as ws:
        ws.index.scrub()
    assert not dead.exists()


def test_a_replacement_that_is_cut_off_leaves_no_index_that_counts_as_one(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_workspace(workspace) as ws:
        ws.index.reset()
        with monkeypatch.context() as patch, pytest.raises(WorkspaceError):
            patch.setattr(
                shadow_build, "schema", SimpleNamespace(VERSION="no number", create_tables=schema.create_tables)
            )
            sync_rows(ws)
        assert ws.index.needs_reindex
        assert ws.index.count_by_kind() == {}


def test_an_index_whose_pages_were_being_replaced_is_begun_anew(workspace: Path) -> None:
    whole, hits, _ = rebuilt(workspace)
    path = workspace / ".lineage" / "index.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma application_id = -1")
    with contextlib.closing(SqliteIndex(path)) as index:
        assert index.needs_reindex
        assert index.count_by_kind() == {}
    assert rebuilt(workspace)[:2] == (whole, hits)


def _rebuild_there(root: str, name: str, time: int) -> None:
    """In a process of its own, which is killed where the new database is opened, or it or the index once more."""
    reindexing._MIN_REBUILD, reindexing._REBUILD_BATCH = 5, 3
    with open_test_workspace(Path(root)) as ws:
        ws.index.reset()
        sys.addaudithook(lambda event, args: _die(name, time, event, args))
        reindex(ws)


def _die(name: str, time: int, event: str, args: tuple[Any, ...]) -> None:
    if event == "sqlite3.connect" and str(args[0]).endswith(name):
        _DEATHS.append(name)
        if len(_DEATHS) == time:
            os.kill(os.getpid(), signal.SIGKILL)


_DEATHS: list[str] = []


@pytest.mark.parametrize(("name", "time"), [("built.db", 1), ("built.db", 2), ("index.db", 2)])
def test_a_rebuild_that_is_killed_is_made_by_the_next_one(workspace: Path, name: str, time: int) -> None:
    whole, hits, _ = rebuilt(workspace)
    (workspace / ".lineage" / "index.db").unlink()
    process = multiprocessing.get_context("fork").Process(target=_rebuild_there, args=(str(workspace), name, time))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with open_test_workspace(workspace) as ws:
        reindex(ws)
        assert found(ws) == hits
    assert contents(workspace) == whole
    assert not list((workspace / ".lineage").glob("rebuild-*"))


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """What is opened from now on."""
    seen: list[str] = []
    listening = [True]
    sys.addaudithook(lambda event, args: seen.append(str(args[0])) if listening and event == "open" else None)
    yield seen
    listening.clear()


def test_where_nothing_changed_no_file_is_read_and_the_statements_are_as_many_as_ever(
    workspace: Path, opened: list[str]
) -> None:
    counts = []
    with open_test_workspace(workspace) as ws:
        for more in ((), ("m-1", "m-2", "m-3")):
            for session in more:
                end_session(ws, session, transcript=make_turns("One more?", "Yes."))
            sync_rows(ws, confirmed=True)
            opened.clear()
            statements: list[str] = []
            with ws.index.trace_statements(statements.append):
                report = sync_rows(ws)
            assert report.added == report.changed == report.dropped == report.touched == 0
            assert not [path for path in opened if path.endswith(("--summary.md", "--transcript.md", "--manifest.md"))
                        and path not in _damaged(workspace, report)]  # fmt: skip
            counts.append(len(statements))
    assert counts[0] == counts[1]


def _damaged(root: Path, report: reindexing.ReindexReport) -> Iterable[str]:
    return [str(root / path) for path, _ in report.problems]


def test_progress_counts_the_files(workspace: Path) -> None:
    seen: list[tuple[int, int]] = []
    with open_test_workspace(workspace) as ws:
        ws.index.reset()
        reindex(ws, progress=lambda done, total: seen.append((done, total)))
        total = sum(ws.index.count_by_kind().values()) + 1
    made = [step for step in seen if step[1] == total]
    assert [done for done, _ in made] == sorted({done for done, _ in made})
    assert made[-1] == (total, total)
    assert len(made) > 2


def test_the_command_takes_its_number_of_processes(workspace: Path) -> None:
    from lineage.cli.main import run

    with open_test_workspace(workspace) as ws:
        sync_rows(ws)  # a copy's files have other stamps
        before = read_rows(ws)
    (workspace / ".lineage" / "index.db").unlink()
    assert run(["--workspace", str(workspace), "reindex", "--jobs", "2"]) == 0
    with open_test_workspace(workspace) as ws:
        assert not ws.index.needs_reindex
        assert read_rows(ws) == [row for row in before if row["source_path"] in _paths(ws)]


def _paths(ws: Workspace) -> set[str]:
    return {item.path for item in ws.index.iter_files()}
