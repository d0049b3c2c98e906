"""A database that is built beside the index: the merges of FTS5 meanwhile and afterwards.

Fails if `build` keeps FTS5's own limits for merging segments at once, or merges while it builds.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lineage.index import fts_rows, shadow_build
from lineage.store.platform import lock_descriptor, make_private_file
from tests.contracts.test_index import row

SEGMENTS = "select count(distinct segid) from search_idx"


def test_the_next_writer_does_not_merge_all_segments_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fts_rows, "HASH_SIZE_BYTES", 1)  # a segment for each row
    path = tmp_path / "built.db"
    with shadow_build.build(path) as write:
        write([(number, row(session=f"s-{number}", stamp="1")) for number in range(1, 41)])
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute(SEGMENTS).fetchone()[0]
        assert before > 16, "more than FTS5 merges at once by itself"
        fts_rows.insert_rows(connection, [(10**9, "", "", "later", "")])
        connection.commit()
        assert connection.execute(SEGMENTS).fetchone()[0] == before + 1
        connection.execute("insert into search (search) values ('optimize')")
        connection.execute("insert into search (search) values ('integrity-check')")
        assert connection.execute(SEGMENTS).fetchone()[0] == 1
        assert connection.execute("select rowid from search where search match 'later'").fetchall() == [(10**9,)]


def test_a_folder_that_another_process_deletes_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[Path]()

    def lock_too_late(descriptor: int) -> None:
        if not taken:
            taken.extend(tmp_path.iterdir())
            shutil.rmtree(taken[0])
        lock_descriptor(descriptor)

    monkeypatch.setattr(shadow_build, "lock_descriptor", lock_too_late)
    with shadow_build.temporary_folder(tmp_path) as folder:
        assert [folder] == list(tmp_path.iterdir())
        assert folder not in taken
        shadow_build.collect_leftovers(tmp_path)
        assert folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_deletes_before_its_lock_is_there_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[Path]()

    def make_too_late(path: Path) -> None:
        if not taken:
            taken.append(path.parent)
            shutil.rmtree(path.parent)
        make_private_file(path)

    monkeypatch.setattr(shadow_build, "make_private_file", make_too_late)
    with shadow_build.temporary_folder(tmp_path) as folder:
        assert [folder] == list(tmp_path.iterdir())
        assert folder not in taken
