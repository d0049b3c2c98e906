"""Spec, test 9: the index is rebuilt from the files: the same rows, the same search, the same MEMORY.md. Books too.

Fails when a row holds anything that its file doesn't say, when search is filled by a flow and not by `reindex`, and
without any of the checks in core/format/documents.py or the list of broken links in pipeline/maintenance/reindex.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.pipeline.maintenance.reindex import reindex
from lineage.store import LocalStore
from lineage.workspace.book_index import index_books
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.books import edit_by_hand, read_book_rows, write_entry
from tests.support.faults import CountingStore
from tests.support.indexes import delete_database
from tests.support.workspace import (
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    read_rows,
    read_store,
    search_sessions,
)

QUERIES = ("reader", "newline fixed", "split OR dots", "größe", "nothing of the kind", "demo", "compacted goal")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    """Captures, resumed and compacted sessions, two agents, a private one and a trial; books on all their shelves."""
    with open_test_workspace(tmp_path) as ws:
        talk = make_turns(
            "Why does reader.py drop the last line?", "It splits on newline; fixed.", "Und die Größe?", "Gut."
        )
        end_session(ws, transcript=talk[:2])
        end_session(at_time(ws, "2026-11-21T13:00:00.000Z"), transcript=talk)
        compact_session(at_time(ws, "2026-11-21T14:00:00.000Z"), transcript=talk)
        compact_session(ws, "only-compacted", summary="Goal: split dots from lines.")
        end_session(ws, "secretive", private=True, transcript=make_turns("A private reader", "Yes."))
        end_session(ws, "reviewed", agent_id="reviewer", transcript=make_turns("Review reader.py", "Fixed."))
        end_session(ws, "test-7", project=None, transcript=make_turns("A trial of the reader", "Yes."))
        end_session(ws, "old", transcript=make_turns("An old reader", "Yes.", start="2026-08-01T10:00"))
        fill_books(ws)
        publish_all(ws)
    yield tmp_path


def fill_books(ws: Workspace) -> None:
    origin = f"[[{ws.index.list_sessions('default')[0].manifest_path}|manifest]]"
    old = write_entry(ws, "global", "decision", "The reader splits on newline.", origin=origin, tags=("csv",))
    write_entry(ws, "global", "decision", "The reader splits on dots.", at=LATER, supersedes=(old.id,))
    write_entry(ws, "agent/reviewer", "lesson", "A reader wants a fixed demo.", shelf="2025")
    write_entry(ws, "global", "fact", "A reader that waits.", shelf="pending")
    forgotten = write_entry(ws, "project/demo", "task", "Forget the reader.")
    ws.documents.books.forget("project/demo", "task", forgotten.id)
    index_books(ws, [BookRef("project/demo", "task")])
    edit_by_hand(ws, "books/agent/default/daily/2019-01-01.md", "Die Größe of the old reader.\n")
    edit_by_hand(ws, "AGENT_MEMORY.md", "# Rules\n\nA reader never drops a line.\n")


LATER = "2026-11-21T15:00:00.000Z"


def seen(ws: Workspace) -> tuple[object, ...]:
    return (
        read_rows(ws),
        read_book_rows(ws.index),
        [
            # The numbers of rows are the index's own.
            [astuple(replace(hit, rows=())) for hit in search_sessions(ws, query, agent, 10)]
            for query in QUERIES
            for agent in (None, "default")
        ],
        [astuple(row) for row in ws.index.list_sessions(None)],
        read_store(ws.documents.store),
    )


def test_a_lost_index_is_rebuilt_the_same(workspace: Path) -> None:
    with open_test_workspace(workspace, now=LATER) as ws:
        reindex(ws)
        before = seen(ws)
    assert len(before[0]) == 20  # type: ignore[arg-type]
    delete_database(workspace)
    with open_test_workspace(workspace, now=LATER) as ws:
        assert (read_rows(ws), read_book_rows(ws.index)) == ([], ([], []))
        report = reindex(ws)
        assert (report.added, report.changed, report.dropped) == (20, 0, 0)
        assert seen(ws) == before


def test_the_flows_leave_what_a_reindex_would_make(workspace: Path) -> None:
    with open_test_workspace(workspace, now=LATER) as ws:
        index_books(ws, [BookRef("global", "curated"), BookRef("agent/default", "daily/2019-01-01")])
        flows = read_rows(ws), read_book_rows(ws.index)
    delete_database(workspace)
    with open_test_workspace(workspace, now=LATER) as ws:
        reindex(ws)
        assert (read_rows(ws), read_book_rows(ws.index)) == flows
        assert len(flows[1][0]) >= 6


def test_memory_md_has_the_same_bytes_after_the_loss_of_everything_derived(workspace: Path) -> None:
    import shutil

    before = {path: path.read_bytes() for path in workspace.rglob("MEMORY.md")}
    assert len(before) == 2
    for path in before:
        path.unlink()
    shutil.rmtree(workspace / ".lineage")
    with open_test_workspace(workspace, now="2026-11-21T14:00:00.000Z") as ws:
        reindex(ws)
    assert {path: path.read_bytes() for path in workspace.rglob("MEMORY.md")} == before


def test_every_row_has_what_the_derived_contract_requires(workspace: Path) -> None:
    import hashlib

    with open_test_workspace(workspace, now=LATER) as ws:
        for row in read_rows(ws):
            data = (workspace / row["source_path"]).read_bytes()
            assert row["source_sha256"] == hashlib.sha256(data).hexdigest()
            assert row["source_path"].endswith(f"--{row['source_kind']}.md")
            assert all(row[key] for key in ("agent_id", "session_id", "session_token", "manifest_path"))


def test_a_reindex_that_finds_nothing_changed_reads_no_artifact(workspace: Path) -> None:
    store = CountingStore(LocalStore(workspace))
    with open_test_workspace(workspace, now=LATER, store=store) as ws:
        reindex(ws)
        store.reads.clear()
        report = reindex(ws)
        assert report.unchanged == 20
        assert [key for key in store.reads if key.startswith("memory/")] == []
        assert report.books == 0


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new, 1)


DAMAGE = {
    "a key that is gone": replaced(b"hash_scope:", b"hash_scops:"),
    "an unknown kind": replaced(b'kind: "summary"', b'kind: "sonnet"'),
    "a kind that its name denies": replaced(b'kind: "summary"', b'kind: "transcript"'),
    "a key that stands twice": replaced(b"---\n", b'---\nkind: "summary"\n'),
    "another session's identity": replaced(b'session_id: "s-1"', b'session_id: "s-2"'),
    "a time without a zone": replaced(
        b'captured_at: "2026-11-21T12:00:00.000Z"', b'captured_at: "2026-11-21T12:00:00"'
    ),
    "a list for a text": replaced(b'harness: "generic"', b'harness: ["generic"]'),
    "a changed body": lambda data: data + b"more\n",
    "no frontmatter": lambda data: data.partition(b"\n---\n")[2],
    "half a file": lambda data: data[: len(data) // 3],
    "an empty file": lambda data: b"",
    "no text": lambda data: b"\xff\xfe" + data,
}


@pytest.mark.slow
@pytest.mark.leaves_findings
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_reported_and_has_no_row(workspace: Path, damage: Callable[[bytes], bytes]) -> None:
    path = sorted(workspace.glob("memory/2026-11-21T12-00-00.000Z--*--summary.md"))
    with open_test_workspace(workspace, now=LATER) as ws:
        target = next(p for p in path if b'session_id: "s-1"' in p.read_bytes())
        key = target.relative_to(workspace).as_posix()
        damaged = damage(target.read_bytes())
        assert damaged != target.read_bytes()
        target.chmod(0o644)
        target.write_bytes(damaged)
        report = reindex(ws)
        assert [problem[0] for problem in report.problems] == [key]
        assert key not in {row["source_path"] for row in read_rows(ws)}
        assert len(read_rows(ws)) == 19


@pytest.mark.leaves_findings
def test_a_manifest_that_names_a_missing_file_is_reported(workspace: Path) -> None:
    gone = next(iter(workspace.glob("memory/*--compaction.md")))
    gone.unlink()
    delete_database(workspace)
    with open_test_workspace(workspace, now=LATER) as ws:
        report = reindex(ws)
        assert [path for _, path in report.broken] == [gone.relative_to(workspace).as_posix()]
        assert report.broken[0][0].endswith("--manifest.md")
