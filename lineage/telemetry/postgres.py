"""Runtime state on a PostgreSQL server, which many machines share. (telemetry/runtime.py)"""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from lineage.database.postgres import Postgres, disable_statistics_sql
from lineage.errors import IndexUnavailable
from lineage.telemetry.runtime import Telemetry

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
)
"""What each version added to the one before it. What is here is nowhere else: nothing is ever begun anew."""
VERSION = len(_MIGRATIONS)
_SESSION_TABLES = ("captures", "access", "seen", "imported")


def _best_effort(
    note: "Callable[Concatenate[PostgresTelemetry, WriteParams], ResultT]",
) -> "Callable[Concatenate[PostgresTelemetry, WriteParams], ResultT | None]":
    """What is not worth failing for: where the server is away it is left undone and counted."""

    def noted(self: "PostgresTelemetry", /, *args: WriteParams.args, **named: WriteParams.kwargs) -> "ResultT | None":
        try:
            return note(self, *args, **named)
        except IndexUnavailable:
            self.skipped_writes += 1
            return None

    return noted


class PostgresTelemetry(Telemetry):
    """The counters of one workspace in a schema of its own. Tables of an older version are brought up.

    While the server is away, what is noted by the way is not noted, and counted in `missed`; no language model is
    asked, for nobody could count it. Everything else raises IndexAway, and a capture's job waits until it is counted.
    """

    def __init__(self, url: str, schema: str) -> None:
        self.database = Postgres(url, schema, _migrate)
        self.skipped_writes = 0

    @property
    def was_damaged(self) -> bool:
        """A server's tables are not this machine's to set aside."""
        return False

    def close(self) -> None:
        self.database.close()

    count_access = _best_effort(Telemetry.count_access)
    record_event = _best_effort(Telemetry.record_event)
    record_captured_size = _best_effort(Telemetry.record_captured_size)
    record_import = _best_effort(Telemetry.record_import)
    mark = _best_effort(Telemetry.mark)
    end_call = _best_effort(Telemetry.end_call)
    record_skipped_call = _best_effort(Telemetry.record_skipped_call)
    count_embeddings = _best_effort(Telemetry.count_embeddings)

    @_best_effort
    def begin_call(self, day: str, task: str, *, tokens: int, max_calls: int, max_tokens: int) -> int | None:
        with self.database.transaction():
            self.database.lock_in_transaction("calls")
            return super().begin_call(day, task, tokens=tokens, max_calls=max_calls, max_tokens=max_tokens)

    def scrub(self) -> None:
        self.database.vacuum_tables(_SESSION_TABLES)

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self.database.execute(sql.replace("?", "%s"), values)


def _migrate(database: Postgres) -> None:
    """Brings the tables up to this version. Raises IndexAway where they are of a newer one."""
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
