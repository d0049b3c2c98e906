"""Runtime state on a PostgreSQL server, shared by many machines. (telemetry/runtime.py)."""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from lineage.database.postgres import Postgres, disable_statistics_sql
from lineage.errors import IndexUnavailable
from lineage.telemetry.runtime import SESSION_TABLES, Telemetry

WriteParams = ParamSpec("WriteParams")
ResultT = TypeVar("ResultT")

_TEXT = 'text collate "C"'
_MIGRATIONS = (
    (
        f"create table captures (stem {_TEXT} not null, kind {_TEXT} not null, session_token {_TEXT} not null,"
        f" counted_at {_TEXT} not null, turns integer not null, redactions integer not null, primary key (stem, kind))",
        f"create table access (session_token {_TEXT} primary key, shown integer not null default 0,"
        f" last_shown_at {_TEXT}, rank double precision not null default 0)",
        f"create table seen (harness {_TEXT} not null, agent_id {_TEXT} not null, session_id {_TEXT} not null,"
        f" session_token {_TEXT} not null, transcript_path {_TEXT}, cwd {_TEXT}, event {_TEXT} not null,"
        f" at {_TEXT} not null, captured_size bigint, session_key {_TEXT}, lane {_TEXT},"
        " primary key (harness, agent_id, session_id))",
        f"create table imported (agent_id {_TEXT} not null, harness {_TEXT} not null, path {_TEXT} not null,"
        f" session {_TEXT} not null, stamp {_TEXT} not null, session_token {_TEXT} not null,"
        " primary key (agent_id, harness, path, session))",
        f"create table marks (name {_TEXT} primary key, value {_TEXT} not null)",
        "create table model_calls (id integer generated always as identity primary key,"
        f" day {_TEXT} not null, task {_TEXT} not null, outcome {_TEXT} not null, called integer not null,"
        " tokens integer not null)",
        "create index model_calls_by_day on model_calls (day)",
        f"create table drops (day {_TEXT} not null, reason {_TEXT} not null, count integer not null,"
        " primary key (day, reason))",
        disable_statistics_sql("seen", ("session_id", "transcript_path", "cwd", "session_key", "lane")),
        disable_statistics_sql("imported", ("path", "session")),
    ),
    (
        f"create table embeddings (day {_TEXT} not null, outcome {_TEXT} not null, count integer not null,"
        " primary key (day, outcome))",
    ),
    (f"alter table seen add column process {_TEXT}", disable_statistics_sql("seen", ("process",))),
    (
        f"create table recalls (day {_TEXT} not null, name {_TEXT} not null, count integer not null,"
        " primary key (day, name))",
    ),
    (
        f"create table lost (path {_TEXT} primary key, session_token {_TEXT} not null, sha256 {_TEXT} not null)",
        disable_statistics_sql("lost", ("path",)),
    ),
)
"""The additions of each version. The tables have no other source: they are never recreated."""
VERSION = len(_MIGRATIONS)


def _best_effort(
    write: "Callable[Concatenate[PostgresTelemetry, WriteParams], ResultT]",
) -> "Callable[Concatenate[PostgresTelemetry, WriteParams], ResultT | None]":
    """Skip and count a write while the server is unavailable: it is not worth failing for."""

    def write_or_skip(
        self: "PostgresTelemetry", /, *args: WriteParams.args, **kwargs: WriteParams.kwargs
    ) -> "ResultT | None":
        try:
            return write(self, *args, **kwargs)
        except IndexUnavailable:
            self.skipped_writes += 1
            return None

    return write_or_skip


class PostgresTelemetry(Telemetry):
    """The counters of one workspace in a schema of its own. Older tables are migrated.

    While the server is unavailable, incidental writes are skipped and counted in `skipped_writes`; no language model is
    called, for the call could not be counted. Everything else raises IndexUnavailable, so a capture's job stays in the
    spool until it is counted.
    """

    def __init__(self, url: str, schema: str) -> None:
        self.database = Postgres(url, schema, _migrate)
        self.skipped_writes = 0

    @property
    def was_damaged(self) -> bool:
        """Return False: this machine does not replace a server's tables."""
        return False

    def close(self) -> None:
        self.database.close()

    count_access = _best_effort(Telemetry.count_access)
    record_event = _best_effort(Telemetry.record_event)
    record_captured_size = _best_effort(Telemetry.record_captured_size)
    record_import = _best_effort(Telemetry.record_import)
    record_lost = _best_effort(Telemetry.record_lost)
    mark = _best_effort(Telemetry.mark)
    end_call = _best_effort(Telemetry.end_call)
    record_skipped_call = _best_effort(Telemetry.record_skipped_call)
    count_recall = _best_effort(Telemetry.count_recall)
    count_embeddings = _best_effort(Telemetry.count_embeddings)

    @_best_effort
    def begin_call(self, day: str, task: str, *, tokens: int, max_calls: int, max_tokens: int) -> int | None:
        with self.database.transaction():
            self.database.lock_in_transaction("calls")
            return super().begin_call(day, task, tokens=tokens, max_calls=max_calls, max_tokens=max_tokens)

    def scrub(self) -> None:
        """Leave no copy of deleted rows in the tables' files."""
        self.database.vacuum_tables(SESSION_TABLES)

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self.database.execute(sql.replace("?", "%s"), values)

    _query = _execute


def _migrate(database: Postgres) -> None:
    """Bring the tables up to this version. Raises IndexUnavailable for a newer one."""
    database.execute(f'create schema if not exists "{database.schema}"')
    database.execute("create table if not exists versions (version integer not null)")
    version = int(database.execute("select coalesce(max(version), 0) from versions")[0][0])
    if version > VERSION:
        raise IndexUnavailable(
            f"the runtime state at {database.name} is of a newer lineage: its version is {version},"
            f" this one knows {VERSION}",
            hint="upgrade lineage on this machine",
        )
    for number, statements in enumerate(_MIGRATIONS[version:], version + 1):
        for statement in statements:
            database.execute(statement)
        database.execute("insert into versions values (%s)", (number,))
