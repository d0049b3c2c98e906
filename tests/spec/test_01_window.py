"""Spec, test 1: 1,500 sessions in the window; the newest rows are kept, the oldest clipped, with one explicit notice.

Fails without `window.holds` in the projection (or `between` in the index's ledger query), without `reverse=True` in
core/ledger.py, without the notice in projection/memory_md.py, and when rendering reads an artifact.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.config.workspace import LedgerSettings, Settings
from lineage.core.base.times import shift_time
from lineage.pipeline.maintenance.reindex import sync_rows
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.faults import CountingStore
from tests.support.memory_store import MemoryStore
from tests.support.workspace import NOW, end_session, open_test_workspace, write_capture

pytestmark = pytest.mark.slow

BUDGET = 262_144
ROW = re.compile(r"^- (?P<time>\S+Z) \| session=(?P<session>\S+) \| project=/home/ada/demo \| .*\|manifest\]\]$", re.M)
NOTICE = re.compile(
    r"^> Clipped to the budget: (\d+) of (\d+) rows are kept\..* of (\S+Z)\. Clipped by day: (.*?)\. ", re.M
)

BUSY = {
    f"busy-{day:02d}-{index:02d}": shift_time(NOW, days=-day, milliseconds=-(600_000 * index + 1))
    for day in range(30)
    for index in range(50)
}
EDGES = {"first-instant": shift_time(NOW, days=-30), "last-instant": NOW}
OUTSIDE = {"too-old": shift_time(NOW, days=-30, milliseconds=-1), "future": shift_time(NOW, milliseconds=1)}
INSIDE = sorted((BUSY | EDGES).items(), key=lambda item: item[1], reverse=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, CountingStore]]:
    store = CountingStore(MemoryStore())
    with open_test_workspace(tmp_path_factory.mktemp("window"), store=store, private=MemoryStore()) as ws:
        for session, ended_at in (BUSY | EDGES | OUTSIDE).items():
            sentence = f"In demo, the user had the reader mended, and the agent did so as {session} was asked to do."
            write_capture(ws, session, sentence=sentence, captured_at=ended_at, ended_at=ended_at)
        sync_rows(ws)
        yield ws, store


def memory_md(ws: Workspace, max_bytes: int = BUDGET) -> str:
    sized = Workspace(
        documents=ws.documents,
        index=ws.index,
        telemetry=ws.telemetry,
        settings=Settings(ledger=LedgerSettings(max_bytes=max_bytes)),
        now=NOW,
        new_id=ws.new_id,
    )
    publish_all(sized)
    return ws.documents.store.read("MEMORY.md").data.decode()


def test_fifteen_hundred_sessions_keep_their_newest_rows_within_the_budget(
    written: tuple[Workspace, CountingStore],
) -> None:
    text = memory_md(written[0])
    shown = [(row["session"], row["time"]) for row in ROW.finditer(text)]
    assert 300 < len(shown) < len(INSIDE)
    assert shown == INSIDE[: len(shown)], "the newest ones, newest first, none left out in between"
    longest = max(len(row[0].encode()) for row in ROW.finditer(text))
    assert BUDGET - 5 * longest < len(text.encode()) <= BUDGET, "clipped no more than needed"


def test_one_notice_says_what_was_clipped_of_each_day(written: tuple[Workspace, CountingStore]) -> None:
    text = memory_md(written[0])
    shown = [row["time"] for row in ROW.finditer(text)]
    assert text.count("Clipped to the budget") == 1
    kept, total, oldest, by_day = next(NOTICE.finditer(text)).groups()
    assert (int(kept), int(total), oldest) == (len(shown), len(INSIDE), shown[-1])
    told = {date: int(count) for date, count in re.findall(r"(\d{4}-\d\d-\d\d) \((\d+)\)", by_day)}
    assert told == Counter(time[:10] for _, time in INSIDE[len(shown) :])


def test_both_ends_of_the_window_belong_to_it_and_nothing_outside_does(
    written: tuple[Workspace, CountingStore],
) -> None:
    text = memory_md(written[0], max_bytes=4 * BUDGET)
    assert [(row["session"], row["time"]) for row in ROW.finditer(text)] == INSIDE
    assert "Clipped" not in text
    assert not any(session in text for session in OUTSIDE)


def test_rows_stand_under_the_utc_day_of_their_membership(written: tuple[Workspace, CountingStore]) -> None:
    text = memory_md(written[0], max_bytes=4 * BUDGET)
    days = text.split("\n### ")[1:]
    assert [day[:10] for day in days] == sorted({time[:10] for _, time in INSIDE}, reverse=True)
    assert all(row["time"][:10] == day[:10] for day in days for row in ROW.finditer(day))


def test_rendering_reads_no_artifact(written: tuple[Workspace, CountingStore]) -> None:
    ws, store = written
    store.reads.clear()
    memory_md(ws)
    assert [key for key in store.reads if key.startswith("memory/")] == []


def test_a_capture_among_fifteen_hundred_reads_no_file_of_another_session(tmp_path: Path) -> None:
    store = CountingStore(MemoryStore())
    with open_test_workspace(tmp_path, store=store, private=MemoryStore()) as ws:
        for session, ended_at in INSIDE[:20]:
            end_session(ws, session, captured_at=ended_at, ended_at=ended_at)
        store.reads.clear()
        token = end_session(ws, "one-more").session_token
        assert [key for key in store.reads if key.startswith("memory/") and token not in key] == []
