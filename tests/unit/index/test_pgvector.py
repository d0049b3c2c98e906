"""What is PostgreSQL's own of vectors, on real servers: with pgvector, without it, and where a role may not create it.

What each guard rests on, in index/postgres/pgvector.py and engine.py:
- never required: `_home`, `may_begin` and `_MAY_BEGIN` in `shared`. One too old: `to_regtype` in `_EXTENSION`.
- what lies beside rows that begin anew: the schema `_vectors`, and `is_complete` in `keep`.
- versions: `check`. Damage: `_whole`, which leaves that of the rows alone. A file that is not in use: `discard`.
- one who embeds: `embedding`. What a scan reads: `toast_tuple_target`. Bytes that are gone: `unsampled` and `scrub`.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from lineage.core.quantizing import quantized
from lineage.errors import DamagedIndex, IndexAway
from lineage.index.postgres import PostgresIndex
from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import LostVectors, Placed, Source, Vectors
from lineage.store import BusyError, LocalStore, Store
from tests.contracts.test_vectors import MODEL, ONE, TWO, placed, store
from tests.support import engines
from tests.support.indexes import schema_of
from tests.support.races import race

pytestmark = pytest.mark.slow


@pytest.fixture
def url() -> str:
    return engines.pgvector().url


@pytest.fixture
def index(url: str, tmp_path: Path) -> Iterator[PostgresIndex]:
    with closing(PostgresIndex(url, schema_of(tmp_path))) as found:
        found.complete()
        yield found


@pytest.fixture
def vectors(index: PostgresIndex, tmp_path: Path) -> Vectors:
    return index.vectors(tmp_path / "vectors.db", may_begin=True)


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
    with closing(PostgresIndex(engines.postgres().url, schema_of(tmp_path))) as index:
        vectors = index.vectors(tmp_path / "vectors.db", may_begin=True)
        assert isinstance(vectors, VectorFile)
        assert store(vectors, placed(ONE, 0, 1, 0)) == 1
        index.complete()


def test_who_may_create_it_does_so_with_the_first_vectors_alone(url: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.db"
    with database(url) as there:
        with closing(PostgresIndex(there, schema_of(tmp_path))) as index:
            assert isinstance(index.vectors(file, may_begin=False), VectorFile)
        assert not has_extension(there)
        with closing(PostgresIndex(there, schema_of(tmp_path))) as index:
            assert store(index.vectors(file, may_begin=True), placed(ONE, 0, 1, 0)) == 1
        with closing(PostgresIndex(there, schema_of(tmp_path))) as index:
            index.reset()
            assert [near.path for near in index.vectors(file, may_begin=False).nearest(b"\1\2", 3)] == [ONE.path]
    assert not file.exists()


@pytest.mark.parametrize("is_created", [False, True])
def test_a_role_without_the_right_has_the_file_and_its_rows(
    url: str, plain: str, tmp_path: Path, is_created: bool
) -> None:
    """The right to create a schema was given it once, for the index, and taken back."""
    with database(url, *["create extension vector"] * is_created) as there:
        name = conninfo_to_dict(there)["dbname"]
        run(there, f"grant create on database {name} to {plain}")
        with closing(PostgresIndex(_address(there, user=plain), schema_of(tmp_path))) as index:
            index.complete()
        run(there, f"revoke create on database {name} from {plain}")
        with closing(PostgresIndex(_address(there, user=plain), schema_of(tmp_path))) as index:
            vectors = index.vectors(tmp_path / "vectors.db", may_begin=True)
            assert isinstance(vectors, VectorFile)
            assert store(vectors, placed(ONE, 0, 1, 0)) == 1
            assert index.is_complete()
        assert has_extension(there) == is_created


def test_a_role_that_may_create_schemas_uses_what_was_created(url: str, plain: str, tmp_path: Path) -> None:
    with database(url, "create extension vector") as there:
        run(there, f"grant create on database {conninfo_to_dict(there)['dbname']} to {plain}")
        with closing(PostgresIndex(_address(there, user=plain), schema_of(tmp_path))) as index:
            index.complete()
            vectors = index.vectors(tmp_path / "vectors.db", may_begin=False)
            store(vectors, placed(ONE, 0, 1, 0), placed(TWO, 0, 1, 1))
            vectors.keep({TWO.path: None})
            vectors.scrub()
            assert [near.path for near in vectors.nearest(quantized([1, 0]), 3)] == [ONE.path]


def test_it_may_be_in_any_schema(url: str, tmp_path: Path) -> None:
    elsewhere = ('create schema "Else where"', 'create extension vector schema "Else where"')
    with database(url, *elsewhere) as there, closing(PostgresIndex(there, schema_of(tmp_path))) as index:
        vectors = index.vectors(tmp_path / "vectors.db", may_begin=True)
        assert not isinstance(vectors, VectorFile)
        store(vectors, placed(ONE, 0, 1, 0))
        assert [near.path for near in vectors.nearest(quantized([1, 0]), 3)] == [ONE.path]


def test_one_that_has_no_halves_yet_is_none(url: str, tmp_path: Path) -> None:
    older = ("create extension vector", "alter type halfvec rename to later")
    with database(url, *older) as there, closing(PostgresIndex(there, schema_of(tmp_path))) as index:
        assert isinstance(index.vectors(tmp_path / "vectors.db", may_begin=True), VectorFile)


def test_asking_makes_no_tables(vectors: Vectors, index: PostgresIndex) -> None:
    assert (vectors.sources(), vectors.count(), vectors.model(), vectors.is_there) == ({}, 0, None, False)
    vectors.scrub()
    assert index.database.rows("select to_regnamespace(%s)::text", (f"{index.database.schema}_vectors",)) == [(None,)]


# who begins anew


def test_rows_that_begin_anew_leave_vectors_where_they_are(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    index.reset()
    assert vectors.sources() == {ONE.path: "v1"}


def test_while_rows_are_made_anew_no_vector_is_dropped(url: str, index: PostgresIndex, vectors: Vectors) -> None:
    """Another machine's index is not there yet, and says nothing about what there is."""
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    with closing(PostgresIndex(url, index.database.schema)) as other:
        other.reset()
        assert vectors.keep({ONE.path: None}) == 0
        assert vectors.sources() == {ONE.path: "v1"}
        other.complete()
    assert vectors.keep({ONE.path: None}) == 1


def test_tables_of_an_older_version_go_and_those_of_a_newer_one_are_refused(
    url: str, index: PostgresIndex, vectors: Vectors, tmp_path: Path
) -> None:
    store(vectors, placed(ONE, 0, 1, 0))
    change = f'update "{index.database.schema}_vectors".state set version = version + %s'
    index.database.rows(change, (1,))
    with closing(PostgresIndex(url, index.database.schema)) as again:
        with pytest.raises(IndexAway, match="newer lineage") as refused:
            again.vectors(tmp_path / "vectors.db", may_begin=True)
        assert "upgrade" in refused.value.hint
    assert vectors.count() == 1
    index.database.rows(change, (-2,))
    with closing(PostgresIndex(url, index.database.schema)) as again:
        assert again.vectors(tmp_path / "vectors.db", may_begin=True).count() == 0
    assert index.is_complete()


@pytest.mark.parametrize("damage", ['drop table "{}".sources', 'alter table "{}".passages drop column vector'])
def test_damage_costs_the_vectors_and_no_row(index: PostgresIndex, vectors: Vectors, damage: str) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    index.database.rows(damage.format(f"{index.database.schema}_vectors"))
    with pytest.raises(LostVectors, match="lacks a table") as caught:
        vectors.sources()
        list(vectors.nearest(quantized([1, 0]), 3))
    assert "--embed" in caught.value.hint
    assert index.is_complete()
    store(vectors, placed(TWO, 0, 1, 0))
    assert vectors.sources() == {TWO.path: ""}


def test_tables_that_cannot_be_told_are_begun_anew(
    url: str, index: PostgresIndex, vectors: Vectors, tmp_path: Path
) -> None:
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    index.database.rows(f'drop table "{index.database.schema}_vectors".state')
    with closing(PostgresIndex(url, index.database.schema)) as again:
        found = again.vectors(tmp_path / "vectors.db", may_begin=True)
        assert (found.sources(), again.is_complete()) == ({}, True)
        assert store(found, placed(ONE, 0, 1, 0)) == 1


def test_damage_of_the_rows_costs_no_vector(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0))

    def is_current(_: Source) -> bool:
        index.database.rows("drop table artifacts cascade")
        return bool(index.counts())

    with pytest.raises(DamagedIndex):
        vectors.store(MODEL, [placed(TWO, 0, 1, 0)], (), is_current)
    assert vectors.sources() == {ONE.path: ""}


def test_a_file_that_is_in_use_no_more_goes(url: str, tmp_path: Path) -> None:
    """It would keep what is removed from now on."""
    file = tmp_path / "vectors.db"
    with closing(VectorFile(file)) as before:
        store(before, placed(ONE, 0, 1, 0))
    with closing(PostgresIndex(url, schema_of(tmp_path))) as index:
        assert index.vectors(file, may_begin=True).count() == 0
    assert list(tmp_path.iterdir()) == []


# many machines


def test_one_machine_embeds_at_a_time(url: str, index: PostgresIndex, vectors: Vectors, tmp_path: Path) -> None:
    with closing(PostgresIndex(url, index.database.schema)) as other:
        elsewhere = other.vectors(tmp_path / "vectors.db", may_begin=True)
        with vectors.embedding(), pytest.raises(BusyError), elsewhere.embedding():
            pass
        with elsewhere.embedding():
            pass


def test_who_goes_away_while_it_embeds_holds_up_nobody(url: str, index: PostgresIndex, tmp_path: Path) -> None:
    vectors = index.vectors(tmp_path / "vectors.db", may_begin=True)
    with closing(PostgresIndex(url, index.database.schema)) as other:
        elsewhere = other.vectors(tmp_path / "vectors.db", may_begin=True)
        with pytest.raises(IndexAway), elsewhere.embedding():
            (process,) = other.database.rows("select pg_backend_pid()")[0]
            index.database.rows("select pg_terminate_backend(%s, 5000)", (process,))
            with vectors.embedding():
                pass


def test_many_that_begin_and_store_at_once_lose_nothing(url: str, tmp_path: Path) -> None:
    with database(url) as there:
        file = tmp_path / "vectors.db"
        race(LocalStore(tmp_path), store_many, [(there, schema_of(tmp_path), file, who) for who in range(6)])
        with closing(PostgresIndex(there, schema_of(tmp_path))) as index:
            vectors = index.vectors(file, may_begin=False)
            assert not isinstance(vectors, VectorFile)
            assert (vectors.count(), len(vectors.sources())) == (6 * 5 * 4, 6 * 5)


def store_many(_: Store, url: str, schema: str, file: Path, who: int) -> None:
    with closing(PostgresIndex(url, schema)) as index:
        vectors = index.vectors(file, may_begin=True)
        for number in range(5):
            source = Source(f"memory/{who}-{number}.md", "v")
            found = [Placed(source, place, b"%d %d %d" % (who, number, place), b"\1\2") for place in range(4)]
            vectors.store(MODEL, found, [source], lambda _: True)


# bytes


def test_what_was_dropped_is_in_no_file_of_the_server(index: PostgresIndex, vectors: Vectors) -> None:
    sources = [Source(f"memory/wombat{number}.md", "v") for number in range(9)]
    store(vectors, *(placed(one, place, 1, 2, 3) for one in sources for place in (0, 1)), settled=tuple(sources))
    index.database.rows(f'analyze "{index.database.schema}_vectors".passages')
    index.database.rows(f'analyze "{index.database.schema}_vectors".sources')
    assert holding(index, b"wombat")
    vectors.keep({one.path: None for one in sources})
    vectors.scrub()
    assert holding(index, b"wombat") == []


def holding(index: PostgresIndex, text: bytes) -> list[str]:
    """The files of tables, indexes and statistics that hold a text once everything is written out."""
    index.database.rows("checkpoint")
    files = (file for file in (engines.pgvector().data / "base").rglob("*") if file.is_file())
    return [str(file) for file in files if text in file.read_bytes()]


def test_whatever_the_database_sorts_by_texts_are_sorted_by_their_bytes(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, placed(ONE, 0, 1, 0))
    asked = "select collation_name from information_schema.columns where table_schema = %s and data_type = 'text'"
    assert set(index.database.rows(asked, (f"{index.database.schema}_vectors",))) == {("C",)}


def test_long_vectors_lie_in_the_rows_that_a_scan_reads(index: PostgresIndex, vectors: Vectors) -> None:
    store(vectors, *(Placed(ONE, place, b"%d" % place, bytes([1, 2, 3]) * 1_000) for place in range(20)))
    aside = "select pg_relation_size(reltoastrelid) from pg_class where oid = '\"{}_vectors\".passages'::regclass"
    assert index.database.rows(aside.format(index.database.schema)) == [(0,)]


def test_a_server_that_is_away_is_away_and_nothing_is_kept_beside_it(tmp_path: Path) -> None:
    with closing(PostgresIndex("postgresql://127.0.0.1:1/memory", schema_of(tmp_path))) as index:
        for _ in range(2):
            with pytest.raises(IndexAway):
                index.vectors(tmp_path / "vectors.db", may_begin=True)
