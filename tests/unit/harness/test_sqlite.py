"""Reading a database beside its writer: one state of it, nothing written, no file left behind. (harnesses.md 4.2)"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import TranscriptError
from lineage.harness.sqlite import fetch_rows, list_tables, read_database

WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = wal")
connection.execute("PRAGMA wal_autocheckpoint = 8")
number = 1
for line in sys.stdin:
    for _ in range(int(line)):
        connection.execute("BEGIN")
        number += 1
        connection.execute("INSERT INTO left VALUES (?)", (number,))
        connection.execute("INSERT INTO right VALUES (?)", (number,))
        connection.execute("COMMIT")
    print(number, flush=True)
"""


class Writer:
    """Another process that keeps a database open and writes to both of its tables, in one transaction."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, count: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()

    def done(self) -> int:
        assert self.process.stdout
        return int(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()


def make_database(path: Path, mode: str = "wal") -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        for table in ("left", "right"):
            connection.execute(f"CREATE TABLE {table} (number INTEGER)")
            connection.execute(f"INSERT INTO {table} VALUES (1)")
    return path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_database(tmp_path / "a # strange? 100%25 näme.db")


@pytest.fixture
def writer(database: Path) -> Iterator[Writer]:
    writer = Writer(database)
    yield writer
    writer.end()


def read_tables(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
    left, right = (
        [row["number"] for row in fetch_rows(connection, f"SELECT number FROM {table} ORDER BY number")]
        for table in ("left", "right")
    )
    return left, right


def read_state(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir()}


def catch_refusal(path: Path) -> TranscriptError:
    with pytest.raises(TranscriptError) as caught:
        read_database(path, read_tables)
    assert caught.value.hint
    return caught.value


def test_a_row_is_known_by_its_columns_and_a_view_is_no_table(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE VIEW session AS SELECT 1")
    assert read_database(database, list_tables) == {"left", "right"}
    assert read_database(database, lambda connection: fetch_rows(connection, "SELECT *, 2 AS two FROM left")) == [
        {"number": 1, "two": 2}
    ]


@pytest.mark.parametrize("mode", ["wal", "delete", "truncate", "persist"])
def test_a_database_at_rest_is_read_and_stays_as_it_is(mode: str, tmp_path: Path) -> None:
    database = make_database(tmp_path / "at rest.db", mode)
    before = read_state(tmp_path)
    assert read_database(database, read_tables) == ([1], [1])
    assert read_state(tmp_path) == before


def test_what_a_writer_committed_is_seen_though_only_the_log_holds_it(database: Path, writer: Writer) -> None:
    size = database.stat().st_size
    writer.start(2)
    assert writer.done() == 3
    before = read_state(database.parent)
    assert before[database.name + "-wal"][0] > 0
    assert read_database(database, read_tables) == ([1, 2, 3], [1, 2, 3])
    assert read_state(database.parent).keys() == before.keys()
    assert read_state(database.parent)[database.name] == before[database.name]
    assert database.stat().st_size == size
    writer.start(1)
    assert writer.done() == 4
    assert read_database(database, read_tables) == ([1, 2, 3, 4], [1, 2, 3, 4])


@pytest.mark.slow
def test_while_another_process_writes_each_reading_is_one_state_that_only_grows(database: Path, writer: Writer) -> None:
    writer.start(1)
    writer.done()
    writer.start(400)
    seen = 0
    for _ in range(60):
        left, right = read_database(database, read_tables)
        assert left == right == list(range(1, len(left) + 1))
        assert len(left) >= seen
        seen = len(left)
    assert read_database(database, lambda _: writer.done()) == 402
    assert read_database(database, read_tables)[0] == list(range(1, 403))


def test_a_transaction_that_is_open_is_not_seen(tmp_path: Path) -> None:
    database = make_database(tmp_path / "journal.db", "delete")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO left VALUES (2)")
        assert (tmp_path / "journal.db-journal").exists()
        assert read_database(database, read_tables) == ([1], [1])
        connection.execute("COMMIT")
    assert read_database(database, read_tables) == ([1, 2], [1])


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_what_changes_while_it_is_read_is_read_again(mode: str, tmp_path: Path) -> None:
    database = make_database(tmp_path / "changing.db", mode)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        seen = []

        def interrupted(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
            seen.append(read_tables(connection))
            if len(seen) == 1:
                other.execute("INSERT INTO left VALUES (2)")
                os.utime(database, ns=(0, 0))  # two writes within one tick of the clock are hard to come by
            return seen[-1]

        assert read_database(database, interrupted) == ([1, 2], [1])
        assert seen == [([1], [1]), ([1, 2], [1])]


def test_an_error_counts_only_if_the_database_stayed_as_it_was(tmp_path: Path) -> None:
    database = make_database(tmp_path / "changing.db", "delete")

    def torn(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        if database.stat().st_mtime_ns:
            os.utime(database, ns=(0, 0))
            raise sqlite3.DatabaseError("malformed")
        return read_tables(connection)

    assert read_database(database, torn) == ([1], [1])
    with pytest.raises(TranscriptError, match="no such column"):
        read_database(database, lambda connection: fetch_rows(connection, "SELECT absent FROM left"))


def test_a_database_that_changes_each_time_is_read_under_a_lock_at_last(tmp_path: Path) -> None:
    database = make_database(tmp_path / "restless.db", "delete")
    times = iter(range(1, 4))

    def interrupted(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        for time in times:
            os.utime(database, ns=(time, time))
            break
        return read_tables(connection)

    assert read_database(database, interrupted) == ([1], [1])
    assert next(times, None) is None


def test_a_log_without_its_index_is_read_and_no_index_is_left_beside_it(
    database: Path, writer: Writer, tmp_path: Path
) -> None:
    writer.start(2)
    writer.done()
    backup = tmp_path / "backup"
    backup.mkdir()
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{database}{suffix}", f"{backup / 'saved.db'}{suffix}")
    before = read_state(backup)
    assert read_database(backup / "saved.db", read_tables) == ([1, 2, 3], [1, 2, 3])
    assert read_state(backup) == before


def test_what_a_writer_that_was_killed_left_is_read_and_stays_for_it_to_recover(database: Path, writer: Writer) -> None:
    writer.start(2)
    writer.done()
    writer.process.kill()
    writer.process.wait()
    files = [database, database.with_name(database.name + "-wal")]
    before = [path.read_bytes() for path in files]
    assert before[1]
    assert read_database(database, read_tables) == ([1, 2, 3], [1, 2, 3])
    assert [path.read_bytes() for path in files] == before


def test_a_database_cannot_be_written_to(database: Path, writer: Writer) -> None:
    for _ in range(2):
        with pytest.raises(TranscriptError, match="readonly"):
            read_database(database, lambda connection: connection.execute("INSERT INTO left VALUES (9)"))
        writer.start(1)
        writer.done()


def test_a_writer_can_write_while_it_is_read(database: Path, writer: Writer) -> None:
    writer.start(1)
    writer.done()

    def slowly(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        left, _ = read_tables(connection)
        writer.start(50)
        assert writer.done() == 52
        return left, read_tables(connection)[1]

    assert read_database(database, slowly) == ([1, 2], [1, 2])


def test_text_that_is_not_utf8_is_read_with_replacement_characters(database: Path) -> None:
    query = "SELECT CAST(x'ff66' AS TEXT) AS word"
    assert read_database(database, lambda connection: fetch_rows(connection, query)) == [{"word": "\ufffdf"}]


@pytest.mark.parametrize(
    ("missing", "reason"),
    [("no-such.db", "No such file"), ("folder", "not a file"), ("pipe", "not a file"), ("a\0b.db", "null byte")],
)
def test_what_is_no_file_is_an_error(missing: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    message = catch_refusal(tmp_path / missing).message
    assert str(tmp_path / missing) in message
    assert reason in message


def test_a_database_that_may_not_be_read_is_an_error(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert "Permission denied" in catch_refusal(database).message


def test_a_table_or_column_that_is_missing_is_an_error(database: Path) -> None:
    with pytest.raises(TranscriptError, match="no such table: absent"):
        read_database(database, lambda connection: fetch_rows(connection, "SELECT * FROM absent"))


@pytest.mark.parametrize("data", [b"prose\n" * 40, b"SQLite format 3\x00" + bytes(84), b"SQLite format 3\x00" * 400])
def test_what_is_no_database_is_an_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "given.db"
    path.write_bytes(data)
    catch_refusal(path)


@given(data=st.data())
def test_a_damaged_database_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "damaged.db"
    if not (folder / "whole.db").exists():
        make_database(folder / "whole.db", "delete")
    content = bytearray((folder / "whole.db").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content) - 1))
        content[start : start + 4] = data.draw(st.binary(min_size=0, max_size=4))
    path.write_bytes(content)
    try:
        read_database(path, read_tables)
    except TranscriptError as error:
        assert str(path) in error.message
