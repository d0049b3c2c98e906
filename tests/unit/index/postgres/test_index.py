"""PostgreSQL's own parts on a real server: versions, counts of words, ranks equal to SQLite's.

What each guard rests on:
- the ledger: the join by session in index/postgres/ledger.py.
- versions: `ensure_tables` in index/postgres/schema.py, `_migrate` in telemetry/postgres.py.
- the counts of words: `_add_counts` and `_DELETE_ROWS` in index/postgres/fts_rows.py; `skip locked` there.
- ranks: `build_match_statement` and `_SELECT_MATCHES`. The privacy rule: `ALLOWED_ENTRY` in core/search/index_sql.py.
- deleted bytes: `vacuum_tables` in database/postgres.py. The names of schemas: `derive_schema` in app/databases.py.
"""

import contextlib
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.app.databases import INDEX_VARIABLE, derive_schema, open_databases
from lineage.config.machine import parse_machine_settings
from lineage.core.base.book_paths import is_allowed_in_scope
from lineage.core.capture.ledger import Window
from lineage.core.search.index_sql import ALLOWED_ENTRY
from lineage.database.postgres import Postgres, strip_credentials
from lineage.errors import DatabaseDamaged, FormatError, IndexUnavailable, InvalidInput, WorkspaceError
from lineage.index import Index, build_row
from lineage.index.postgres import PostgresIndex, schema
from lineage.store import LocalStore, Store
from lineage.telemetry import postgres as runtime
from lineage.telemetry.postgres import PostgresTelemetry
from tests.contracts.test_index import all_known, found, row
from tests.contracts.test_index_books import book, files, said
from tests.support import engines
from tests.support.artifacts import make_artifact
from tests.support.concurrency import run_concurrently
from tests.support.indexes import POSTGRES, SQLITE, open_index
from tests.support.indexes import derive_schema as schema_at
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.slow

NOW = "2026-11-21T12:00:00.000Z"


@pytest.fixture
def url() -> str:
    return engines.start_postgres().url


@pytest.fixture
def index(url: str, tmp_path: Path) -> Iterator[PostgresIndex]:
    with closing(PostgresIndex(url, schema_at(tmp_path))) as found:
        yield found


@pytest.fixture
def telemetry(url: str, tmp_path: Path) -> Iterator[PostgresTelemetry]:
    with closing(PostgresTelemetry(url, f"{schema_at(tmp_path)}_runtime")) as found:
        yield found


# the ledger


def test_a_ledger_looks_at_each_row_about_once(index: PostgresIndex) -> None:
    """By counted rows, without the server's statistics: rows of an entry are found by its session's index."""
    index.upsert(row(session=f"s-{number}") for number in range(400))
    asked = "select seq_tup_read from pg_stat_xact_user_tables where relid = 'artifacts'::regclass"
    with index.database.transaction():
        (before,) = index.database.execute(asked)[0]
        assert len(list(index.load_ledger("default", Window.from_end(NOW)).entries)) == 400
        (after,) = index.database.execute(asked)[0]
    assert after - before <= 2 * 400


# versions


def test_tables_of_an_older_version_are_begun_anew(url: str, index: PostgresIndex) -> None:
    index.upsert([row(text="apples")])
    index.mark_complete()
    index.database.execute("update state set version = %s", (schema.VERSION - 1,))
    with closing(PostgresIndex(url, index.database.schema)) as again:
        assert again.needs_reindex
        assert all_known(again) == []


def test_tables_of_a_newer_version_are_refused_and_left_alone(url: str, index: PostgresIndex) -> None:
    index.upsert([row(text="apples")])
    index.database.execute("update state set version = %s", (schema.VERSION + 1,))
    with closing(PostgresIndex(url, index.database.schema)) as again:
        for _ in range(2):
            with pytest.raises(IndexUnavailable, match="newer lineage") as refused:
                all_known(again)
        assert "upgrade" in refused.value.hint
    assert len(all_known(index)) == 1


def test_runtime_state_of_an_older_version_is_brought_up_and_of_a_newer_one_refused(
    url: str, telemetry: PostgresTelemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    telemetry.count_capture("stem", "session-end", "token", at=NOW, turns=4, redactions=0)
    more = ("alter table captures add column seconds integer",)
    with monkeypatch.context() as newer:
        newer.setattr(runtime, "_MIGRATIONS", (*runtime._MIGRATIONS, more))
        newer.setattr(runtime, "VERSION", runtime.VERSION + 1)
        with closing(PostgresTelemetry(url, telemetry.database.schema)) as again:
            assert again.database.execute("select turns, seconds from captures") == [(4, None)]
    with (
        closing(PostgresTelemetry(url, telemetry.database.schema)) as again,
        pytest.raises(IndexUnavailable, match="newer"),
    ):
        again.read_counters()


def test_a_table_that_somebody_dropped_is_damage(index: PostgresIndex) -> None:
    index.mark_complete()
    index.database.execute("drop table artifacts cascade")
    with pytest.raises(DatabaseDamaged):
        all_known(index)
    index.reset()
    assert (index.needs_reindex, all_known(index)) == (True, [])


# who is let in


def test_a_refusal_names_the_place_and_no_password(url: str, tmp_path: Path) -> None:
    wrong = url.replace("postgres@", "nobody:hunter" + "two@")
    with closing(PostgresIndex(wrong, schema_at(tmp_path))) as index, pytest.raises(IndexUnavailable) as refused:
        all_known(index)
    assert "nobody" in refused.value.message
    assert "hunter" + "two" not in f"{refused.value.message} {refused.value.hint} {refused.value.__cause__}"


def test_a_database_that_is_not_there_is_away(url: str, tmp_path: Path) -> None:
    there = PostgresIndex(url.replace("/postgres?", "/nowhere?"), schema_at(tmp_path))
    with closing(there) as index, pytest.raises(IndexUnavailable, match="nowhere"):
        index.upsert([row()])


def test_whoever_was_turned_away_does_not_knock_again(tmp_path: Path) -> None:
    knocks: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def turn_away() -> None:
            with contextlib.suppress(OSError):
                while True:
                    visitor, _ = door.accept()
                    knocks.append(visitor)  # before it is turned away, which is what the index waits for
                    visitor.close()

        Thread(target=turn_away, daemon=True).start()
        there = PostgresIndex(f"postgresql://127.0.0.1:{door.getsockname()[1]}/memory", schema_at(tmp_path))
        with closing(there) as index:
            with pytest.raises(IndexUnavailable):
                all_known(index)
            knocked = len(knocks)
            for ask in (index.count_by_kind, index.list_agents, lambda: index.needs_reindex):
                with pytest.raises(IndexUnavailable):
                    ask()
        assert 0 < len(knocks) == knocked
        door.shutdown(socket.SHUT_RDWR)


def test_an_address_is_shown_without_who_comes_and_how() -> None:
    assert strip_credentials("postgres://ada:secret@db.example/memory") == "postgresql://db.example/memory"
    for address in ("mysql://x", "postgresql://[broken", "", "memory.db"):
        with pytest.raises(InvalidInput) as refused:
            strip_credentials(address)
        assert "broken" not in refused.value.message


def test_the_address_comes_from_the_environment_or_the_machine_s_configuration(
    url: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(INDEX_VARIABLE, raising=False)
    file = home / ".config" / "lineage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'index = "{url}"\n')
    assert parse_machine_settings(file.read_text(), str(file)).index == url
    with contextlib.ExitStack() as opened:
        kinds = []
        for named_there in (None, ""):
            if named_there is not None:
                monkeypatch.setenv(INDEX_VARIABLE, named_there)
            for database in open_databases(tmp_path, MemoryStore()):
                opened.callback(database.close)
                kinds.append(type(database).__name__)
    assert kinds == ["PostgresIndex", "PostgresTelemetry", "SqliteIndex", "Telemetry"]


def test_a_folder_s_schema_has_the_name_that_lies_beside_it(tmp_path: Path) -> None:
    one, other = LocalStore(tmp_path / "one"), LocalStore(tmp_path / "other")
    assert derive_schema(tmp_path, one) == derive_schema(tmp_path / "moved", one) != derive_schema(tmp_path, other)
    (tmp_path / "one" / "index-id").write_bytes(b'"; drop schema public; --')
    with pytest.raises(FormatError):
        derive_schema(tmp_path, one)


# words


SOME = ("apple", "apples", "pear", "plum", "running", "ran", "修正", "src/app.py", "Über", "x1")
WORDS = st.lists(st.sampled_from(SOME), max_size=12)


def add(index: Index, session: str, words: list[str]) -> None:
    index.upsert([build_row(make_artifact(session=session, body=f"[[l]]\n{' '.join(words)}\n"), b"", "")])


@given(steps=st.lists(st.tuples(st.sampled_from(["s-1", "s-2", "s-3"]), st.one_of(st.none(), WORDS)), max_size=8))
@settings(max_examples=25)
def test_the_counts_of_words_are_those_of_the_texts_after_any_writes_and_drops(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str] | None]]
) -> None:
    with closing(PostgresIndex(engines.start_postgres().url, schema_at(tmp_path_factory.mktemp("words")))) as index:
        for number, (session, words) in enumerate(steps):
            if words is None:
                index.delete_paths([make_artifact(session=session).path])
            else:
                add(index, session, words)
            if number == 2:
                index.mark_complete()
        counts = dict(
            index.database.execute("select term, sum(rows)::int from vocabulary group by term having sum(rows) <> 0")
        )
        there = dict(index.database.execute("select word, ndoc from ts_stat('select terms from search')"))
        rows, length = index.database.execute("select count(*), coalesce(sum(words), 0)::int from search")[0]
        assert {word: count for word, count in counts.items() if word.strip()} == there
        assert (counts.get("", 0), counts.get(" ", 0)) == (rows, length)


@given(texts=st.lists(WORDS, min_size=1, max_size=6), asked=WORDS)
@settings(max_examples=40)
def test_both_engines_find_the_same_with_the_same_ranks(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], asked: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("both")
    found = []
    for engine in (SQLITE, POSTGRES):
        with closing(open_index(engine, folder / "index.db")) as index:
            for number, words in enumerate(texts):
                add(index, f"s-{number}", words)
            hits = index.search(" ".join(asked), None, limit=10)
            found.append({hit.session_id: (hit.score, hit.snippet) for hit in hits})
    sqlite, postgres = found
    assert {name: snippet for name, (_, snippet) in sqlite.items()} == {
        name: snippet for name, (_, snippet) in postgres.items()
    }
    assert {name: score for name, (score, _) in sqlite.items()} == pytest.approx(
        {name: score for name, (score, _) in postgres.items()}, rel=1e-4, abs=1e-6
    )


@given(
    scope=st.sampled_from(["global", "session/a", "session/", "session/b"]),
    private=st.booleans(),
    token=st.sampled_from(["", "a", "b"]),
)
def test_the_server_s_gate_is_the_gate(scope: str, private: bool, token: str) -> None:
    statement = f"""
        with artifacts as (select %s::text as session_token, %s::integer as private)
        select {ALLOWED_ENTRY} from (select %s::text as scope, %s::text as origin_token) e
    """
    values = (token, int(private), scope, token)
    expected = [(is_allowed_in_scope(scope, private=private, token=token),)]
    with closing(Postgres(engines.start_postgres().url, "test_gate", schema.ensure_tables)) as database:
        assert database.execute(statement, values) == expected
    with closing(sqlite3.connect(":memory:")) as local:
        plain = statement.replace("%s::text", "?").replace("%s::integer", "?")
        assert local.execute(plain, values).fetchall() == expected


def test_texts_of_any_length_and_words_of_any_length_are_taken(index: PostgresIndex) -> None:
    many = " ".join(f"word{number}" for number in range(40_000))
    add(index, "s-1", [many, "x" * 100_000, "\u0436" * 5_000, "needle"])
    assert found(index, "needle") == ["s-1"]
    assert found(index, "word39999") == ["s-1"]
    index.index_books([files(use=book(said(f"beginning {many} " + "\u0436" * 50_000)))])
    index.index_books([files(use=book(said(" ".join(f"{number:05d}" + "\U00010400" * 60 for number in range(9_000)))))])
    index.index_books([files(use=book(said(f"beginning {many}")))])
    assert [hit.kind for hit in index.search("beginning", None, limit=5)] == ["entry"]


# bytes


def test_what_was_removed_is_in_no_file_of_the_server(index: PostgresIndex, telemetry: PostgresTelemetry) -> None:
    server = engines.start_postgres()
    gone = make_artifact(session="s-1", body="[[l]]\nthe wombatword is here\n", title="wombattitle")
    index.upsert([build_row(gone, b"", ""), row(session="s-2", text="harmless")])
    index.mark_complete()
    telemetry.count_access(gone.identity.token, NOW)
    assert _files_with(server, index.database, b"wombat")
    index.delete_session(gone.identity.token)
    telemetry.forget(gone.identity.token)
    index.scrub()
    telemetry.scrub()
    assert _files_with(server, index.database, b"wombat") == []
    assert "write-ahead log" in index.residual_copies()[0]
    assert found(index, "harmless") == ["s-2"]


def _files_with(server: engines.PostgresServer, database: Postgres, text: bytes) -> list[str]:
    """The files of tables, indexes and statistics that hold a text once everything is written out."""
    database.execute("checkpoint")
    files = (file for file in (server.data / "base").rglob("*") if file.is_file())
    return [str(file) for file in files if text in _bytes_of(file)]


def _bytes_of(file: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return file.read_bytes()
    return b""


# many at once


def test_of_calls_that_begin_at_once_none_gets_past_the_day_s_limit(url: str, telemetry: PostgresTelemetry) -> None:
    bounds = {"tokens": 1, "max_calls": 1, "max_tokens": 10**6}
    with closing(PostgresTelemetry(url, telemetry.database.schema)) as other:
        with telemetry.database.transaction():
            assert telemetry.begin_call("2026-11-21", "capture", **bounds)
            other.database.execute("set lock_timeout = '10ms'")
            with pytest.raises(WorkspaceError, match="locked"):
                other.begin_call("2026-11-21", "capture", **bounds)
        assert other.begin_call("2026-11-21", "capture", **bounds) is None


def test_many_processes_that_begin_and_write_at_once_lose_nothing(url: str, tmp_path: Path) -> None:
    run_concurrently(LocalStore(tmp_path), write_many, [(url, schema_at(tmp_path), who) for who in range(8)])
    with closing(PostgresIndex(url, schema_at(tmp_path))) as index:
        assert len(all_known(index)) == 8 * 6
        assert index.database.execute("select sum(rows)::int from vocabulary where term = ''") == [(8 * 6,)]
        assert len(index.search("apples", None, limit=100)) == 8 * 6
    with closing(PostgresTelemetry(url, f"{schema_at(tmp_path)}_runtime")) as telemetry:
        assert telemetry.read_model_usage("2026-11-21").calls == 10


def write_many(_: Store, url: str, name: str, who: int) -> None:
    with closing(PostgresIndex(url, name)) as index, closing(PostgresTelemetry(url, f"{name}_runtime")) as telemetry:
        for number in range(6):
            index.upsert([row(session=f"s-{who}-{number}", text="apples and pears")])
            index.mark_complete()
            telemetry.begin_call("2026-11-21", "capture", tokens=1, max_calls=10, max_tokens=10**6)
