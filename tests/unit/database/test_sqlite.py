"""Opening this machine's databases, and telling damage from other errors.

What each guard rests on: `_DAMAGE` in `translate_errors`; the mode of the folder in `connect`; the loop in `_use_wal`.
"""

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from lineage.database import sqlite
from lineage.database.sqlite import connect, delete_database, quarantine, translate_errors
from lineage.errors import DatabaseDamaged, LineageError, WorkspaceError
from tests.support.concurrency import read_line, start_process, write_line


def made(path: Path, rows: int = 500) -> Path:
    with closing(connect(path)) as database, database:
        database.execute("create table t (x text)")
        database.executemany("insert into t values (?)", [("x" * 100,)] * rows)
    return path


def read(path: Path) -> list[tuple[str]]:
    with closing(connect(path)) as database, translate_errors(path):
        return database.execute("select x from t").fetchall()


def test_a_database_is_opened_in_wal_mode_in_a_folder_of_its_owner(tmp_path: Path) -> None:
    path = made(tmp_path / "state" / "x.db")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with closing(connect(path)) as database:
        assert database.execute("pragma journal_mode").fetchone() == ("wal",)


def nonsense(path: Path) -> None:
    path.write_bytes(b"this is no database " * 500)


def torn(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\x5a" * (len(data) - 4096))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [nonsense, torn])
def test_a_file_that_is_no_database_any_more_is_damaged(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = made(tmp_path / "x.db")
    damage(path)
    with pytest.raises(DatabaseDamaged, match=r"x\.db"):
        read(path)


def test_a_folder_in_its_place_is_not_damage(tmp_path: Path) -> None:
    path = made(tmp_path / "x.db")
    folder(path)
    with pytest.raises(WorkspaceError):
        read(path)


def test_a_file_in_place_of_its_folder_is_an_error_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"")
    with pytest.raises(WorkspaceError):
        connect(tmp_path / "state" / "x.db")


def test_a_lock_that_is_not_released_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_TIMEOUT_SECONDS", 0.01)
    path = made(tmp_path / "x.db")
    code = """
import sqlite3
database = sqlite3.connect("x.db", isolation_level=None)
database.execute("begin immediate")
print("locked", flush=True)
input()
"""
    with start_process(code, tmp_path) as process:
        assert read_line(process) == "locked"
        with pytest.raises(WorkspaceError, match="locked"), closing(connect(path)) as database, translate_errors(path):
            database.execute("insert into t values ('mine')")
        write_line(process)
        process.wait()
    assert len(read(path)) == 500


@pytest.mark.parametrize("released", [True, False])
def test_a_switch_to_wal_mode_waits_for_whoever_is_beginning_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, released: bool
) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("create table t (x text)")
        other.execute("begin immediate")

        def sleep(seconds: float) -> None:
            clock.now += seconds
            if released and other.in_transaction:
                other.execute("rollback")

        clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now, sleep=sleep)
        monkeypatch.setattr(sqlite, "_TIMEOUT_SECONDS", 0.02)
        monkeypatch.setattr(sqlite, "time", clock)
        if released:
            assert read(path) == []
        else:
            with pytest.raises(WorkspaceError, match="locked"):
                connect(path)
        assert clock.now > 0


def test_a_mistake_of_the_programmer_is_not_called_damage(tmp_path: Path) -> None:
    path = made(tmp_path / "x.db")
    with closing(connect(path)) as database, pytest.raises(LineageError) as caught, translate_errors(path):
        database.execute("select nonsense from t")
    assert not isinstance(caught.value, DatabaseDamaged)


def test_discarding_takes_the_sidecars_too_and_nothing_else(tmp_path: Path) -> None:
    for name in ("x.db", "x.db-wal", "x.db-shm", "y.db", "x.db.damaged"):
        (tmp_path / name).write_bytes(b"")
    delete_database(tmp_path / "x.db")
    delete_database(tmp_path / "x.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.db.damaged", "y.db"]


def test_setting_aside_keeps_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"damaged")
    (tmp_path / "x.db-wal").write_bytes(b"")
    assert quarantine(tmp_path / "x.db").read_bytes() == b"damaged"
    assert [path.name for path in tmp_path.iterdir()] == ["x.db.damaged"]


@pytest.mark.parametrize("act", [delete_database, quarantine])
def test_a_database_that_cannot_be_moved_is_an_error_of_the_workspace(
    tmp_path: Path, act: Callable[[Path], object]
) -> None:
    (tmp_path / "x.db").mkdir()
    (tmp_path / "x.db" / "file").write_bytes(b"")
    (tmp_path / "x.db.damaged").write_bytes(b"")
    with pytest.raises(WorkspaceError):
        act(tmp_path / "x.db")


def test_sqlite_is_recent_enough_for_what_is_used() -> None:
    assert sqlite3.sqlite_version_info >= (3, 35)
