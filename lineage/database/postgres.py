"""PostgreSQL for the index and the runtime state: one schema of a database, connected on first use.

Text is stored without loss: a rare character stands for NUL, for the server can't hold that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.string import StrDumper, TextLoader

from lineage.core.format.body import replace_surrogates
from lineage.errors import DatabaseDamaged, IndexUnavailable, InvalidInput, WorkspaceError
from lineage.store.base import BusyError

SCHEMES = ("postgresql://", "postgres://")

_NUL, _NUL_REPLACEMENT = "\0", "\U0010ffff"
_CONNECT_SECONDS = 5
_SETTINGS = {
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "300s",  # a machine that sleeps must not hold locks
    "jit": "off",  # compiling takes longer than our queries
    "work_mem": "64MB",
    "client_min_messages": "warning",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
}
_UNDEFINED_OBJECTS = (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction, errors.InvalidSchemaName)

SqlValues = Sequence[Any] | Mapping[str, Any]


class _NulSafeDumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(replace_surrogates(obj).replace(_NUL, _NUL_REPLACEMENT))


class _NulSafeLoader(TextLoader):
    def load(self, data: Any) -> Any:
        text = super().load(data)
        return text.replace(_NUL_REPLACEMENT, _NUL) if isinstance(text, str) else text


class Postgres:
    """A schema of a database. `on_connect` creates the tables, or refuses, on each new connection.

    It runs in a transaction, one process at a time. Every method raises IndexUnavailable if the server can't be reached
    or denies access, and does not try again; DatabaseDamaged for missing tables; WorkspaceError for other refusals.
    """

    def __init__(self, url: str, schema: str, on_connect: Callable[["Postgres"], None]) -> None:
        self.schema = schema
        self._url = url
        self._on_connect = on_connect
        self._connection: psycopg.Connection[Any] | None = None
        self._unavailable: IndexUnavailable | None = None
        self._on_statement: Callable[[str], object] | None = None
        self._channels = set[str]()

    @property
    def name(self) -> str:
        """Return the address without credentials."""
        return strip_credentials(self._url)

    def execute(self, statement: str, values: SqlValues = ()) -> list[Any]:
        """Run a statement and return all its rows. Values are bound by `%s` or `%(name)s`."""
        with self._translate_errors() as connection:
            self._report_statement(statement)
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def copy_rows(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows by COPY."""
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        statement = sql.SQL("copy {} ({}) from stdin").format(sql.Identifier(table), names)
        with self._translate_errors() as connection, connection.cursor() as cursor:
            self._report_statement(statement.as_string(connection))
            with cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction."""
        with self._translate_errors() as connection, connection.transaction():
            yield

    def lock_in_transaction(self, name: str = "") -> None:
        """Hold a lock of the schema until the transaction ends, after waiting for it."""
        self.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"lineage {self.schema} {name}",))

    @contextmanager
    def exclusive_lock(self, name: str) -> Iterator[None]:
        """Hold a lock of the schema within the block. Raises BusyError if another connection holds it."""
        # A lock of the session, not of a transaction: it lasts over several of them.
        key = f"lineage {self.schema} {name} alone"
        if not self.execute("select pg_try_advisory_lock(hashtextextended(%s, 0))", (key,))[0][0]:
            raise BusyError(f"{self.name} is in use by another process: {name}")
        try:
            yield
        finally:
            self.execute("select pg_advisory_unlock(hashtextextended(%s, 0))", (key,))

    def notify(self, name: str) -> None:
        """Wake all waiters for this name."""
        self.execute("select pg_notify(%s, '')", (self._channel(name),))

    def wait_for_notification(self, name: str, seconds: float) -> None:
        """Wait for a notification, for so many seconds at most. The first call only subscribes.

        Earlier notifications were missed, so the caller has to check before it waits.
        """
        channel = self._channel(name)
        with self._translate_errors() as connection:
            if channel not in self._channels:
                connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
                self._channels.add(channel)
                return
            for _ in connection.notifies(timeout=seconds, stop_after=1):
                pass

    def _channel(self, name: str) -> str:
        return f"{self.schema} {name}"

    def vacuum_tables(self, tables: Iterable[str]) -> None:
        """Rewrite tables without deleted rows."""
        for table in tables:
            self.execute(f"vacuum (full) {table}")

    def recreate_schema(self) -> None:
        """Drop the schema with all its contents and create it anew."""
        with self.transaction():
            self.lock_in_transaction("begin")
            self.execute(f'drop schema if exists "{self.schema}" cascade')
            self._on_connect(self)

    @contextmanager
    def trace_statements(self, on_statement: Callable[[str], object]) -> Iterator[None]:
        """Call `on_statement` with each statement within the block."""
        self._on_statement = on_statement
        try:
            yield
        finally:
            self._on_statement = None

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection:
            self._connection.close()

    def _report_statement(self, statement: str) -> None:
        if self._on_statement:
            self._on_statement(statement)

    @contextmanager
    def _translate_errors(self) -> Iterator[psycopg.Connection[Any]]:
        """Yield the connection and raise errors of psycopg as lineage's own."""
        connection = self._get_connection()
        try:
            yield connection
        except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
            raise WorkspaceError(f"{self.name} is locked: {_format_error(error)}", hint="run it again") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._unavailable = self._unavailable_error(error)
            raise self._unavailable from error
        except _UNDEFINED_OBJECTS as error:
            raise DatabaseDamaged(f"{self.name} lacks a table: {_format_error(error)}") from error
        except psycopg.Error as error:
            raise WorkspaceError(f"{self.name}: {_format_error(error)}", hint="run `lineage status`") from error

    def _get_connection(self) -> psycopg.Connection[Any]:
        # Waiting for the server once per command is enough.
        if self._unavailable:
            raise self._unavailable
        if self._connection is None:
            try:
                self._connection = self._connect()
            except psycopg.Error as error:
                self._unavailable = self._unavailable_error(error)
                raise self._unavailable from error
            # After a refusal there is no connection, so the next call is refused too.
            try:
                with self.transaction():
                    self.lock_in_transaction("begin")
                    self._on_connect(self)
            except BaseException:
                self.close()
                self._connection = None
                raise
        return self._connection

    def _connect(self) -> psycopg.Connection[Any]:
        settings = {**_SETTINGS, "search_path": f'"{self.schema}"'}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        connection = psycopg.connect(
            # The client binds values: only so can one call run several statements.
            self._url, autocommit=True, options=options, connect_timeout=_CONNECT_SECONDS, application_name="lineage",
            cursor_factory=psycopg.ClientCursor,
        )  # fmt: skip
        connection.adapters.register_dumper(str, _NulSafeDumper)
        connection.adapters.register_loader("text", _NulSafeLoader)
        return connection

    def _unavailable_error(self, error: Exception) -> IndexUnavailable:
        return IndexUnavailable(f"{self.name} cannot be reached: {_format_error(error)}")


def disable_statistics_sql(table: str, columns: Iterable[str]) -> str:
    """Return the statement that keeps values of these columns out of the server's statistics.

    >>> disable_statistics_sql("seen", ["cwd"])
    'alter table seen alter column cwd set statistics 0'
    """
    return f"alter table {table} {', '.join(f'alter column {name} set statistics 0' for name in columns)}"


def strip_credentials(url: str) -> str:
    """Return the address of a database without user and password. Raises InvalidInput for any other address.

    >>> strip_credentials("postgresql://ada:secret@db.example:5433/memory")
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


def _format_error(error: Exception) -> str:
    """Return the message in one line, without the question of libpq."""
    lines = (line for line in str(error).splitlines() if not line.startswith("\tIs the server running"))
    return " ".join(" ".join(lines).split()) or type(error).__name__
