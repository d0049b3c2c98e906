"""Captures that wait for MEMORY.md together: one render takes them all in, and what it gives is what a render from
scratch gives.

Fails without `unless` in `Publication`, `queue.take`, the tombstones or the FormatError in `_rows_of`, the rows of
others in `take_in`, and `until` in `Queue.first`.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from lineage.app import places
from lineage.core.documents import Artifact
from lineage.index import Waiting
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.store import Store, lease, read_or_none
from tests.support.faults import CountingStore
from tests.support.houses import NOW, at, contents, end, house_at, rows, write_capture
from tests.support.indexes import lose
from tests.unit.pipeline.knowledge.test_context import bury

SESSIONS = [f"s-{number}" for number in range(8)]
EARLIER = "2026-11-20T10:01:00.000Z"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_at(tmp_path) as house:
        yield house


def ended(root: Path, store: Store, session: str) -> bool:
    """Ends a session in a house of its own; whether MEMORY.md shows it when that returns, and the index too."""
    with house_at(root, store=store) as house:
        outcome = end(house, session)
        paths = [outcome.transcript_path or "", outcome.summary_path or "", outcome.manifest_path or ""]
        shown = store.read("MEMORY.md").data
        return house.index.has(paths) and all(f"[[{path}|".encode() in shown for path in paths)


def waiting(house: House, count: int) -> None:
    """Until so many captures wait."""
    while len(house.index.queue.first("default", NOW, count)) < count:
        time.sleep(0.005)


def queued(house: House, artifacts: Sequence[Artifact]) -> int:
    """The ticket of a capture whose process died while it waited."""
    first = artifacts[0]
    paths = (*(artifact.path for artifact in artifacts), first.manifest_path)
    return house.index.queue.enlist(Waiting("default", first.identity.token, EARLIER, paths))


@contextmanager
def dead(house: House, session: str = "dead") -> Iterator[tuple[Sequence[Artifact], int]]:
    artifacts = write_capture(house, session, sentence=f"What the session {session} did.", captured_at=EARLIER)
    yield artifacts, queued(house, artifacts)


def memory_md(house: House) -> bytes:
    return house.canon.store.read("MEMORY.md").data


def test_all_that_wait_are_taken_in_by_one_render(tmp_path: Path) -> None:
    store = CountingStore(places.store_at(tmp_path))
    with house_at(tmp_path) as house, ThreadPoolExecutor(len(SESSIONS)) as threads:
        with lease(house.canon.store, "memory-md-default"):
            shown = [threads.submit(ended, tmp_path, store, session) for session in SESSIONS]
            waiting(house, len(SESSIONS))
            assert read_or_none(store, "MEMORY.md") is None
        assert all(one.result() for one in shown)
        assert store.written["MEMORY.md"] == 1
        before, found = memory_md(house), rows(house)
    lose(tmp_path)
    with house_at(tmp_path) as house:
        reindex(house)
        assert memory_md(house) == before
        assert [row["source_path"] for row in rows(house)] == [row["source_path"] for row in found]
        assert house.index.queue.first("default", NOW, 99) == []


def test_nobody_waits_where_there_is_nobody_to_wait_for(house: House, tmp_path: Path) -> None:
    end(house)
    assert not (tmp_path / ".lineage" / "waiting.db").exists()


def test_what_a_dead_process_waited_for_comes_with_the_next_capture(house: House) -> None:
    with dead(house) as (artifacts, ticket):
        end(house)
    assert house.index.queue.is_taken(ticket)
    assert house.index.has([artifact.path for artifact in artifacts])
    assert b"What the session dead did." in memory_md(house)
    before = memory_md(house)
    reindex(house, confirmed=True)
    assert memory_md(house) == before


@pytest.mark.leaves_findings
def test_a_removed_session_gets_no_row(house: House) -> None:
    with dead(house) as (artifacts, ticket):
        token = artifacts[0].identity.token
        bury(house, "dead")
        end(house)
    assert house.index.queue.is_taken(ticket)
    assert not house.index.paths_of(token)
    assert b"session dead" not in memory_md(house)


@pytest.mark.leaves_findings
def test_a_damaged_capture_is_left_to_its_own_process(house: House, tmp_path: Path) -> None:
    with dead(house) as (artifacts, ticket):
        path = tmp_path / artifacts[1].path
        path.chmod(0o644)
        path.write_text("no frontmatter")
        end(house)
    assert not house.index.queue.is_taken(ticket)
    assert b"session=s-1" in memory_md(house)


def test_what_claims_a_later_time_waits_for_its_own_clock(house: House) -> None:
    """A render by an earlier clock would leave it out of the window."""
    with dead(house) as (_, ticket):
        end(at(house, "2026-11-19T12:00:00.000Z"), captured_at="2026-11-19T12:00:00.000Z")
        assert not house.index.queue.is_taken(ticket)
        end(house, "s-2")
    assert house.index.queue.is_taken(ticket)


@pytest.mark.leaves_findings
def test_other_agents_wait_for_their_own_render(house: House) -> None:
    with dead(house) as (_, ticket):
        end(house, agent_id="eve")
        assert not house.index.queue.is_taken(ticket)


@pytest.mark.leaves_findings
def test_removal_forgets_what_waits(house: House) -> None:
    with dead(house) as (artifacts, ticket):
        house.index.forget(artifacts[0].identity.token)
    assert house.index.queue.is_taken(ticket)


def test_a_damaged_queue_is_begun_anew(house: House, tmp_path: Path) -> None:
    (tmp_path / ".lineage" / "waiting.db").write_bytes(b"no database at all" * 100)
    end(house)
    with dead(house) as (_, ticket):
        end(house, "s-2")
    assert house.index.queue.is_taken(ticket)
    assert contents(house.canon.store, "memory/")
