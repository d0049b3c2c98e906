"""What came lately.

What each guard rests on:
- late clocks: the overlap; later ones: the comparison of everything once a day, and times that lie ahead.
- sessions that go on: `_older_manifests`. Removals: `forget_removed`. Files that are gone: `_recent` that gives up.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lineage.core import naming
from lineage.core.times import shifted
from lineage.index import SqliteIndex
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.reindexing import Report, SuddenLoss, reindex
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.synchronizing import COMPARED_EVERY_DAYS, OVERLAP_DAYS, synced
from lineage.pipeline.upkeep.verification import verify
from lineage.store import MemoryStore
from lineage.telemetry import Telemetry
from tests.support.houses import NOW, at, compact, end, house_at, rows, turns

LATER = shifted(NOW, milliseconds=3_600_000)
TALK = turns("Why does reader.py drop the last line?", "It splits on newline.", "And the tests?", "They pass now.")


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

    def opened(self, key: str) -> Any:
        self.reads.append(key)
        return super().opened(key)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[House]:
    with house_at(tmp_path / "writer", store=Listed()) as house:
        yield house


@pytest.fixture
def reader(writer: House, tmp_path: Path) -> Iterator[House]:
    """Another machine, which has seen all that is there."""
    end(at(writer, shifted(NOW, days=-30)), "old", transcript=TALK[:2])
    folder = tmp_path / "reader"
    house = writer._replace(index=SqliteIndex(folder / "index.db"), telemetry=Telemetry(folder / "runtime.db"))
    with closing(house):
        synced(house)
        yield house


def watched(house: House) -> Listed:
    """The store below the one that shows what is archived, too."""
    plain: Any = house.canon.store
    while not isinstance(plain, Listed):
        plain = plain.plain
    return plain


def seen(house: House) -> list[str]:
    return sorted(row.session_id for row in house.index.sessions("default"))


def listed_from(house: House, report: Report) -> str:
    """Where the listing began, "" for one of everything."""
    assert isinstance(report, Report)
    return str(watched(house).after[0])


def sync(house: House, now: str = LATER) -> str:
    watched(house).after.clear()
    watched(house).reads.clear()
    return listed_from(house, synced(at(house, now)))


def agrees(house: House) -> bool:
    """Whether a comparison of everything finds nothing left to do, and no promise is broken."""
    before = rows(house)
    report = reindex(house)
    return rows(house) == before and not (report.added or report.changed or report.dropped) and verify(house) == []


def test_only_what_came_lately_is_listed_and_read(writer: House, reader: House) -> None:
    end(at(writer, LATER), "new")
    assert sync(reader) == "memory/2026-11-19T12-00-00.000Z"
    assert not [key for key in watched(reader).reads if "2026-10" in key]
    assert seen(reader) == ["new", "old"]
    assert sync(reader) > "memory/2026-11-19T12"
    assert not [key for key in watched(reader).reads if "--" in key]
    assert agrees(at(reader, LATER))


def test_a_clock_that_is_behind_is_within_the_overlap(writer: House, reader: House) -> None:
    end(at(writer, shifted(NOW, days=-OVERLAP_DAYS, milliseconds=1)), "slow")
    sync(reader)
    assert seen(reader) == ["old", "slow"]


def test_a_clock_that_is_further_behind_is_found_once_a_day(writer: House, reader: House) -> None:
    end(at(writer, shifted(NOW, days=-OVERLAP_DAYS, milliseconds=-1)), "slower")
    sync(reader)
    assert seen(reader) == ["old"]
    assert sync(reader, shifted(NOW, days=COMPARED_EVERY_DAYS)) == ""
    assert seen(reader) == ["old", "slower"]


def test_a_time_that_lies_far_ahead_says_nothing(writer: House, reader: House) -> None:
    synced(at(reader, shifted(NOW, days=40)))
    end(at(writer, LATER), "new")
    assert sync(reader) == ""
    assert seen(reader) == ["new", "old"]


def test_a_last_time_that_lies_ahead_begins_no_listing_later_than_now(writer: House, reader: House) -> None:
    synced(at(reader, shifted(NOW, milliseconds=3 * 3_600_000)))
    assert sync(reader) == "memory/2026-11-19T13-00-00.000Z"


def test_the_manifest_of_a_session_that_goes_on_is_read_again(writer: House, reader: House) -> None:
    end(at(writer, LATER), "old", transcript=TALK)
    compact(at(writer, LATER), "old", transcript=TALK)
    sync(reader)
    assert agrees(at(reader, LATER))


def test_a_removed_session_has_no_rows_any_more(writer: House, reader: House) -> None:
    remove(at(writer, LATER), "old", reason="")
    assert sync(reader) != ""
    assert seen(reader) == []
    assert agrees(at(reader, LATER))


def test_files_that_are_gone_and_were_not_removed_are_looked_into(writer: House, reader: House) -> None:
    end(at(writer, LATER), "new")
    end(at(writer, LATER), "newer")
    sync(reader)
    for entry in list(reader.canon.store.list(naming.MEMORY, "memory/2026-11")):
        if naming.parse_path(entry.key):
            reader.canon.store.delete(entry.key)
    with pytest.raises(SuddenLoss):
        synced(at(reader, LATER))
    assert seen(reader) == ["new", "newer", "old"]
    synced(at(reader, LATER), confirmed=True)
    assert seen(reader) == ["old"]
