"""A rebuild that several processes read for, on every engine of the index: it makes what a comparison makes.

What each guard rests on: the rows, `IndexBuild.write` of each engine; entries of the ledger, `ledger.fill`; a rebuild
that is cut off, `present` in PostgreSQL and a database aside in SQLite.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.app.databases import INDEX_VARIABLE
from lineage.core.capture.ledger import Window
from lineage.index import Index
from lineage.pipeline.ingest.worker_pool import open_worker_pool
from lineage.pipeline.maintenance import reindex as reindexing
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.search.found_passages import load_passages
from lineage.workspace.workspace import Workspace
from tests.contracts.test_index import row
from tests.support import engines
from tests.support.indexes import POSTGRES, open_index
from tests.support.workspace import (
    NOW,
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    read_rows,
)

pytestmark = pytest.mark.slow

QUERIES = ("reader3", "newline fixed", "größe", "修正", "last line")
SAID = "Why does reader{0}.py drop the last line?", "It splits on newline {0}; fixed. Größe 修正."


@pytest.fixture
def ws(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """Sessions whose files lie in several batches: some were resumed or compacted later, one was only compacted."""
    monkeypatch.setenv(INDEX_VARIABLE, engines.start_postgres().url if engine == POSTGRES else "")
    monkeypatch.setattr(reindexing, "_MIN_REBUILD", 5)
    monkeypatch.setattr(reindexing, "_REBUILD_BATCH", 3)
    with open_test_workspace(tmp_path / "w") as found:
        for number in range(5):
            end_session(found, f"s-{number}", transcript=make_turns(*(text.format(number) for text in SAID)))
        later = at_time(found, "2026-11-21T13:00:00.000Z")
        end_session(later, "s-1", transcript=make_turns(*SAID, "More?", "No."))
        compact_session(later, "s-2", summary="Goal: mend reader2.")
        compact_session(found, "only-compacted", summary="Goal: split lines.")
        compact_session(
            later, "only-compacted", summary="Goal: split lines well.", captured_at="2026-11-21T13:00:00.000Z"
        )
        reindex(found)
        yield found


def find(ws: Workspace, query: str) -> list[Any]:
    hits = ws.index.search(query, None, limit=50)
    return [replace(hit, rows=()) for hit in hits] + load_passages(ws, hits, query)


def state(ws: Workspace) -> tuple[Any, ...]:
    """Rows, results and the ledger, whatever the numbers of rows are."""
    ledger = ws.index.load_ledger("default", Window.from_end("2026-11-22T00:00:00.000Z"))
    found = [find(ws, query) for query in QUERIES]
    assert all(found)
    own = [{name: value for name, value in one.items() if name != "id"} for one in read_rows(ws)]
    return own, found, list(ledger.entries), ledger.tallies, ws.index.load_stamps()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_processes_make_together_is_what_one_made_little_by_little(ws: Workspace, jobs: int) -> None:
    before = state(ws)
    ws.index.reset()
    assert ws.index.needs_reindex
    with open_worker_pool(jobs) as pool:
        report = reindex(ws, executor=pool.pool)
    assert state(ws) == before
    assert (report.added, report.unchanged, report.changed) == (len(before[0]), 0, 0)
    assert ws.index.is_complete()


class Interrupted(Executor):
    """An executor that does the work here and now, and something else behind a piece of it."""

    def __init__(self, then: Callable[[], object], behind: int = 1) -> None:
        self._then, self._left = [then], behind

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        self._left -= 1
        while self._then and self._left <= 0:
            self._then.pop()()
        return future


def test_a_rebuild_that_was_cut_off_is_ended_by_the_next(engine: str, ws: Workspace) -> None:
    def fail() -> None:
        raise KeyError

    before = state(ws)
    ws.index.reset()
    with pytest.raises(KeyError):
        reindex(ws, executor=Interrupted(fail, behind=5))  # the first batches are written by then
    assert ws.index.needs_reindex
    report = reindex(ws)
    assert state(ws) == before
    assert report.added + report.unchanged == len(before[0])
    assert (report.unchanged > 0) == (engine == POSTGRES)


def test_what_is_captured_meanwhile_has_its_rows(ws: Workspace, tmp_path: Path) -> None:
    def capture() -> None:
        with open_test_workspace(tmp_path / "w", now=NOW) as other:
            end_session(
                at_time(other, "2026-11-21T15:00:00.000Z"),
                "only-compacted",
                transcript=make_turns(*SAID, "Now?", "Yes."),
            )

    ws.index.reset()
    reindex(ws, executor=Interrupted(capture))
    made = state(ws)
    ws.index.reset()
    reindex(ws)
    assert state(ws) == made


def test_the_index_tells_what_it_has_by_stamp_and_hash(engine: str, tmp_path: Path) -> None:
    def hashes(index: Index, *paths: str) -> dict[str, str]:
        return index.load_hashes(iter(paths))

    one, other = row(stamp="1"), row(session="s-2", stamp="2")
    with closing(open_index(engine, tmp_path / "index.db")) as index:
        assert (index.load_stamps(), hashes(index), hashes(index, one.source_path)) == ({}, {}, {})
        index.upsert([one, other])
        assert index.load_stamps() == {one.source_path: "1", other.source_path: "2"}
        assert hashes(index, one.source_path, "memory/none.md") == {one.source_path: one.source_sha256}
        with closing(open_index(engine, tmp_path / "index.db")) as reader:
            assert not reader.is_complete()
            index.mark_complete()
            assert reader.is_complete()
            assert not reader.needs_reindex
