"""Tables of text that are joined by their segments: what they hold and how it ranks is as if it had been written once.

What each guard rests on: numbers of segments that don't meet, `offset` in `_join_segments`; ranks, the sum of averages
there; a merge that is under way or a record with more in it, `_structure`.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.index import joining, texts
from lineage.index.joining import Building

WORDS = st.lists(st.sampled_from(("split", "newline", "größe", "reader", "the", "修", "the the")), max_size=6)
PARTS = st.lists(st.lists(WORDS, max_size=4), min_size=1, max_size=5)
ASKED = ("the", "split OR newline", '"the the"', "große", "修", "read*")


@given(parts=PARTS)
def test_parts_are_found_and_ranked_as_one(tmp_path_factory: pytest.TempPathFactory, parts: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("joining")
    numbered = [(n, " ".join(words)) for n, words in enumerate((words for part in parts for words in part), 1)]
    building, once = Building(folder), Building(_made(folder / "once"))
    rest = iter(numbered)
    for place, part in enumerate(parts):
        building.add(_written(building, place, [next(rest) for _ in part]))
    once.add(_written(once, 0, numbered))
    for one in (building, once):
        one.finish()
    assert _contents(building.path) == _contents(once.path)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _written(building: Building, place: int, rows: list[tuple[int, str]]) -> int:
    part = building.part(place)
    with part.writing():
        pass  # no row of an artifact
    with closing(joining._opened(part.path)) as connection:
        connection.execute("begin")
        texts.write(connection, [(number, "", f"day {number}", text, "") for number, text in rows])
        connection.execute("commit")
    return place


def _contents(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("insert into search (search) values ('integrity-check')")
        connection.execute("create virtual table temp.instances using fts5vocab(main, search, instance)")
        ranked = "select rowid, rank from search where search match ? order by rank, rowid"
        return [
            connection.execute("select rowid, * from search order by rowid").fetchall(),
            sorted(connection.execute("select * from temp.instances")),
            *(connection.execute(ranked, (asked,)).fetchall() for asked in ASKED),
        ]


def test_who_writes_later_merges_segments_as_ever(tmp_path: Path) -> None:
    building = Building(tmp_path)
    for place in range(20):
        building.add(_written(building, place, [(place + 1, f"word{place} the")]))
    building.finish()
    with closing(sqlite3.connect(building.path)) as connection:
        texts.write(connection, [(number, "", "", f"later {number}", "") for number in range(100, 300)])
        connection.execute("delete from search where rowid = 3")
        connection.commit()
        connection.execute("insert into search (search) values ('optimize')")
        connection.execute("insert into search (search) values ('integrity-check')")
        found = "select count(*) from search where search match ?"
        assert [connection.execute(found, (word,)).fetchone()[0] for word in ("the", "later", "word2")] == [19, 200, 0]


def test_the_segments_of_one_part_are_not_merged_at_once_by_who_writes_next(tmp_path: Path) -> None:
    """Fails without `_lower_segments`, and where a part merges its own."""
    building = Building(tmp_path)
    with building.part(0).writing():
        pass
    with closing(joining._opened(building.part(0).path)) as connection:
        for number in range(1, 41):
            texts.write(connection, [(number, "", "", " ".join(f"w{number}x{n}" for n in range(2000)), "")])
    building.add(0)
    building.finish()
    segments = "select count(distinct segid) from search_idx"
    with closing(sqlite3.connect(building.path)) as connection:
        assert connection.execute(segments).fetchone() == (40,)
        connection.execute("insert into search (search, rank) values ('automerge', 0)")  # what is merged step by step
        texts.write(connection, [(99, "", "", "w7x1999", "")])
        connection.commit()
        assert connection.execute(segments).fetchone() == (41,)
        assert connection.execute("select rowid from search where search match 'w7x1999'").fetchall() == [(7,), (99,)]
        connection.execute("insert into search (search) values ('integrity-check')")


@given(st.lists(st.integers(0, 2**56 - 1)))
def test_numbers_are_read_as_they_are_written(numbers: list[int]) -> None:
    assert joining._varints(b"".join(map(joining._varint, numbers))) == numbers


@pytest.mark.parametrize(
    "numbers", [[1, 1, 9, 1, 1, 1, 1, 1], [1, 1, 9, 0, 1, 1, 1, 1, 7], [1, 2, 9, 0, 1, 1, 1, 1], [1, 1], []]
)
def test_a_record_of_another_form_is_refused(numbers: list[int]) -> None:
    with pytest.raises(joining._UnknownForm):
        joining._structure(b"\0\0\0\0" + b"".join(map(joining._varint, numbers)))
