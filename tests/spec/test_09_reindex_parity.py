"""Spec, test 9: the index is rebuilt from the files: the same rows, the same search, the same MEMORY.md. Books too.

Fails when a row holds anything that its file doesn't say, when search is filled by a flow and not by `reindex`, and
without any of the checks in `parsed` of core/documents.py or the list of broken links in pipeline/upkeep/reindexing.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path

import pytest

from lineage.core.book_paths import BookRef
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.publishing import publish_all
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.store import LocalStore
from tests.support.books import by_hand, put, rows_of_books
from tests.support.faults import CountingStore
from tests.support.houses import at, compact, contents, end, house_at, rows, search, turns
from tests.support.indexes import lose

QUERIES = ("reader", "newline fixed", "split OR dots", "größe", "nothing of the kind", "demo", "compacted goal")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    """Captures, resumed and compacted sessions, two agents, a private one and a trial; books on all their shelves."""
    with house_at(tmp_path) as house:
        talk = turns("Why does reader.py drop the last line?", "It splits on newline; fixed.", "Und die Größe?", "Gut.")
        end(house, transcript=talk[:2])
        end(at(house, "2026-11-21T13:00:00.000Z"), transcript=talk)
        compact(at(house, "2026-11-21T14:00:00.000Z"), transcript=talk)
        compact(house, "only-compacted", summary="Goal: split dots from lines.")
        end(house, "secretive", private=True, transcript=turns("A private reader", "Yes."))
        end(house, "reviewed", agent_id="reviewer", transcript=turns("Review reader.py", "Fixed."))
        end(house, "test-7", project=None, transcript=turns("A trial of the reader", "Yes."))
        end(house, "old", transcript=turns("An old reader", "Yes.", start="2026-08-01T10:00"))
        fill_books(house)
        publish_all(house)
    yield tmp_path


def fill_books(house: House) -> None:
    origin = f"[[{house.index.sessions('default')[0].manifest_path}|manifest]]"
    old = put(house, "global", "decision", "The reader splits on newline.", origin=origin, tags=("csv",))
    put(house, "global", "decision", "The reader splits on dots.", at=LATER, supersedes=(old.id,))
    put(house, "agent/reviewer", "lesson", "A reader wants a fixed demo.", shelf="2025")
    put(house, "global", "fact", "A reader that waits.", shelf="pending")
    forgotten = put(house, "project/demo", "task", "Forget the reader.")
    house.canon.books.forget("project/demo", "task", forgotten.id)
    shelve(house, [BookRef("project/demo", "task")])
    by_hand(house, "books/agent/default/daily/2019-01-01.md", "Die Größe of the old reader.\n")
    by_hand(house, "AGENT_MEMORY.md", "# Rules\n\nA reader never drops a line.\n")


LATER = "2026-11-21T15:00:00.000Z"


def seen(house: House) -> tuple[object, ...]:
    return (
        rows(house),
        rows_of_books(house.index),
        [[astuple(hit) for hit in search(house, query, agent, 10)] for query in QUERIES for agent in (None, "default")],
        [astuple(row) for row in house.index.sessions(None)],
        contents(house.canon.store),
    )


def test_a_lost_index_is_rebuilt_the_same(workspace: Path) -> None:
    with house_at(workspace, now=LATER) as house:
        reindex(house)
        before = seen(house)
    assert len(before[0]) == 20  # type: ignore[arg-type]
    lose(workspace)
    with house_at(workspace, now=LATER) as house:
        assert (rows(house), rows_of_books(house.index)) == ([], ([], []))
        report = reindex(house)
        assert (report.added, report.changed, report.dropped) == (20, 0, 0)
        assert seen(house) == before


def test_the_flows_leave_what_a_reindex_would_make(workspace: Path) -> None:
    with house_at(workspace, now=LATER) as house:
        shelve(house, [BookRef("global", "curated"), BookRef("agent/default", "daily/2019-01-01")])
        flows = rows(house), rows_of_books(house.index)
    lose(workspace)
    with house_at(workspace, now=LATER) as house:
        reindex(house)
        assert (rows(house), rows_of_books(house.index)) == flows
        assert len(flows[1][0]) >= 6


def test_memory_md_has_the_same_bytes_after_the_loss_of_everything_derived(workspace: Path) -> None:
    import shutil

    before = {path: path.read_bytes() for path in workspace.rglob("MEMORY.md")}
    assert len(before) == 2
    for path in before:
        path.unlink()
    shutil.rmtree(workspace / ".lineage")
    with house_at(workspace, now="2026-11-21T14:00:00.000Z") as house:
        reindex(house)
    assert {path: path.read_bytes() for path in workspace.rglob("MEMORY.md")} == before


def test_every_row_has_what_the_derived_contract_requires(workspace: Path) -> None:
    import hashlib

    with house_at(workspace, now=LATER) as house:
        for row in rows(house):
            data = (workspace / row["source_path"]).read_bytes()
            assert row["source_sha256"] == hashlib.sha256(data).hexdigest()
            assert row["source_path"].endswith(f"--{row['source_kind']}.md")
            assert all(row[key] for key in ("agent_id", "session_id", "session_token", "manifest_path"))


def test_a_reindex_that_finds_nothing_changed_reads_no_artifact(workspace: Path) -> None:
    store = CountingStore(LocalStore(workspace))
    with house_at(workspace, now=LATER, store=store) as house:
        reindex(house)
        store.reads.clear()
        report = reindex(house)
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
    with house_at(workspace, now=LATER) as house:
        target = next(p for p in path if b'session_id: "s-1"' in p.read_bytes())
        key = target.relative_to(workspace).as_posix()
        damaged = damage(target.read_bytes())
        assert damaged != target.read_bytes()
        target.chmod(0o644)
        target.write_bytes(damaged)
        report = reindex(house)
        assert [problem[0] for problem in report.problems] == [key]
        assert key not in {row["source_path"] for row in rows(house)}
        assert len(rows(house)) == 19


@pytest.mark.leaves_findings
def test_a_manifest_that_names_a_missing_file_is_reported(workspace: Path) -> None:
    gone = next(iter(workspace.glob("memory/*--compaction.md")))
    gone.unlink()
    lose(workspace)
    with house_at(workspace, now=LATER) as house:
        report = reindex(house)
        assert [path for _, path in report.broken] == [gone.relative_to(workspace).as_posix()]
        assert report.broken[0][0].endswith("--manifest.md")
