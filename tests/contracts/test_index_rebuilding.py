"""A rebuild that several processes read for, on every engine of the index: it makes what a comparison makes.

What each guard rests on: the rows, `IndexBuild.write` of each engine; entries of the ledger, `ledger.fill`; a rebuild
that is cut off, `present` in PostgreSQL and a database aside in SQLite.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lineage.app.indexing import VARIABLE
from lineage.core.window import Window
from lineage.index import Index
from lineage.pipeline.house import House
from lineage.pipeline.incoming.parallel import workers
from lineage.pipeline.upkeep import rebuilding, reindexing
from lineage.pipeline.upkeep.reindexing import reindex
from tests.contracts.test_index import row
from tests.support import engines
from tests.support.houses import NOW, at, compact, end, house_at, rows, turns
from tests.support.indexes import POSTGRES, opened

pytestmark = pytest.mark.slow

QUERIES = ("reader3", "newline fixed", "größe", "修正", "last line")
SAID = "Why does reader{0}.py drop the last line?", "It splits on newline {0}; fixed. Größe 修正."


@pytest.fixture
def house(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Sessions whose files lie in several batches: some were resumed or compacted later, one was only compacted."""
    monkeypatch.setenv(VARIABLE, engines.postgres().url if engine == POSTGRES else "")
    monkeypatch.setattr(reindexing, "_REBUILT_ASIDE", 5)
    monkeypatch.setattr(rebuilding, "_BATCH", 3)
    with house_at(tmp_path / "w") as found:
        for number in range(5):
            end(found, f"s-{number}", transcript=turns(*(text.format(number) for text in SAID)))
        later = at(found, "2026-11-21T13:00:00.000Z")
        end(later, "s-1", transcript=turns(*SAID, "More?", "No."))
        compact(later, "s-2", summary="Goal: mend reader2.")
        compact(found, "only-compacted", summary="Goal: split lines.")
        compact(later, "only-compacted", summary="Goal: split lines well.", captured_at="2026-11-21T13:00:00.000Z")
        reindex(found)
        yield found


def state(house: House) -> tuple[Any, ...]:
    """Rows, results and the ledger, whatever the numbers of rows are."""
    ledger = house.index.ledger("default", Window.ending("2026-11-22T00:00:00.000Z"))
    found = [house.index.search(query, None, limit=50) for query in QUERIES]
    assert all(found)
    own = [{name: value for name, value in one.items() if name != "id"} for one in rows(house)]
    return own, found, list(ledger.entries), ledger.tallies, house.index.stamps()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_processes_make_together_is_what_one_made_little_by_little(house: House, jobs: int) -> None:
    before = state(house)
    house.index.reset()
    assert house.index.is_new
    with workers(jobs) as pool:
        report = reindex(house, executor=pool.pool)
    assert state(house) == before
    assert (report.added, report.unchanged, report.changed) == (len(before[0]), 0, 0)
    assert house.index.is_complete()


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


def test_a_rebuild_that_was_cut_off_is_ended_by_the_next(engine: str, house: House) -> None:
    def fail() -> None:
        raise KeyError

    before = state(house)
    house.index.reset()
    with pytest.raises(KeyError):
        reindex(house, executor=Interrupted(fail, behind=5))  # the first batches are written by then
    assert house.index.is_new
    report = reindex(house)
    assert state(house) == before
    assert report.added + report.unchanged == len(before[0])
    assert (report.unchanged > 0) == (engine == POSTGRES)


def test_what_is_captured_meanwhile_has_its_rows(house: House, tmp_path: Path) -> None:
    def capture() -> None:
        with house_at(tmp_path / "w", now=NOW) as other:
            end(at(other, "2026-11-21T15:00:00.000Z"), "only-compacted", transcript=turns(*SAID, "Now?", "Yes."))

    house.index.reset()
    reindex(house, executor=Interrupted(capture))
    made = state(house)
    house.index.reset()
    reindex(house)
    assert state(house) == made


def test_the_index_tells_what_it_has_by_stamp_and_hash(engine: str, tmp_path: Path) -> None:
    def hashes(index: Index, *paths: str) -> dict[str, str]:
        return index.hashes(iter(paths))

    one, other = row(stamp="1"), row(session="s-2", stamp="2")
    with closing(opened(engine, tmp_path / "index.db")) as index:
        assert (index.stamps(), hashes(index), hashes(index, one.source_path)) == ({}, {}, {})
        index.upsert([one, other])
        assert index.stamps() == {one.source_path: "1", other.source_path: "2"}
        assert hashes(index, one.source_path, "memory/none.md") == {one.source_path: one.source_sha256}
        with closing(opened(engine, tmp_path / "index.db")) as reader:
            assert not reader.is_complete()
            index.complete()
            assert reader.is_complete()
            assert not reader.is_new
