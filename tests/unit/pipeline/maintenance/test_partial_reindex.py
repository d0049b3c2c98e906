"""What came lately.

What each guard rests on:
- late clocks: the overlap; later ones: the comparison of everything once a day, and times that lie ahead.
- sessions that go on: `_older_manifests`. Removals: `drop_removed_sessions`. Files that are gone: `_recent` that
  gives up.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.index import SqliteIndex
from lineage.pipeline.maintenance.partial_reindex import COMPARED_EVERY_DAYS, OVERLAP_DAYS, reindex_recent
from lineage.pipeline.maintenance.reindex import ReindexReport, SuddenLoss, reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.telemetry import Telemetry
from lineage.workspace.workspace import Workspace
from tests.support.memory_store import MemoryStore
from tests.support.workspace import (
    NOW,
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    read_rows,
)

LATER = shift_time(NOW, milliseconds=3_600_000)
TALK = make_turns("Why does reader.py drop the last line?", "It splits on newline.", "And the tests?", "They pass now.")


class Listed(MemoryStore):
    """Notes which listings were asked for, and which keys were read."""

    def __init__(self) -> None:
        super().__init__()
        self.after: list[str] = []
        self.reads: list[str] = []

    def list(self, prefix: str, after: str = "") -> Iterator[Any]:
        if prefix == naming.MEMORY:
            self.after.append(after)
        return super().list(prefix, after)

    def read(self, key: str) -> Any:
        self.reads.append(key)
        return super().read(key)

    def open(self, key: str) -> Any:
        self.reads.append(key)
        return super().open(key)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path / "writer", store=Listed()) as ws:
        yield ws


@pytest.fixture
def reader(writer: Workspace, tmp_path: Path) -> Iterator[Workspace]:
    """Another machine, which has seen all that is there."""
    end_session(at_time(writer, shift_time(NOW, days=-30)), "old", transcript=TALK[:2])
    folder = tmp_path / "reader"
    ws = replace(writer, index=SqliteIndex(folder / "index.db"), telemetry=Telemetry(folder / "runtime.db"))
    with closing(ws):
        reindex_recent(ws)
        yield ws


def watched(ws: Workspace) -> Listed:
    """The store below the one that shows what is archived, too."""
    plain: Any = ws.documents.store
    while not isinstance(plain, Listed):
        plain = plain.base
    return plain


def seen(ws: Workspace) -> list[str]:
    return sorted(row.session_id for row in ws.index.list_sessions("default"))


def listed_from(ws: Workspace, report: ReindexReport) -> str:
    """Where the listing began, "" for one of everything."""
    assert isinstance(report, ReindexReport)
    return str(watched(ws).after[0])


def sync(ws: Workspace, now: str = LATER) -> str:
    watched(ws).after.clear()
    watched(ws).reads.clear()
    return listed_from(ws, reindex_recent(at_time(ws, now)))


def agrees(ws: Workspace) -> bool:
    """Whether a comparison of everything finds nothing left to do, and no promise is broken."""
    before = read_rows(ws)
    report = reindex(ws)
    return read_rows(ws) == before and not (report.added or report.changed or report.dropped) and verify(ws) == []


def test_only_what_came_lately_is_listed_and_read(writer: Workspace, reader: Workspace) -> None:
    end_session(at_time(writer, LATER), "new")
    assert sync(reader) == "memory/2026-11-19T12-00-00.000Z"
    assert not [key for key in watched(reader).reads if "2026-10" in key]
    assert seen(reader) == ["new", "old"]
    assert sync(reader) > "memory/2026-11-19T12"
    assert not [key for key in watched(reader).reads if "--" in key]
    assert agrees(at_time(reader, LATER))


def test_a_clock_that_is_behind_is_within_the_overlap(writer: Workspace, reader: Workspace) -> None:
    end_session(at_time(writer, shift_time(NOW, days=-OVERLAP_DAYS, milliseconds=1)), "slow")
    sync(reader)
    assert seen(reader) == ["old", "slow"]


def test_a_clock_that_is_further_behind_is_found_once_a_day(writer: Workspace, reader: Workspace) -> None:
    end_session(at_time(writer, shift_time(NOW, days=-OVERLAP_DAYS, milliseconds=-1)), "slower")
    sync(reader)
    assert seen(reader) == ["old"]
    assert sync(reader, shift_time(NOW, days=COMPARED_EVERY_DAYS)) == ""
    assert seen(reader) == ["old", "slower"]


def test_a_time_that_lies_far_ahead_says_nothing(writer: Workspace, reader: Workspace) -> None:
    reindex_recent(at_time(reader, shift_time(NOW, days=40)))
    end_session(at_time(writer, LATER), "new")
    assert sync(reader) == ""
    assert seen(reader) == ["new", "old"]


def test_a_last_time_that_lies_ahead_begins_no_listing_later_than_now(writer: Workspace, reader: Workspace) -> None:
    reindex_recent(at_time(reader, shift_time(NOW, milliseconds=3 * 3_600_000)))
    assert sync(reader) == "memory/2026-11-19T13-00-00.000Z"


def test_the_manifest_of_a_session_that_goes_on_is_read_again(writer: Workspace, reader: Workspace) -> None:
    end_session(at_time(writer, LATER), "old", transcript=TALK)
    compact_session(at_time(writer, LATER), "old", transcript=TALK)
    sync(reader)
    assert agrees(at_time(reader, LATER))


def test_a_removed_session_has_no_rows_any_more(writer: Workspace, reader: Workspace) -> None:
    remove(at_time(writer, LATER), "old", reason="")
    assert sync(reader) != ""
    assert seen(reader) == []
    assert agrees(at_time(reader, LATER))


def test_files_that_are_gone_and_were_not_removed_are_looked_into(writer: Workspace, reader: Workspace) -> None:
    end_session(at_time(writer, LATER), "new")
    end_session(at_time(writer, LATER), "newer")
    sync(reader)
    for entry in list(reader.documents.store.list(naming.MEMORY, "memory/2026-11")):
        if naming.parse_path(entry.key):
            reader.documents.store.delete(entry.key)
    with pytest.raises(SuddenLoss):
        reindex_recent(at_time(reader, LATER))
    assert seen(reader) == ["new", "newer", "old"]
    reindex_recent(at_time(reader, LATER), confirmed=True)
    assert seen(reader) == ["old"]
