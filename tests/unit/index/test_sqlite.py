"""SQLite's own parts: a damaged index is recreated, a locked or unreadable one is an error. The rest is in contracts/.

What each guard rests on: `translate_errors`, and `except DatabaseDamaged` in `SqliteIndex`.
"""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lineage.database import sqlite
from lineage.errors import DatabaseDamaged, WorkspaceError
from lineage.index import SessionFilter, SqliteIndex, schema
from lineage.store import LocalStore, Store
from tests.contracts.test_index import all_known, found, manifest_row, row
from tests.support.concurrency import read_line, run_concurrently, run_unprivileged, start_process, write_line


def complete_index(path: Path, rows: int = 1) -> None:
    with closing(SqliteIndex(path)) as index:
        index.upsert(row(session=f"s-{number}", text=f"apples {number}") for number in range(rows))
        index.mark_complete()


@pytest.mark.parametrize("data", [b"", b"no database " * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_file_that_is_no_database_is_begun_anew(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "index.db").write_bytes(data)
    with closing(SqliteIndex(tmp_path / "index.db")) as index:
        assert index.needs_reindex
        index.upsert([row(text="apples")])
        assert found(index, "apples") == ["s-1"]


@pytest.mark.parametrize("version", [schema.VERSION + 1, 99, -1])
def test_a_database_of_another_version_is_begun_anew(tmp_path: Path, version: int) -> None:
    complete_index(tmp_path / "index.db")
    with closing(sqlite3.connect(tmp_path / "index.db")) as database:
        database.execute(f"pragma application_id = {version}")
    with closing(SqliteIndex(tmp_path / "index.db")) as index:
        assert index.needs_reindex
        assert all_known(index) == []


def test_words_and_folders_of_a_session_are_found_in_any_case_beyond_ascii(tmp_path: Path) -> None:
    named = manifest_row("s-1", title="Die Übersicht", project="/home/ada/Ödland")
    by_path = [SessionFilter(path=path) for path in ("Praxis/Ärzte", "praxis/ärzte")]
    by_words = [SessionFilter(words=[word]) for word in ("Übersicht", "ÜBERSICHT", "ödland")]
    with closing(SqliteIndex(tmp_path / "index.db")) as index:
        index.upsert([named, row(folders="\nPraxis/Ärzte/"), manifest_row("s-2")])
        for wanted in (*by_path, *by_words):
            assert [s.session_id for s in index.list_sessions(None, wanted=wanted)] == ["s-1"], wanted


def test_a_folder_with_a_capital_beyond_ascii_narrows_a_search(tmp_path: Path) -> None:
    with closing(SqliteIndex(tmp_path / "index.db")) as index:
        index.upsert([row(text="apples", folders="\nÄrzte/"), row(session="s-2", text="apples")])
        assert found(index, "apples path:Ärzte") == found(index, "apples path:ärzte") == ["s-1"]


def test_the_tables_of_a_new_database_come_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "VERSION", "no number")
    with closing(sqlite3.connect(tmp_path / "index.db")) as database:
        with pytest.raises(sqlite3.OperationalError):
            schema.create_tables(database)
        assert database.execute("select count(*) from sqlite_master").fetchone() == (0,)


def test_what_a_reindex_compares_is_read_without_the_rows(tmp_path: Path) -> None:
    """Fails without the index of both columns."""
    statements: list[str] = []
    with closing(SqliteIndex(tmp_path / "index.db")) as index, index.trace_statements(statements.append):
        index.load_stamps()
    with closing(sqlite3.connect(tmp_path / "index.db")) as database:
        plan = [detail for *_, detail in database.execute(f"explain query plan {statements[0]}")]
    assert [detail.partition(" USING ")[2] for detail in plan] == ["COVERING INDEX artifacts_source_path_stamp"]


@pytest.mark.slow
def test_damage_that_shows_only_in_use_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    complete_index(path, rows=2000)
    with closing(SqliteIndex(path)) as index:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096 * 8)
            file.write(b"\x5a" * (size - 4096 * 8))
        for ask in (
            lambda: all_known(index),
            lambda: found(index, "apples"),
            lambda: index.upsert(row(session=f"s-{number}") for number in range(2000)),
        ):
            with pytest.raises(DatabaseDamaged):
                ask()
        index.reset()
        index.upsert([row(text="apples")])
        assert found(index, "apples") == ["s-1"]


def test_a_locked_database_is_an_error_and_is_not_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_TIMEOUT_SECONDS", 0.01)
    path = tmp_path / "index.db"
    complete_index(path)
    code = """
import sqlite3
import subprocess
import sys
database = sqlite3.connect("index.db", isolation_level=None)
database.execute("pragma locking_mode = exclusive")
database.execute("begin immediate")
database.execute("update artifacts set title = 'theirs'")
database.execute("commit")
print("locked", flush=True)
input()
"""
    before = path.stat().st_ino
    with start_process(code, tmp_path) as process:
        assert read_line(process) == "locked"
        with pytest.raises(WorkspaceError, match="locked"):
            SqliteIndex(path)
        write_line(process)
        process.wait()
    assert path.stat().st_ino == before
    with closing(SqliteIndex(path)) as index:
        assert not index.needs_reindex
        assert [known.path for known in all_known(index)] == [row(session="s-0").source_path]


def test_a_writer_that_is_kept_waiting_too_long_says_so_and_can_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_TIMEOUT_SECONDS", 0.01)
    path = tmp_path / "index.db"
    complete_index(path)
    with closing(SqliteIndex(path)) as index, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        for write in (
            lambda: index.upsert([row(session="s-1")]),
            lambda: index.delete_paths(["x"]),
            index.mark_complete,
        ):
            with pytest.raises(WorkspaceError, match="locked"):
                write()
        assert found(index, "apples") == ["s-0"]
        other.execute("rollback")
        index.upsert([row(session="s-1", text="apples")])
        assert sorted(found(index, "apples")) == ["s-0", "s-1"]


def test_a_database_that_is_not_ours_to_write_is_an_error_and_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "state" / "index.db"
    complete_index(path)
    before = path.read_bytes()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    tmp_path.chmod(0o755)
    imports = (
        "from pathlib import Path; from lineage.index import SqliteIndex\n"
        "from tests.support.concurrency import describe_outcome"
    )
    code = "print(describe_outcome(lambda: SqliteIndex(Path('index.db')).mark_complete()))"
    assert run_unprivileged(imports, code, path.parent).strip() == "WorkspaceError"
    path.parent.chmod(0o755)
    path.chmod(0o644)
    assert path.read_bytes() == before


def test_a_folder_in_its_place_is_an_error_and_is_kept(tmp_path: Path) -> None:
    (tmp_path / "index.db").mkdir()
    (tmp_path / "index.db" / "note").write_bytes(b"")
    with pytest.raises(WorkspaceError):
        SqliteIndex(tmp_path / "index.db")
    assert (tmp_path / "index.db" / "note").exists()


@pytest.mark.slow
def test_many_processes_that_begin_at_once_all_get_their_index(tmp_path: Path) -> None:
    run_concurrently(LocalStore(tmp_path), open_many, [(tmp_path,)] * 8)
    for number in range(10):
        with closing(SqliteIndex(tmp_path / f"{number}.db")) as index:
            assert found(index, "apples") == ["s-1"]


def open_many(_: Store, folder: Path) -> None:
    for number in range(10):
        SqliteIndex(folder / f"{number}.db").close()
    for number in range(10):
        with closing(SqliteIndex(folder / f"{number}.db")) as index:
            index.upsert([row(text="apples")])


def test_captures_and_searches_do_not_import_sqlite_utils(tmp_path: Path) -> None:
    """A scrub does. Fails with `as_database` in `_select`."""
    path = tmp_path / "index.db"
    SqliteIndex(path).close()
    code = (
        "import sys; from pathlib import Path; from lineage.index import SqliteIndex\n"
        f"index = SqliteIndex(Path({str(path)!r}))\n"
        "index.upsert([]); index.search('apples', None, limit=1); index.list_agents(); index.has_paths(['x'])\n"
        "print('sqlite_utils' in sys.modules); index.scrub(); print('sqlite_utils' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
