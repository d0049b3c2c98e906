"""Captures that wait for MEMORY.md together: one render takes them all in, and what it gives is what a render from
scratch gives.

Fails without `waiter` in `Publication`, `queue.mark_done`, the tombstones or the FormatError in `_load_waiting_rows`,
the rows of others in `index_and_publish`, and `now` in `queue.peek`.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from lineage.app import locations
from lineage.core.format.documents import Artifact
from lineage.index import QueuedCapture
from lineage.pipeline.maintenance.reindex import reindex
from lineage.store import Store, acquire_lease, read_or_none
from lineage.workspace.workspace import Workspace
from tests.support.faults import CountingStore
from tests.support.indexes import delete_database
from tests.support.workspace import NOW, at_time, end_session, open_test_workspace, read_rows, read_store, write_capture
from tests.unit.pipeline.memory.test_context import bury

SESSIONS = [f"s-{number}" for number in range(8)]
EARLIER = "2026-11-20T10:01:00.000Z"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path) as ws:
        yield ws


def ended(root: Path, store: Store, session: str) -> bool:
    """Ends a session in a workspace of its own; whether MEMORY.md shows it when that returns, and the index too."""
    with open_test_workspace(root, store=store) as ws:
        outcome = end_session(ws, session)
        paths = [outcome.transcript_path or "", outcome.summary_path or "", outcome.manifest_path or ""]
        shown = store.read("MEMORY.md").data
        return ws.index.has_paths(paths) and all(f"[[{path}|".encode() in shown for path in paths)


def waiting(ws: Workspace, count: int) -> None:
    """Until so many captures wait."""
    while len(ws.index.queue.peek("default", NOW, count)) < count:
        time.sleep(0.005)


def queued(ws: Workspace, artifacts: Sequence[Artifact]) -> int:
    """The ticket of a capture whose process died while it waited."""
    first = artifacts[0]
    paths = (*(artifact.path for artifact in artifacts), first.manifest_path)
    return ws.index.queue.enqueue(QueuedCapture("default", first.identity.token, EARLIER, paths))


@contextmanager
def dead(ws: Workspace, session: str = "dead") -> Iterator[tuple[Sequence[Artifact], int]]:
    artifacts = write_capture(ws, session, sentence=f"What the session {session} did.", captured_at=EARLIER)
    yield artifacts, queued(ws, artifacts)


def memory_md(ws: Workspace) -> bytes:
    return ws.documents.store.read("MEMORY.md").data


def test_all_that_wait_are_taken_in_by_one_render(tmp_path: Path) -> None:
    store = CountingStore(locations.open_store(tmp_path))
    with open_test_workspace(tmp_path) as ws, ThreadPoolExecutor(len(SESSIONS)) as threads:
        with acquire_lease(ws.documents.store, "memory-md-default"):
            shown = [threads.submit(ended, tmp_path, store, session) for session in SESSIONS]
            waiting(ws, len(SESSIONS))
            assert read_or_none(store, "MEMORY.md") is None
        assert all(one.result() for one in shown)
        assert store.written["MEMORY.md"] == 1
        before, found = memory_md(ws), read_rows(ws)
    delete_database(tmp_path)
    with open_test_workspace(tmp_path) as ws:
        reindex(ws)
        assert memory_md(ws) == before
        assert [row["source_path"] for row in read_rows(ws)] == [row["source_path"] for row in found]
        assert ws.index.queue.peek("default", NOW, 99) == []


def test_nobody_waits_where_there_is_nobody_to_wait_for(ws: Workspace, tmp_path: Path) -> None:
    end_session(ws)
    assert not (tmp_path / ".lineage" / "waiting.db").exists()


def test_what_a_dead_process_waited_for_comes_with_the_next_capture(ws: Workspace) -> None:
    with dead(ws) as (artifacts, ticket):
        end_session(ws)
    assert ws.index.queue.is_done(ticket)
    assert ws.index.has_paths([artifact.path for artifact in artifacts])
    assert b"What the session dead did." in memory_md(ws)
    before = memory_md(ws)
    reindex(ws, confirmed=True)
    assert memory_md(ws) == before


@pytest.mark.leaves_findings
def test_a_removed_session_gets_no_row(ws: Workspace) -> None:
    with dead(ws) as (artifacts, ticket):
        token = artifacts[0].identity.token
        bury(ws, "dead")
        end_session(ws)
    assert ws.index.queue.is_done(ticket)
    assert not ws.index.list_session_files(token)
    assert b"session dead" not in memory_md(ws)


@pytest.mark.leaves_findings
def test_a_damaged_capture_is_left_to_its_own_process(ws: Workspace, tmp_path: Path) -> None:
    with dead(ws) as (artifacts, ticket):
        path = tmp_path / artifacts[1].path
        path.chmod(0o644)
        path.write_text("no frontmatter")
        end_session(ws)
    assert not ws.index.queue.is_done(ticket)
    assert b"session=s-1" in memory_md(ws)


def test_what_claims_a_later_time_waits_for_its_own_clock(ws: Workspace) -> None:
    """A render by an earlier clock would leave it out of the window."""
    with dead(ws) as (_, ticket):
        end_session(at_time(ws, "2026-11-19T12:00:00.000Z"), captured_at="2026-11-19T12:00:00.000Z")
        assert not ws.index.queue.is_done(ticket)
        end_session(ws, "s-2")
    assert ws.index.queue.is_done(ticket)


@pytest.mark.leaves_findings
def test_other_agents_wait_for_their_own_render(ws: Workspace) -> None:
    with dead(ws) as (_, ticket):
        end_session(ws, agent_id="eve")
        assert not ws.index.queue.is_done(ticket)


@pytest.mark.leaves_findings
def test_removal_forgets_what_waits(ws: Workspace) -> None:
    with dead(ws) as (artifacts, ticket):
        ws.index.delete_session(artifacts[0].identity.token)
    assert ws.index.queue.is_done(ticket)


def test_a_damaged_queue_is_begun_anew(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / ".lineage" / "waiting.db").write_bytes(b"no database at all" * 100)
    end_session(ws)
    with dead(ws) as (_, ticket):
        end_session(ws, "s-2")
    assert ws.index.queue.is_done(ticket)
    assert read_store(ws.documents.store, "memory/")
