"""Telemetry on a real database: counted once, kept through every reindex, and never in a capture's way.

What each guard rests on: `on conflict do nothing` and the primary key of `captures`; `quarantine` in `_recreate`; the
second attempt in `_retry_damaged`; `_migrate`, which leaves tables of an unversioned database alone.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lineage.database import sqlite
from lineage.errors import WorkspaceError
from lineage.index import SqliteIndex
from lineage.store import LocalStore, Store
from lineage.telemetry import SeenSession, Telemetry, runtime
from tests.support.concurrency import run_concurrently

NOW = "2026-11-21T12:00:00.000Z"
ZERO = {"captures": 0, "compactions": 0, "turns": 0, "redactions": 0, "shown": 0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "runtime.db"


def count(telemetry: Telemetry, stem: str = "stem", kind: str = "session-end", turns: int = 4) -> None:
    telemetry.count_capture(stem, kind, "token", at=NOW, turns=turns, redactions=1)


def test_a_capture_counts_once_however_often_it_is_repeated(path: Path) -> None:
    telemetry = Telemetry(path)
    assert telemetry.read_counters() == ZERO
    assert not telemetry.has_counted("stem", "session-end")
    for _ in range(3):
        count(telemetry)
        count(Telemetry(path), turns=99)
    assert telemetry.has_counted("stem", "session-end")
    assert telemetry.read_counters() == ZERO | {"captures": 1, "turns": 4, "redactions": 1}


def test_captures_and_compactions_of_one_stem_are_counted_apart(path: Path) -> None:
    telemetry = Telemetry(path)
    count(telemetry)
    count(telemetry, kind="compaction")
    count(telemetry, stem="other")
    assert telemetry.read_counters() == ZERO | {"captures": 2, "compactions": 1, "turns": 12, "redactions": 3}


def test_every_look_at_a_session_counts(path: Path) -> None:
    telemetry = Telemetry(path)
    for token in ("a", "b", "a"):
        telemetry.count_access(token, NOW)
    assert telemetry.read_counters() == ZERO | {"shown": 3}


def test_a_reset_sets_counters_to_zero_and_keeps_what_is_needed_to_go_on(path: Path) -> None:
    telemetry, day = Telemetry(path), NOW[:10]
    count(telemetry)
    telemetry.count_access("a", NOW)
    telemetry.count_drops(day, {"question": 2})
    telemetry.count_embeddings(day, {"embedded": 3})
    telemetry.count_recall(day, {"given": 2, "tokens": 50})
    for called in ("2026-11-20", day):
        telemetry.begin_call(called, "sentence", tokens=5, max_calls=9, max_tokens=99)
        telemetry.record_skipped_call(called, "sentence", "limit")
    telemetry.mark("event codex", NOW)
    telemetry.record_import("default", ("codex", "/x", ""), "stamp", "token")
    seen = SeenSession("codex", "default", "s-1", "token", None, None, "Stop", NOW, None)
    telemetry.record_event(seen)
    wanted = {"captures": 1, "turns": 4, "redactions": 1, "shown": 1, "question": 2, "embedded": 3}
    wanted |= {"recalled, given": 2, "recalled, tokens": 50}
    assert telemetry.reset(day) == wanted
    assert set(telemetry.read_recall_counts().values()) == {0}
    assert (telemetry.read_counters(), telemetry.read_drop_counts(), telemetry.read_embedding_counts()) == (
        ZERO,
        {},
        {},
    )
    usage = telemetry.read_model_usage(day, 30)
    assert (usage.calls, usage.tokens, usage.held_back) == (1, 5, {}), "the day's limit holds"
    count(telemetry)
    assert telemetry.has_counted("stem", "session-end")
    assert telemetry.read_counters() == ZERO, "what was counted is not counted again"
    assert telemetry.read_marks() == {"event codex": NOW}
    assert telemetry.list_imports("default") == {("codex", "/x", ""): ("stamp", "token")}
    assert telemetry.list_seen_sessions() == [seen]
    count(telemetry, stem="later")
    assert telemetry.read_counters() == ZERO | {"captures": 1, "turns": 4, "redactions": 1}
    assert (telemetry.reset(day), telemetry.reset(day)) == ({"captures": 1, "turns": 4, "redactions": 1}, {})
    assert telemetry.forget("token") == 4


def test_a_mark_is_the_last_one_set(path: Path) -> None:
    telemetry = Telemetry(path)
    for name, value in (("b", "1"), ("a", "1"), ("b", "2")):
        telemetry.mark(name, value)
    assert list(telemetry.read_marks().items()) == [("a", "1"), ("b", "2")]


def test_the_loss_of_the_index_does_not_touch_what_was_counted(path: Path) -> None:
    with closing(SqliteIndex(path.with_name("index.db"))) as index:
        count(Telemetry(path))
        index.reset()
    assert Telemetry(path).read_counters()["captures"] == 1


@pytest.mark.parametrize("data", [b"no database " * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_damaged_database_is_set_aside_and_kept(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    telemetry = Telemetry(path)
    assert telemetry.was_damaged
    assert path.with_name("runtime.db.damaged").read_bytes() == data
    count(telemetry)
    assert telemetry.read_counters()["captures"] == 1
    assert not Telemetry(path).was_damaged


def test_damage_that_shows_only_in_use_does_not_stop_a_capture(path: Path) -> None:
    with closing(Telemetry(path)) as telemetry:
        telemetry.read_counters()
    with closing(sqlite3.connect(path)) as database, database:
        rows = [(f"stem-{number:04}", "session-end", "token", NOW, 1, 0) for number in range(300)]
        database.executemany("insert into captures values (?, ?, ?, ?, ?, ?)", rows)
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\x5a" * (len(data) - 8192))
    telemetry = Telemetry(path)
    assert not telemetry.was_damaged
    count(telemetry, stem="stem-0150")
    assert telemetry.was_damaged
    assert telemetry.read_counters()["captures"] == 1
    assert path.with_name("runtime.db.damaged").exists()


def test_a_locked_database_is_an_error_and_is_not_set_aside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_TIMEOUT_SECONDS", 0.01)
    telemetry = Telemetry(path)
    count(telemetry)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(WorkspaceError, match="locked"):
            count(telemetry, stem="other")
        other.execute("rollback")
    count(telemetry, stem="other")
    assert telemetry.read_counters()["captures"] == 2
    assert not telemetry.was_damaged


def test_a_folder_in_its_place_is_an_error_and_is_kept(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(WorkspaceError):
        Telemetry(path).read_counters()
    assert path.is_dir()


def test_what_nobody_asks_is_not_opened(path: Path) -> None:
    with closing(Telemetry(path)):
        pass
    assert not path.exists()


@pytest.mark.slow
def test_many_processes_that_begin_at_once_count_everything(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    run_concurrently(store, count_many, [(tmp_path, who) for who in range(6)])
    assert Telemetry(tmp_path / "runtime.db").read_counters()["captures"] == 30


def count_many(_: Store, folder: Path, who: int) -> None:
    for number in range(5):
        count(Telemetry(folder / "runtime.db"), stem=f"{who}-{number}")
        count(Telemetry(folder / "runtime.db"), stem=f"{who}-{number}")


def test_a_database_without_a_version_keeps_its_rows_and_gets_one(path: Path) -> None:
    with closing(Telemetry(path)) as telemetry:
        count(telemetry)
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("pragma user_version").fetchone() == (len(runtime._MIGRATIONS),)
        database.execute("drop table drops")
        database.execute("alter table seen drop column process")
        database.execute("pragma user_version = 0")
    with closing(Telemetry(path)) as telemetry:
        assert telemetry.read_counters()["captures"] == 1
        assert telemetry.read_drop_counts() == {}


def test_processes_that_begin_at_once_make_the_tables_once(tmp_path: Path) -> None:
    run_concurrently(LocalStore(tmp_path), _count_one, [(str(tmp_path), number) for number in range(4)])
    assert Telemetry(tmp_path / "runtime.db").read_counters()["captures"] == 4


def _count_one(_: Store, folder: str, number: int) -> None:
    with closing(Telemetry(Path(folder) / "runtime.db")) as telemetry:
        count(telemetry, f"stem-{number}")
