"""PostgreSQL, as the index and the runtime state reach it: one schema of a database, connected when it is first asked.

Text comes back as it was given: what the server can't hold, NUL, is stood in for by a character that nobody writes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper, TextLoader

from lineage.core.body import cleaned
from lineage.errors import DamagedIndex, IndexAway, InvalidInput, WorkspaceError
from lineage.store.base import BusyError

SCHEMES = ("postgresql://", "postgres://")

_NUL, _STAND_IN = "\0", "\U0010ffff"
_CONNECT_SECONDS = 5
_SETTINGS = {
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "300s",
    "jit": "off",
    "work_mem": "64MB",
    "client_min_messages": "warning",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
}
_GONE = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction, errors.InvalidSchemaName)

Values = Sequence[Any] | Mapping[str, Any]


class _Text(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(cleaned(obj).replace(_NUL, _STAND_IN))


class _Loaded(TextLoader):
    def load(self, data: Any) -> Any:
        text = super().load(data)
        return text.replace(_STAND_IN, _NUL) if isinstance(text, str) else text


class Postgres:
    """A schema of a database. `begin` is called on each new connection, in a transaction that no other process that
    begins this schema is in: it makes the tables, or refuses.

    Every method raises IndexAway where the server can't be reached or won't let us in; after that nobody waits for it
    again. DamagedIndex where tables are missing, WorkspaceError for what the server refuses.
    """

    def __init__(self, url: str, schema: str, begin: Callable[["Postgres"], None]) -> None:
        self.schema = schema
        self._url = url
        self._begin = begin
        self._connection: psycopg.Connection[Any] | None = None
        self._away: IndexAway | None = None
        self._take: Callable[[str], object] | None = None
        self._heard = set[str]()

    @property
    def name(self) -> str:
        """Where it is, without what opens it."""
        return named(self._url)

    def rows(self, statement: str, values: Values = ()) -> list[Any]:
        """One statement and all its rows, values bound by `%s` or `%(name)s`."""
        with self._guarded() as connection:
            self._tell(statement)
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """A statement for each of the values."""
        with self._guarded() as connection, connection.cursor() as cursor:
            self._tell(statement)
            cursor.executemany(statement, values)

    def copied(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Adds rows to a table by COPY."""
        listed = sql.SQL(", ").join(map(sql.Identifier, columns))
        statement = sql.SQL("copy {} ({}) from stdin").format(sql.Identifier(table), listed)
        with self._guarded() as connection, connection.cursor() as cursor:
            self._tell(statement.as_string(connection))
            with cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is done within is done together, or not at all."""
        with self._guarded() as connection, connection.transaction():
            yield

    def locked(self, name: str = "") -> None:
        """Waits until no other transaction holds this lock of the schema, and holds it as long as this one lasts."""
        self.rows("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"lineage {self.schema} {name}",))

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Holds a lock of the schema, over as many transactions as the block takes. Raises BusyError where another
        connection holds it."""
        key = f"lineage {self.schema} {name} alone"
        if not self.rows("select pg_try_advisory_lock(hashtextextended(%s, 0))", (key,))[0][0]:
            raise BusyError(f"{self.name} is in use by another process: {name}")
        try:
            yield
        finally:
            self.rows("select pg_advisory_unlock(hashtextextended(%s, 0))", (key,))

    def call(self, name: str) -> None:
        """Wakes whoever waits in `called` under this name."""
        self.rows("select pg_notify(%s, '')", (self._channel(name),))

    def called(self, name: str, seconds: float) -> None:
        """Waits for a call, for so many seconds at most. The first time there is nothing to wait for: what came before
        was not heard."""
        channel = self._channel(name)
        with self._guarded() as connection:
            if channel not in self._heard:
                connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
                self._heard.add(channel)
                return
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                pass

    def _channel(self, name: str) -> str:
        return f"{self.schema} {name}"

    def scrubbed(self, tables: Iterable[str]) -> None:
        """Writes tables anew, without what was deleted."""
        for table in tables:
            self.rows(f"vacuum (full) {table}")

    def dropped(self) -> None:
        """Drops the schema with all that is in it, and begins it anew."""
        with self.transaction():
            self.locked("begin")
            self.rows(f'drop schema if exists "{self.schema}" cascade')
            self._begin(self)

    @contextmanager
    def traced(self, take: Callable[[str], object]) -> Iterator[None]:
        """Gives `take` each statement that is run within the block."""
        self._take = take
        try:
            yield
        finally:
            self._take = None

    def close(self) -> None:
        if self._connection:
            self._connection.close()

    def _tell(self, statement: str) -> None:
        if self._take:
            self._take(statement)

    @contextmanager
    def _guarded(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection; what psycopg raises while it is used becomes what this class promises."""
        connection = self._connected()
        try:
            yield connection
        except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
            raise WorkspaceError(f"{self.name} is locked: {_said(error)}", hint="run it again") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._away = self._as_away(error)
            raise self._away from error
        except _GONE as error:
            raise DamagedIndex(f"{self.name} lacks a table: {_said(error)}") from error
        except psycopg.Error as error:
            raise WorkspaceError(f"{self.name}: {_said(error)}", hint="run `lineage doctor`") from error

    def _connected(self) -> psycopg.Connection[Any]:
        if self._away:
            raise self._away
        if self._connection is None:
            try:
                self._connection = self._opened()
            except psycopg.Error as error:
                self._away = self._as_away(error)
                raise self._away from error
            self._begun()
        return self._connection

    def _opened(self) -> psycopg.Connection[Any]:
        settings = {**_SETTINGS, "search_path": f'"{self.schema}"'}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        connection = psycopg.connect(
            self._url, autocommit=True, options=options, connect_timeout=_CONNECT_SECONDS, application_name="lineage",
            cursor_factory=psycopg.ClientCursor,
        )  # fmt: skip
        connection.adapters.register_dumper(str, _Text)
        connection.adapters.register_loader("text", _Loaded)
        return connection

    def _begun(self) -> None:
        """Whoever is refused here has no connection: the next call tries again, and says the same."""
        try:
            with self.transaction():
                self.locked("begin")
                self._begin(self)
        except BaseException:
            self.close()
            self._connection = None
            raise

    def _as_away(self, error: Exception) -> IndexAway:
        return IndexAway(f"{self.name} cannot be reached: {_said(error)}")


def unsampled(table: str, columns: Iterable[str]) -> str:
    """The statement after which the server keeps no values of these columns among its statistics.

    >>> unsampled("seen", ["cwd"])
    'alter table seen alter column cwd set statistics 0'
    """
    return f"alter table {table} {', '.join(f'alter column {name} set statistics 0' for name in columns)}"


def named(url: str) -> str:
    """Where a database is, without user and password. Raises InvalidInput for an address that is none.

    >>> named("postgresql://ada:secret@db.example:5433/memory")
    'postgresql://db.example:5433/memory'
    """
    if not url.startswith(SCHEMES):
        raise InvalidInput(
            f"not the address of an index: {url.partition(':')[0][:40]!r}", hint='give "postgresql://HOST/DATABASE"'
        )
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InvalidInput("the address of the index cannot be read", hint='"postgresql://HOST/DATABASE"') from error
    host = str(parts.get("host") or "localhost")
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{host}{port}/{parts.get('dbname') or ''}"


def _said(error: Exception) -> str:
    """What went wrong, without what libpq asks back."""
    told = (line for line in str(error).splitlines() if not line.startswith("\tIs the server running"))
    return " ".join(" ".join(told).split()) or type(error).__name__
