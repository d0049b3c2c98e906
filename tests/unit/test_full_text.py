"""The rows of the full text, as the hook and search read them: whole, by number, and with few imports.

Fails where separators are left in a text, where a row that is gone ends a read, and where `re` is imported.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineage
from lineage.core.search.segmentation import SEPARATOR, segment
from lineage.full_text import COUNT_MATCHES, build_match_expression, count_rows, find_rows, read_rows
from lineage.index.fts_rows import TABLES, insert_rows

ROWS = (
    (-1, "", "style", "Prefers tabs over spaces.", ""),
    (7, "the importer", "", segment("解析器 drops the last row"), "1 2 t0 r5"),
    (9, "", "", "The rows of the importer.", "3 3"),
)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute(TABLES[0])
        insert_rows(made, ROWS)
        made.commit()
        yield made


def test_a_row_is_read_as_it_was_written(connection: sqlite3.Connection) -> None:
    assert SEPARATOR in ROWS[1][3]
    found = {row.number: (row.title, row.sentence, row.body) for row in read_rows(connection, [9, 7, -1, 7, 8])}
    assert found == {
        -1: ("", "style", "Prefers tabs over spaces."),
        7: ("the importer", "", "解析器 drops the last row"),
        9: ("", "", "The rows of the importer."),
    }
    assert {row.number: row.speakers for row in read_rows(connection, [9, 7, -1])} == {-1: "", 7: "t0 r5", 9: ""}
    assert list(read_rows(connection, [])) == []


def test_rows_are_found_by_words_and_counted(connection: sqlite3.Connection) -> None:
    words = build_match_expression("importers, ROWS") or ""
    assert find_rows(connection, words, 5) == [7, 9]
    assert find_rows(connection, words, 1) == [7]
    assert find_rows(connection, build_match_expression("析器") or "", 5) == [7]
    assert count_rows(connection) == 3
    assert connection.execute(f"select {COUNT_MATCHES}", (words, 1)).fetchone() == (1,)


@settings(max_examples=10)
@given(st.lists(st.integers(-9, 300), max_size=40))
def test_the_count_that_the_full_text_keeps_is_that_of_its_rows(steps: list[int]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLES[0])
        numbers = count(1)
        for step in steps:  # so many rows are written, or one in ten is deleted
            if step < 0:
                connection.execute("delete from search where rowid % 10 = ?", (-step,))
            else:
                insert_rows(connection, ((next(numbers), "", "", "a quay", "") for _ in range(step)))
            connection.commit()
            assert (count_rows(connection),) == connection.execute("select count(*) from search").fetchone()


def test_a_hook_imports_it_without_what_is_slow() -> None:
    root = Path(lineage.__file__).parents[1]
    script = f"""
import sys
sys.path.insert(0, {str(root)!r})
import lineage.full_text
print(sorted(sys.modules.keys() & {{"re", "dataclasses", "pathlib", "sqlite3", "inspect", "typing"}}))
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
