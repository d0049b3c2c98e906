"""Runtime state on a PostgreSQL server, which many machines share. (telemetry/runtime.py)"""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from lineage.errors import IndexAway
from lineage.store.postgres import Postgres, unsampled
from lineage.telemetry.runtime import Telemetry

Given = ParamSpec("Given")
Noted = TypeVar("Noted")

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
        unsampled("seen", ("session_id", "transcript_path", "cwd", "session_key", "lane")),
        unsampled("imported", ("path", "session")),
    ),
    (
        f"create table embeddings (day {_TEXT} not null, outcome {_TEXT} not null, count integer not null,"
        " primary key (day, outcome))",
    ),
)
"""What each version added to the one before it. What is here is nowhere else: nothing is ever begun anew."""
VERSION = len(_MIGRATIONS)
_OF_SESSIONS = ("captures", "access", "seen", "imported")


def _by_the_way(
    note: "Callable[Concatenate[PostgresTelemetry, Given], Noted]",
) -> "Callable[Concatenate[PostgresTelemetry, Given], Noted | None]":
    """What is not worth failing for: where the server is away it is left undone and counted."""

    def noted(self: "PostgresTelemetry", /, *args: Given.args, **named: Given.kwargs) -> "Noted | None":
        try:
            return note(self, *args, **named)
        except IndexAway:
            self.missed += 1
            return None

    return noted


class PostgresTelemetry(Telemetry):
    """The counters of one workspace in a schema of its own. Tables of an older version are brought up.

    While the server is away, what is noted by the way is not noted, and counted in `missed`; no language model is
    asked, for nobody could count it. Everything else raises IndexAway, and a capture's job waits until it is counted.
    """

    def __init__(self, url: str, schema: str) -> None:
        self.database = Postgres(url, schema, _begin)
        self.missed = 0

    @property
    def was_damaged(self) -> bool:
        """A server's tables are not this machine's to set aside."""
        return False

    def close(self) -> None:
        self.database.close()

    count_access = _by_the_way(Telemetry.count_access)
    saw = _by_the_way(Telemetry.saw)
    captured_up_to = _by_the_way(Telemetry.captured_up_to)
    note_imported = _by_the_way(Telemetry.note_imported)
    mark = _by_the_way(Telemetry.mark)
    end_call = _by_the_way(Telemetry.end_call)
    hold_back = _by_the_way(Telemetry.hold_back)
    count_embeddings = _by_the_way(Telemetry.count_embeddings)

    @_by_the_way
    def begin_call(self, day: str, task: str, *, tokens: int, most_calls: int, most_tokens: int) -> int | None:
        with self.database.transaction():
            self.database.locked("calls")
            return super().begin_call(day, task, tokens=tokens, most_calls=most_calls, most_tokens=most_tokens)

    def scrub(self) -> None:
        self.database.scrubbed(_OF_SESSIONS)

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return self.database.rows(sql.replace("?", "%s"), values)


def _begin(database: Postgres) -> None:
    """Brings the tables up to this version. Raises IndexAway where they are of a newer one."""
    database.rows(f'create schema if not exists "{database.schema}"')
    database.rows("create table if not exists versions (version integer not null)")
    version = int(database.rows("select coalesce(max(version), 0) from versions")[0][0])
    if version > VERSION:
        raise IndexAway(
            f"the runtime state at {database.name} is of a newer lineage: its version is {version},"
            f" this one knows {VERSION}",
            hint="upgrade lineage on this machine",
        )
    for number, statements in enumerate(_MIGRATIONS[version:], version + 1):
        for statement in statements:
            database.rows(statement)
        database.rows("insert into versions values (%s)", (number,))
