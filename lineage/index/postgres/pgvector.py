"""Vectors in the database, shared by every machine, if the server has pgvector. (index/vectors.py).

They lie in a schema of their own, so that the rows can be rebuilt without them. A vector of bytes is stored as one of
halves, which hold each of its numbers exactly. A search compares every vector, so its result is exact.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from lineage.database.postgres import Postgres, SqlValues, disable_statistics_sql
from lineage.errors import DatabaseDamaged, IndexUnavailable, WorkspaceError
from lineage.index.postgres import schema
from lineage.index.vectors import Neighbor, PassageVector, Vectors, VectorsLost, VectorSource

VERSION = 1

_TEXT = 'text collate "C"'
_STATEMENTS = (
    "create schema {at}",
    f"create table {{at}}.state (version integer not null, model {_TEXT}, dimension integer)",
    f"insert into {{at}}.state values ({VERSION}, null, null)",
    f"create table {{at}}.sources (path {_TEXT} primary key, version {_TEXT} not null)",
    f"create table {{at}}.passages (path {_TEXT}, place integer, hash bytea not null, vector {{of}}.halfvec not null,"
    " primary key (path, place))",
    "alter table {at}.passages set (toast_tuple_target = 8160)",  # else each vector is stored apart from its row
    "create index on {at}.passages (hash)",
    disable_statistics_sql("{at}.sources", ("path", "version")),
    disable_statistics_sql("{at}.passages", ("path", "hash", "vector")),
)
_TABLES = ("state", "sources", "passages")
_COLUMN_COUNT = 9  # of all tables: with fewer one is damaged
_SELECT_EXTENSION_SCHEMA = """
    select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    join pg_type t on t.typnamespace = n.oid and t.typname = 'halfvec'
    where e.extname = 'vector' and has_schema_privilege(n.oid, 'usage')
"""
_IS_EXTENSION_AVAILABLE = "select 1 from pg_available_extensions where name = 'vector' and installed_version is null"
_CAN_CREATE_SCHEMA = "select has_database_privilege(current_database(), 'create')"
_COUNT_COLUMNS = """
    select count(*) from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relname = any(%s::text[])
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped where n.nspname = %s
"""
_SELECT_MODEL = "select model, dimension from {at}.state where model is not null"
_SELECT_SOURCES = (
    "select path, '' from {at}.passages group by path union all select path, version from {at}.sources order by 2"
)
_SELECT_BY_HASH = (
    "select distinct on (hash) hash, vector::text from {at}.passages where hash = any(%s::bytea[]) order by hash"
)
_UPSERT_PASSAGES = """
    insert into {at}.passages select path, place, hash, vector::{of}.halfvec
    from unnest(%s::text[], %s::integer[], %s::bytea[], %s::text[]) as given(path, place, hash, vector)
    on conflict (path, place) do update set hash = excluded.hash, vector = excluded.vector
"""
_UPSERT_SOURCES = """
    insert into {at}.sources select * from unnest(%s::text[], %s::text[])
    on conflict (path) do update set version = excluded.version
"""
_DELETE_UNWANTED = """
    with gone as (
        delete from {at}.passages p where path = any(%s::text[]) and not exists (
            select 1 from unnest(%s::text[], %s::bytea[]) as wanted(path, hash)
            where wanted.path = p.path and wanted.hash = p.hash)
        returning 1)
    select count(*) from gone
"""
_SELECT_NEAREST = """
    select path, place, hash, vector operator({of}.<=>) %s::{of}.halfvec as distance
    from {at}.passages order by distance, path, place limit %s
"""


def open_shared_vectors(database: Postgres, *, may_create: bool) -> "PgVectors | None":
    """Return the vectors beside the rows of a schema, None if the server can't compare vectors or refuses tables.

    `may_create` allows to create the extension, if the server has it at hand. Vectors of an older version are deleted.
    Raises IndexUnavailable for a newer version.
    """
    rows = database.execute(_SELECT_EXTENSION_SCHEMA)
    if not rows and may_create:
        if database.execute(_IS_EXTENSION_AVAILABLE):
            with suppress(WorkspaceError), database.transaction():  # no permission, or another machine was faster
                database.execute("create extension vector schema public")
        rows = database.execute(_SELECT_EXTENSION_SCHEMA)
    if not rows:  # no extension, or one without halves
        return None
    vectors = PgVectors(database, rows[0][0])
    vectors.ensure_version()
    return vectors if vectors.exists or database.execute(_CAN_CREATE_SCHEMA)[0][0] else None


class PgVectors(Vectors):
    """Vectors as tables beside the rows, on the index's connection."""

    def __init__(self, database: Postgres, extension_schema: str) -> None:
        self._database = database
        self._schema = f"{database.schema}_vectors"
        self._sql_names = {"at": f'"{self._schema}"', "of": extension_schema}
        self._exists = False

    def ensure_version(self) -> None:
        """Delete vectors of an older version. Raises IndexUnavailable for a newer one."""
        if not self.exists:
            return
        with suppress(VectorsLost), self._reset_if_damaged(), self._database.transaction():
            self._database.lock_in_transaction("vectors")
            version = self._execute("select coalesce(max(version), 0) from {at}.state")[0][0]
            if version > VERSION:
                raise IndexUnavailable(
                    f"the vectors at {self._database.name} are of a newer lineage: their version is {version}, this one"
                    f" knows {VERSION}",
                    hint="upgrade lineage on this machine",
                )
            if version != VERSION:
                self._drop_schema()

    @property
    def exists(self) -> bool:
        if not self._exists:
            self._exists = self._count_columns() > 0
        return self._exists

    @property
    def location(self) -> str:
        return self._database.name

    def close(self) -> None:
        """Do nothing: the index closes its connection."""

    def embedding_lock(self) -> AbstractContextManager[None]:
        return self._database.exclusive_lock("embedding")

    def read_model_info(self) -> tuple[str, int] | None:
        rows = self._query(_SELECT_MODEL)
        return tuple(rows[0]) if rows else None

    def count_passages(self) -> int:
        return sum(row[0] for row in self._query("select count(*) from {at}.passages"))

    def load_source_versions(self) -> dict[str, str]:
        with self._reset_if_damaged(), self._database.transaction():
            self._database.lock_in_transaction("vectors")
            # A version of the second half replaces the "" of the first.
            return dict(self._execute(_SELECT_SOURCES)) if self.exists else {}

    def find_incomplete(self, sources: Iterable[VectorSource]) -> set[VectorSource]:
        wanted = set(sources)
        sql = "select path, version from {at}.sources where path = any(%s::text[])"
        found = self._query(sql, (sorted({source.path for source in wanted}),))
        return wanted.difference(VectorSource(*row) for row in found)

    def load_passage_hashes(self, path: str) -> dict[int, bytes]:
        return dict(self._query("select place, hash from {at}.passages where path = %s", (path,)))

    def find_by_hash(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        rows = self._query(_SELECT_BY_HASH, (list(hashes),))
        return {digest: _parse_vector(vector) for digest, vector in rows}

    def store(
        self,
        model: str,
        passages: Sequence[PassageVector],
        complete_sources: Iterable[VectorSource],
        is_current: Callable[[VectorSource], bool],
    ) -> int:
        with self._reset_if_damaged(), self._database.transaction():
            self._database.lock_in_transaction("vectors")
            self._create_tables()
            if passages:
                self._set_model(model, len(passages[0].vector))
            complete_sources = list(complete_sources)
            current = {s: is_current(s) for s in {*complete_sources, *(passage.source for passage in passages)}}
            # One statement must not write a place twice.
            stored = {(p.source.path, p.place): p for p in passages if current[p.source]}.values()
            rows = ((p.source.path, p.place, p.hash, _format_vector(p.vector)) for p in stored)
            self._execute_columns(_UPSERT_PASSAGES, rows)
            self._execute_columns(_UPSERT_SOURCES, (source for source in complete_sources if current[source]))
        return len(stored)

    def prune(self, wanted_hashes: Mapping[str, frozenset[bytes] | None]) -> int:
        # The rows of an unfinished rebuild don't tell which texts are gone.
        if not (wanted_hashes and self.exists and schema.is_complete(self._database)):
            return 0
        pairs = [(path, digest) for path, hashes in wanted_hashes.items() for digest in sorted(hashes or ())]
        with self._reset_if_damaged(), self._database.transaction():
            self._database.lock_in_transaction("vectors")
            self._execute("delete from {at}.sources where path = any(%s::text[])", (list(wanted_hashes),))
            values = (list(wanted_hashes), [path for path, _ in pairs], [digest for _, digest in pairs])
            return int(self._execute(_DELETE_UNWANTED, values)[0][0])

    def find_nearest(self, vector: bytes, limit: int) -> Iterator[Neighbor]:
        return (Neighbor(*row) for row in self._query(_SELECT_NEAREST, (_format_vector(vector), limit)))

    def scrub(self) -> None:
        """Leave no copy of deleted vectors in the tables' files. The write-ahead log is not reached."""
        if self.exists:
            with self._reset_if_damaged():
                self._database.vacuum_tables(f'"{self._schema}".{table}' for table in _TABLES)

    def _create_tables(self) -> None:
        self._exists = False  # the transaction may fail yet
        if not self._count_columns():
            for statement in _STATEMENTS:
                self._execute(statement)

    def _set_model(self, model: str, dimension: int) -> None:
        if self._execute(_SELECT_MODEL) != [(model, dimension)]:
            self._execute("truncate {at}.passages, {at}.sources")
            self._execute("update {at}.state set model = %s, dimension = %s", (model, dimension))

    def _drop_schema(self) -> None:
        self._exists = False
        self._execute("drop schema if exists {at} cascade")

    def _query(self, statement: str, values: SqlValues = ()) -> list[Any]:
        """Return the rows of a statement, none without tables."""
        if not self.exists:
            return []
        with self._reset_if_damaged():
            return self._execute(statement, values)

    def _execute_columns(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        columns = [list(column) for column in zip(*rows, strict=True)]
        if columns:
            self._execute(statement, columns)

    def _execute(self, statement: str, values: SqlValues = ()) -> list[Any]:
        return self._database.execute(statement.format(**self._sql_names), values)

    @contextmanager
    def _reset_if_damaged(self) -> Iterator[None]:
        """Drop damaged tables and raise VectorsLost. Damage of other tables is raised as it is."""
        try:
            yield
        except DatabaseDamaged as damage:
            if self._count_columns() == _COLUMN_COUNT:
                raise
            self._drop_schema()
            raise VectorsLost(damage.message) from damage

    def _count_columns(self) -> int:
        return int(self._execute(_COUNT_COLUMNS, (list(_TABLES), self._schema))[0][0])


def _format_vector(vector: bytes) -> str:
    """Return a vector in pgvector's notation.

    >>> _format_vector(bytes([127, 192, 0]))
    '[127, -64, 0]'
    """
    return str(array("b", vector).tolist())


def _parse_vector(text: str) -> bytes:
    """Return the vector of pgvector's notation.

    >>> list(_parse_vector("[127,-64,0]"))
    [127, 192, 0]
    """
    return array("b", map(int, text.strip("[]").split(","))).tobytes()
