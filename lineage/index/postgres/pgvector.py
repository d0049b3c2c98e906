"""Vectors in the database, shared by every machine, where the server has pgvector. (index/vectors.py)

They lie in a schema of their own, for the rows may begin anew without them. A vector of bytes is one of halves there:
each of its numbers is exact. Every vector is looked at, so what is nearest is what is nearest.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from lineage.errors import DamagedIndex, IndexAway, WorkspaceError
from lineage.index.postgres import schema
from lineage.index.vectors import LostVectors, Near, Placed, Source
from lineage.store.postgres import Postgres, Values, unsampled

VERSION = 1

_TEXT = 'text collate "C"'
_STATEMENTS = (
    "create schema {at}",
    f"create table {{at}}.state (version integer not null, model {_TEXT}, dimension integer)",
    f"insert into {{at}}.state values ({VERSION}, null, null)",
    f"create table {{at}}.sources (path {_TEXT} primary key, version {_TEXT} not null)",
    f"create table {{at}}.passages (path {_TEXT}, place integer, hash bytea not null, vector {{of}}.halfvec not null,"
    " primary key (path, place))",
    "alter table {at}.passages set (toast_tuple_target = 8160)",  # a scan would fetch each vector from elsewhere
    "create index on {at}.passages (hash)",
    unsampled("{at}.sources", ("path", "version")),
    unsampled("{at}.passages", ("path", "hash", "vector")),
)
_TABLES = ("state", "sources", "passages")
_COLUMNS = 9
_EXTENSION = """
    select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    join pg_type t on t.typnamespace = n.oid and t.typname = 'halfvec'
    where e.extname = 'vector' and has_schema_privilege(n.oid, 'usage')
"""
_AVAILABLE = "select 1 from pg_available_extensions where name = 'vector' and installed_version is null"
_MAY_BEGIN = "select has_database_privilege(current_database(), 'create')"
_COLUMNS_THERE = """
    select count(*) from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relname = any(%s::text[])
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped where n.nspname = %s
"""
_MODEL = "select model, dimension from {at}.state where model is not null"
_BEGUN = "select path, '' from {at}.passages group by path union all select path, version from {at}.sources order by 2"
_SAME = "select distinct on (hash) hash, vector::text from {at}.passages where hash = any(%s::bytea[]) order by hash"
_STORE = """
    insert into {at}.passages select path, place, hash, vector::{of}.halfvec
    from unnest(%s::text[], %s::integer[], %s::bytea[], %s::text[]) as given(path, place, hash, vector)
    on conflict (path, place) do update set hash = excluded.hash, vector = excluded.vector
"""
_SETTLE = """
    insert into {at}.sources select * from unnest(%s::text[], %s::text[])
    on conflict (path) do update set version = excluded.version
"""
_DROP = """
    with gone as (
        delete from {at}.passages p where path = any(%s::text[]) and not exists (
            select 1 from unnest(%s::text[], %s::bytea[]) as wanted(path, hash)
            where wanted.path = p.path and wanted.hash = p.hash)
        returning 1)
    select count(*) from gone
"""
_NEAREST = """
    select path, place, hash, vector operator({of}.<=>) %s::{of}.halfvec as distance
    from {at}.passages order by distance, path, place limit %s
"""


def shared(database: Postgres, *, may_begin: bool) -> "PgVectors | None":
    """The vectors beside the rows of a schema; None where the server can't compare vectors, or won't take any from us.
    `may_begin` says whether it may be given the extension, where it has that at hand.

    Those of an older version go, for they can be made again. Raises IndexAway where they are of a newer one.
    """
    home = _home(database)
    if home is None and may_begin:
        if database.rows(_AVAILABLE):
            with suppress(WorkspaceError), database.transaction():  # not ours to create, or another machine just did
                database.rows("create extension vector schema public")
        home = _home(database)
    if home is None:
        return None
    vectors = PgVectors(database, home)
    vectors.check()
    return vectors if vectors.is_there or database.rows(_MAY_BEGIN)[0][0] else None


def _home(database: Postgres) -> str | None:
    """The schema that has the extension, as SQL; None where there is none, or one that is too old."""
    found = database.rows(_EXTENSION)
    return found[0][0] if found else None


class PgVectors:
    """See `index.vectors.Vectors`: tables beside the rows, over the connection of these, which closes it."""

    def __init__(self, database: Postgres, home: str) -> None:
        self._database = database
        self._schema = f"{database.schema}_vectors"
        self._names = {"at": f'"{self._schema}"', "of": home}
        self._is_there = False

    def check(self) -> None:
        """See `shared`."""
        if not self.is_there:
            return
        with suppress(LostVectors), self._whole(), self._database.transaction():
            self._database.locked("vectors")
            version = self._rows("select coalesce(max(version), 0) from {at}.state")[0][0]
            if version > VERSION:
                raise IndexAway(
                    f"the vectors at {self._database.name} are of a newer lineage: their version is {version}, this one"
                    f" knows {VERSION}",
                    hint="upgrade lineage on this machine",
                )
            if version != VERSION:
                self._drop()

    @property
    def is_there(self) -> bool:
        if not self._is_there:
            self._is_there = self._columns() > 0
        return self._is_there

    @property
    def where(self) -> str:
        return self._database.name

    def missing(self) -> list[str]:
        return []

    def close(self) -> None: ...

    def embedding(self) -> AbstractContextManager[None]:
        return self._database.alone("embedding")

    def model(self) -> tuple[str, int] | None:
        found = self._asked(_MODEL)
        return tuple(found[0]) if found else None

    def count(self) -> int:
        return sum(row[0] for row in self._asked("select count(*) from {at}.passages"))

    def sources(self) -> dict[str, str]:
        with self._whole(), self._database.transaction():
            self._database.locked("vectors")
            return dict(self._rows(_BEGUN)) if self.is_there else {}

    def places(self, path: str) -> dict[int, bytes]:
        return dict(self._asked("select place, hash from {at}.passages where path = %s", (path,)))

    def same(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        return {one: _bytes(vector) for one, vector in self._asked(_SAME, (list(hashes),))}

    def store(
        self, model: str, placed: Sequence[Placed], settled: Iterable[Source], is_current: Callable[[Source], bool]
    ) -> int:
        with self._whole(), self._database.transaction():
            self._database.locked("vectors")
            self._begin()
            if placed:
                self._become(model, len(placed[0].vector))
            settled = list(settled)
            ask = {source: is_current(source) for source in {*settled, *(one.source for one in placed)}}
            kept = {(one.source.path, one.place): one for one in placed if ask[one.source]}.values()
            rows = ((one.source.path, one.place, one.hash, _text(one.vector)) for one in kept)
            self._unnested(_STORE, rows)
            self._unnested(_SETTLE, (source for source in settled if ask[source]))
        return len(kept)

    def keep(self, wanted: Mapping[str, frozenset[bytes] | None]) -> int:
        """While rows are made anew they don't say what is to be dropped."""
        if not (wanted and self.is_there and schema.is_complete(self._database)):
            return 0
        pairs = [(path, one) for path, hashes in wanted.items() for one in sorted(hashes or ())]
        with self._whole(), self._database.transaction():
            self._database.locked("vectors")
            self._rows("delete from {at}.sources where path = any(%s::text[])", (list(wanted),))
            values = (list(wanted), [path for path, _ in pairs], [one for _, one in pairs])
            return int(self._rows(_DROP, values)[0][0])

    def nearest(self, vector: bytes, most: int) -> Iterator[Near]:
        return (Near(*row) for row in self._asked(_NEAREST, (_text(vector), most)))

    def scrub(self) -> None:
        """The write-ahead log is not reached."""
        if self.is_there:
            with self._whole():
                self._database.scrubbed(f'"{self._schema}".{table}' for table in _TABLES)

    def _begin(self) -> None:
        """Within a transaction, after which it is told again whether they are there."""
        self._is_there = False
        if not self._columns():
            for statement in _STATEMENTS:
                self._rows(statement)

    def _become(self, model: str, dimension: int) -> None:
        if self._rows(_MODEL) != [(model, dimension)]:
            self._rows("truncate {at}.passages, {at}.sources")
            self._rows("update {at}.state set model = %s, dimension = %s", (model, dimension))

    def _drop(self) -> None:
        self._is_there = False
        self._rows("drop schema if exists {at} cascade")

    def _asked(self, statement: str, values: Values = ()) -> list[Any]:
        """What a statement finds; nothing where there are no vectors."""
        if not self.is_there:
            return []
        with self._whole():
            return self._rows(statement, values)

    def _unnested(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        columns = [list(column) for column in zip(*rows, strict=True)]
        if columns:
            self._rows(statement, columns)

    def _rows(self, statement: str, values: Values = ()) -> list[Any]:
        return self._database.rows(statement.format(**self._names), values)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Where it is these tables that are damaged they are begun anew."""
        try:
            yield
        except DamagedIndex as damage:
            if self._columns() == _COLUMNS:
                raise
            self._drop()
            raise LostVectors(damage.message) from damage

    def _columns(self) -> int:
        return int(self._rows(_COLUMNS_THERE, (list(_TABLES), self._schema))[0][0])


def _text(vector: bytes) -> str:
    """A vector as pgvector reads it.

    >>> _text(bytes([127, 192, 0]))
    '[127, -64, 0]'
    """
    return str(array("b", vector).tolist())


def _bytes(text: str) -> bytes:
    """The vector that pgvector wrote.

    >>> list(_bytes("[127,-64,0]"))
    [127, 192, 0]
    """
    return array("b", map(int, text.strip("[]").split(","))).tobytes()
