"""Many changed files are read by others while their rows are written: the same rows, and no more held than is due.

What each guard rests on: order in `_read_by`; what cannot travel: `isinstance` in `_held`; how much is held: `_AHEAD`;
few files need nobody else: `_READ_TOGETHER`; a burst under `lineage admin watch`: the executor in app/watching.py.
"""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.app.workspace_watcher import reconcile
from lineage.index import SqliteIndex
from lineage.pipeline.ingest import worker_pool
from lineage.pipeline.ingest.worker_pool import open_worker_pool
from lineage.pipeline.maintenance import prefetch, reindex
from lineage.pipeline.maintenance.reindex import sync_rows
from lineage.store import local
from tests.support.workspace import end_session, make_turns, open_test_workspace, read_rows

FILES = 9  # of three sessions


class Elsewhere(Executor):
    """Does the work here and now, on what came through a pickle, and sends the answer through one."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        self.submitted += 1
        future: Future[Any] = Future()
        work, given = pickle.loads(pickle.dumps((fn, args)))
        future.set_result(pickle.loads(pickle.dumps(work(*given, **kwargs))))
        return future


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files without rows, one of them damaged; the index is there."""
    with open_test_workspace(tmp_path) as ws:
        for number in range(3):
            end_session(
                ws,
                f"s-{number}",
                transcript=make_turns(f"Why does reader{number}.py drop the last line?", "It splits."),
            )
        ws.index.reset()
        ws.index.mark_complete()
    damaged = max((tmp_path / "memory").glob("*--summary.md"))
    damaged.chmod(0o644)
    damaged.write_text("not ours\n")
    monkeypatch.setattr(reindex, "BATCH", 5)
    monkeypatch.setattr(prefetch, "_CHUNK", 2)
    monkeypatch.setattr(reindex, "_MIN_PARALLEL", FILES)
    return tmp_path


def made(root: Path, executor: Executor | None = None) -> tuple[Any, ...]:
    with open_test_workspace(root) as ws:
        ws.index.delete_paths(list(ws.index.load_stamps()))
        report = sync_rows(ws, executor=executor)
        hits = [ws.index.search(query, None, limit=50) for query in ("reader1", "last line", "splits")]
        assert all(hits)
        return [{**row, "id": 0} for row in read_rows(ws)], hits, replace(report, published=[])


@pytest.mark.slow
@pytest.mark.leaves_findings
def test_processes_read_what_one_would_have_read(workspace: Path) -> None:
    alone = made(workspace)
    with open_worker_pool(2) as pool:
        assert made(workspace, pool.pool) == alone
    assert (alone[2].added, len(alone[2].problems)) == (FILES - 1, 1)


@pytest.mark.leaves_findings
@pytest.mark.parametrize("held", [local.MAX_BYTES_IN_MEMORY, 100])
def test_what_cannot_travel_is_read_by_who_writes(workspace: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(local, "MAX_BYTES_IN_MEMORY", held)
    elsewhere = Elsewhere()
    assert made(workspace, elsewhere) == made(workspace)
    assert elsewhere.submitted == -(-FILES // 2)


@pytest.mark.leaves_findings
def test_few_files_need_nobody_else(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindex, "_MIN_PARALLEL", FILES + 1)
    elsewhere = Elsewhere()
    made(workspace, elsewhere)
    assert elsewhere.submitted == 0


@pytest.mark.leaves_findings
def test_no_more_than_a_few_batches_are_held(workspace: Path) -> None:
    elsewhere = Elsewhere()
    with open_test_workspace(workspace) as ws:
        batches = [[entry.key] for entry in ws.documents.store.list("memory/") if "--" in entry.key]
        found: Iterator[Iterator[prefetch.ScannedFile]] = prefetch.scan_files(ws.documents.store, batches, elsewhere)
        for number, batch in enumerate(found, 1):
            assert len(list(batch)) == 1
            assert elsewhere.submitted == min(number + prefetch._BATCHES_AHEAD, len(batches))


@pytest.mark.parametrize(("processors", "readers"), [(None, 1), (1, 1), (2, 1), (3, 3), (64, 4)])
def test_two_processors_read_in_one_process(
    monkeypatch: pytest.MonkeyPatch, processors: int | None, readers: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    assert worker_pool.count_readers() == readers


@pytest.mark.slow
@pytest.mark.leaves_findings
def test_a_burst_is_read_by_several_processes(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    submit = worker_pool._LazyProcesses.submit
    monkeypatch.setattr(worker_pool._LazyProcesses, "submit", lambda *args: (asked.append(args), submit(*args))[1])
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert reconcile(workspace).added == FILES - 1
    assert asked
    index = SqliteIndex(workspace / ".lineage" / "index.db")
    assert len(index.load_stamps()) == FILES - 1
    index.close()
