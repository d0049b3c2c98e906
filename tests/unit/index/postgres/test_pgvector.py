"""Vectors on real servers: with pgvector, without it, and with a role that may not create it.

What each guard rests on, in index/postgres/pgvector.py and index.py:
- never required: `_SELECT_EXTENSION_SCHEMA`, `may_create` and `_CAN_CREATE_SCHEMA` in `open_shared_vectors`.
  An extension that is too old: `halfvec` in `_SELECT_EXTENSION_SCHEMA`.
- vectors outlive the rows: the schema `_vectors`, and `is_complete` in `prune`.
- versions: `ensure_version`. Damage: `_reset_if_damaged`, which leaves that of the rows alone. A file that is not in
  use: `delete_database` in `open_vectors`.
- one machine embeds: `embedding_lock`. Speed of a scan: `toast_tuple_target`. Deleted bytes:
  `disable_statistics_sql` and `scrub`.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from lineage.core.search.quantization import quantize
from lineage.errors import DatabaseDamaged, IndexUnavailable
from lineage.index.postgres import PostgresIndex
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import PassageVector, Vectors, VectorsLost, VectorSource
from lineage.store import BusyError, LocalStore, Store
from tests.contracts.test_vectors import MODEL, ONE, TWO, placed, store
from tests.support import engines
from tests.support.concurrency import run_concurrently
from tests.support.indexes import derive_schema

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> str:
    return engines.start_pgvector().url


@pytest.fixture
def index(url: str, tmp_path: Path) -> Iterator[PostgresIndex]:
    with closing(PostgresIndex(url, derive_schema(tmp_path))) as found:
        found.mark_complete()
        yield found


@pytest.fixture
def vectors(index: PostgresIndex, tmp_path: Path) -> Vectors:
    return index.open_vectors(tmp_path / "vectors.db", may_create=True)


@contextmanager
def database(url: str, *statements: str) -> Iterator[str]:
    """The address of an empty database, in which these statements were run."""
    name = f"test_{uuid4().hex}"
    run(url, f"create database {name}")
    there = _address(url, dbname=name)
    run(there, *statements)
    try:
        yield there
    finally:
        run(url, f"drop database {name} with (force)")


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[arg-type]


def _address(url: str, **changed: str) -> str:
    parts = {**conninfo_to_dict(url), **changed}
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}"


@pytest.fixture
def plain(url: str) -> str:
    """The name of a role without any right of its own."""
    name = f"plain_{uuid4().hex}"
    run(url, f"create role {name} login")
    return name


def has_extension(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("select 1 from pg_extension where extname = 'vector'").fetchone() is not None


# never required


def test_without_the_extension_they_lie_in_the_file(tmp_path: Path) -> None:
    with closing(PostgresIndex(engines.start_postgres().url, derive_schema(tmp_path))) as index:
        vectors = index.open_vectors(tmp_path / "vectors.db", may_create=True)
        assert isinstance(vectors, VectorFile)
        assert store(vectors, placed(ONE, 0, 1, 0)) == 1
        index.mark_complete()


def test_who_may_create_it_does_so_with_the_first_vectors_alone(url: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.db"
    with database(url) as there:
        with closing(PostgresIndex(there, derive_schema(tmp_path))) as index:
            assert isinstance(index.open_vectors(file, may_create=False), VectorFile)
        assert not has_extension(there)
        with closing(PostgresIndex(there, derive_schema(tmp_path))) as index:
            assert store(index.open_vectors(file, may_create=True), placed(ONE, 0, 1, 0)) == 1
        with closing(PostgresIndex(there, derive_schema(tmp_path))) as index:
            index.reset()
            assert [near.path for near in index.open_vectors(file, may_create=False).find_nearest(b"\1\2", 3)] == [
                ONE.path
            ]
    assert not file.exists()


@pytest.mark.parametrize("is_created", [False, True])
def test_a_role_without_the_right_has_the_file_and_its_rows(
    url: str, plain: str, tmp_path: Path, is_created: bool
) -> None:
    """The right to create a schema was given it once, for the index, and taken back."""
    with database(url, *["create extension vector"] * is_created) as there:
        name = conninfo_to_dict(there)["dbname"]
        run(there, f"grant create on database {name} to {plain}")
        with closing(PostgresIndex(_address(there, user=plain), derive_schema(tmp_path))) as index:
            index.mark_complete()
        run(there, f"revoke create on database {name} from {plain}")
        with closing(PostgresIndex(_address(there, user=plain), derive_schema(tmp_path))) as index:
            vectors = index.open_vectors(tmp_path / "vectors.db", may_create=True)
            assert isinstance(vectors, VectorFile)
            assert store(vectors, placed(ONE, 0, 1, 0)) == 1
            assert index.is_complete()
        assert has_extension(there) == is_created


def test_a_role_that_may_create_schemas_uses_what_was_created(url: str, plain: str, tmp_path: Path) -> None:
    with database(url, "create extension vector") as there:
        run(there, f"grant create on database {conninfo_to_dict(there)['dbname']} to {plain}")
        with closing(PostgresIndex(_address(there, user=plain), derive_schema(tmp_path))) as index:
            index.mark_complete()
            vectors = index.open_vectors(tmp_path / "vectors.db", may_create=False)
            store(vectors, placed(ONE, 0, 1, 0), placed(TWO, 0, 1, 1))
            vectors.prune({TWO.path: None})
            vectors.scrub()
            assert [near.path for near in vectors.find_nearest(quantize([1, 0]), 3)] == [ONE.path]


def test_it_may_be_in_any_schema(url: str, tmp_path: Path) -> None:
    elsewhere = ('create schema "Else where"', 'create extension vector schema "Else where"')
    with database(url, *elsewhere) as there, closing(PostgresIndex(there, derive_schema(tmp_path))) as index:
        vectors = index.open_vectors(tmp_path / "vectors.db", may_create=True)
        assert not isinstance(vectors, VectorFile)
        store(vectors, placed(ONE, 0, 1, 0))
        assert [near.path for near in vectors.find_nearest(quantize([1, 0]), 3)] == [ONE.path]


def test_one_that_has_no_halves_yet_is_none(url: str, tmp_path: Path) -> None:
    older = ("create extension vector", "alter type halfvec rename to later")
    with database(url, *older) as there, closing(PostgresIndex(there, derive_schema(tmp_path))) as index:
        assert isinstance(index.open_vectors(tmp_path / "vectors.db", may_create=True), VectorFile)


def test_asking_makes_no_tables(vectors: Vectors, index: PostgresIndex) -> None:
    assert (vectors.load_source_versions(), vectors.count_passages(), vectors.read_model_info(), vectors.exists) == (
        {},
        0,
        None,
        False,
    )
    vectors.scrub()
    assert index.database.execute("select to_regnamespace(%s)::text", (f"{index.database.schema}_vectors",)) == [
        (None,)
    ]


# who begins anew


def test_rows_that_begin_anew_leave_vectors_where_they_are(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    index.reset()
    assert vectors.load_source_versions() == {ONE.path: "v1"}


def test_while_rows_are_made_anew_no_vector_is_dropped(url: str, index: PostgresIndex, vectors: Vectors) -> None:
    """Another machine's index is not there yet, and says nothing about what there is."""
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    with closing(PostgresIndex(url, index.database.schema)) as other:
        other.reset()
        assert vectors.prune({ONE.path: None}) == 0
        assert vectors.load_source_versions() == {ONE.path: "v1"}
        other.mark_complete()
    assert vectors.prune({ONE.path: None}) == 1


def test_tables_of_an_older_version_go_and_those_of_a_newer_one_are_refused(
    url: str, index: PostgresIndex, vectors: Vectors, tmp_path: Path
) -> None:
    store(vectors, placed(ONE, 0, 1, 0))
    change = f'update "{index.database.schema}_vectors".state set version = version + %s'
    index.database.execute(change, (1,))
    with closing(PostgresIndex(url, index.database.schema)) as again:
        with pytest.raises(IndexUnavailable, match="newer lineage") as refused:
            again.open_vectors(tmp_path / "vectors.db", may_create=True)
        assert "upgrade" in refused.value.hint
    assert vectors.count_passages() == 1
    index.database.execute(change, (-2,))
    with closing(PostgresIndex(url, index.database.schema)) as again:
        assert again.open_vectors(tmp_path / "vectors.db", may_create=True).count_passages() == 0
    assert index.is_complete()


@pytest.mark.parametrize("damage", ['drop table "{}".sources', 'alter table "{}".passages drop column vector'])
def test_damage_costs_the_vectors_and_no_row(index: PostgresIndex, vectors: Vectors, damage: str) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    index.database.execute(damage.format(f"{index.database.schema}_vectors"))
    with pytest.raises(VectorsLost, match="lacks a table") as caught:
        vectors.load_source_versions()
        list(vectors.find_nearest(quantize([1, 0]), 3))
    assert "lineage admin embed" in caught.value.hint
    assert index.is_complete()
    store(vectors, placed(TWO, 0, 1, 0))
    assert vectors.load_source_versions() == {TWO.path: ""}


def test_tables_that_cannot_be_told_are_begun_anew(
    url: str, index: PostgresIndex, vectors: Vectors, tmp_path: Path
) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    index.database.execute(f'drop table "{index.database.schema}_vectors".state')
    with closing(PostgresIndex(url, index.database.schema)) as again:
        found = again.open_vectors(tmp_path / "vectors.db", may_create=True)
        assert (found.load_source_versions(), again.is_complete()) == ({}, True)
        assert store(found, placed(ONE, 0, 1, 0)) == 1


def test_damage_of_the_rows_costs_no_vector(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0))

    def is_current(_: VectorSource) -> bool:
        index.database.execute("drop table artifacts cascade")
        return bool(index.count_by_kind())

    with pytest.raises(DatabaseDamaged):
        vectors.store(MODEL, [placed(TWO, 0, 1, 0)], (), is_current)
    assert vectors.load_source_versions() == {ONE.path: ""}


def test_a_file_that_is_in_use_no_more_goes(url: str, tmp_path: Path) -> None:
    """It would keep what is removed from now on."""
    file = tmp_path / "vectors.db"
    with closing(VectorFile(file)) as before:
        store(before, placed(ONE, 0, 1, 0))
    with closing(PostgresIndex(url, derive_schema(tmp_path))) as index:
        assert index.open_vectors(file, may_create=True).count_passages() == 0
    assert list(tmp_path.iterdir()) == []


# many machines


def test_one_machine_embeds_at_a_time(url: str, index: PostgresIndex, vectors: Vectors, tmp_path: Path) -> None:
    with closing(PostgresIndex(url, index.database.schema)) as other:
        elsewhere = other.open_vectors(tmp_path / "vectors.db", may_create=True)
        with vectors.embedding_lock(), pytest.raises(BusyError), elsewhere.embedding_lock():
            pass
        with elsewhere.embedding_lock():
            pass


def test_who_goes_away_while_it_embeds_holds_up_nobody(url: str, index: PostgresIndex, tmp_path: Path) -> None:
    vectors = index.open_vectors(tmp_path / "vectors.db", may_create=True)
    with closing(PostgresIndex(url, index.database.schema)) as other:
        elsewhere = other.open_vectors(tmp_path / "vectors.db", may_create=True)
        with pytest.raises(IndexUnavailable), elsewhere.embedding_lock():
            (process,) = other.database.execute("select pg_backend_pid()")[0]
            index.database.execute("select pg_terminate_backend(%s, 5000)", (process,))
            with vectors.embedding_lock():
                pass


def test_many_that_begin_and_store_at_once_lose_nothing(url: str, tmp_path: Path) -> None:
    with database(url) as there:
        file = tmp_path / "vectors.db"
        run_concurrently(
            LocalStore(tmp_path), store_many, [(there, derive_schema(tmp_path), file, who) for who in range(6)]
        )
        with closing(PostgresIndex(there, derive_schema(tmp_path))) as index:
            vectors = index.open_vectors(file, may_create=False)
            assert not isinstance(vectors, VectorFile)
            assert (vectors.count_passages(), len(vectors.load_source_versions())) == (6 * 5 * 4, 6 * 5)


def store_many(_: Store, url: str, schema: str, file: Path, who: int) -> None:
    with closing(PostgresIndex(url, schema)) as index:
        vectors = index.open_vectors(file, may_create=True)
        for number in range(5):
            source = VectorSource(f"memory/{who}-{number}.md", "v")
            found = [PassageVector(source, place, b"%d %d %d" % (who, number, place), b"\1\2") for place in range(4)]
            vectors.store(MODEL, found, [source], lambda _: True)


# bytes


def test_what_was_dropped_is_in_no_file_of_the_server(index: PostgresIndex, vectors: Vectors) -> None:
    sources = [VectorSource(f"memory/wombat{number}.md", "v") for number in range(9)]
    store(vectors, *(placed(one, place, 1, 2, 3) for one in sources for place in (0, 1)), settled=tuple(sources))
    index.database.execute(f'analyze "{index.database.schema}_vectors".passages')
    index.database.execute(f'analyze "{index.database.schema}_vectors".sources')
    assert holding(index, b"wombat")
    vectors.prune({one.path: None for one in sources})
    vectors.scrub()
    assert holding(index, b"wombat") == []


def holding(index: PostgresIndex, text: bytes) -> list[str]:
    """The files of tables, indexes and statistics that hold a text once everything is written out."""
    index.database.execute("checkpoint")
    files = (file for file in (engines.start_pgvector().data / "base").rglob("*") if file.is_file())
    return [str(file) for file in files if text in file.read_bytes()]


def test_whatever_the_database_sorts_by_texts_are_sorted_by_their_bytes(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0))
    asked = "select collation_name from information_schema.columns where table_schema = %s and data_type = 'text'"
    assert set(index.database.execute(asked, (f"{index.database.schema}_vectors",))) == {("C",)}


def test_long_vectors_lie_in_the_rows_that_a_scan_reads(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, *(PassageVector(ONE, place, b"%d" % place, bytes([1, 2, 3]) * 1_000) for place in range(20)))
    aside = "select pg_relation_size(reltoastrelid) from pg_class where oid = '\"{}_vectors\".passages'::regclass"
    assert index.database.execute(aside.format(index.database.schema)) == [(0,)]


def test_a_server_that_is_away_is_away_and_nothing_is_kept_beside_it(tmp_path: Path) -> None:
    with closing(PostgresIndex("postgresql://127.0.0.1:1/memory", derive_schema(tmp_path))) as index:
        for _ in range(2):
            with pytest.raises(IndexUnavailable):
                index.open_vectors(tmp_path / "vectors.db", may_create=True)
