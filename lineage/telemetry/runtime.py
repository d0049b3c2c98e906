"""`.lineage/runtime.db`: counters of captures, access, calls of language models and the last render."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from lineage.database.sqlite import as_database, connect, quarantine, translate_errors, vacuum
from lineage.errors import DatabaseDamaged, LineageError

_MIGRATIONS = (
    (
        "create table if not exists captures (stem text not null, kind text not null, session_token text not null,"
        " counted_at text not null, turns integer not null, redactions integer not null, primary key (stem, kind))",
        "create table if not exists access (session_token text primary key, shown integer not null default 0,"
        " last_shown_at text, rank real not null default 0)",
        "create table if not exists seen (harness text not null, agent_id text not null, session_id text not null,"
        " session_token text not null, transcript_path text, cwd text, event text not null, at text not null,"
        " captured_size integer, session_key text, lane text, primary key (harness, agent_id, session_id))",
        "create table if not exists imported (agent_id text not null, harness text not null, path text not null,"
        " session text not null, stamp text not null, session_token text not null,"
        " primary key (agent_id, harness, path, session))",
        "create table if not exists marks (name text primary key, value text not null)",
        "create table if not exists model_calls (id integer primary key, day text not null, task text not null,"
        " outcome text not null, called integer not null, tokens integer not null)",
        "create index if not exists model_calls_by_day on model_calls (day)",
        "create table if not exists embeddings (day text not null, outcome text not null, count integer not null,"
        " primary key (day, outcome))",
        "create table if not exists drops (day text not null, reason text not null, count integer not null,"
        " primary key (day, reason))",
    ),
    ("alter table seen add column process text",),
    (
        "create table if not exists recalls (day text not null, name text not null, count integer not null,"
        " primary key (day, name))",
    ),
    ("create table if not exists lost (path text primary key, session_token text not null, sha256 text not null)",),
)
"""The statements of each version. The first finds its tables in databases from before versions."""

SESSION_TABLES = ("captures", "access", "seen", "imported", "lost")
_UNFINISHED = "unfinished"  # stays the outcome of a call whose process died
_RETENTION_DAYS = 400
_ROWS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class SeenSession:
    """A session known from hooks: its last event, its key and its lane.

    `captured_size` is the size of its captured transcript, of a database the time of its last write.
    """

    harness: str
    agent_id: str
    session_id: str
    session_token: str
    transcript_path: str | None
    cwd: str | None
    event: str
    at: str
    captured_size: int | None
    session_key: str | None = None
    lane: str | None = None
    process: str | None = None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The calls of language models on some days: their number, their tokens, and how many ended in each way.

    `held_back` counts the calls that were not made, by reason.
    """

    calls: int
    tokens: int
    outcomes: Mapping[str, int]
    held_back: Mapping[str, int]


class Telemetry:
    """Counters that survive every reindex, in a file that is opened on first use. Times are canonical UTC strings.

    A damaged database is renamed to `runtime.db.damaged` and a new one begun, so captures go on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._was_damaged = False

    @property
    def was_damaged(self) -> bool:
        """Return whether the database was damaged and has been replaced."""
        return bool(self._connection) and self._was_damaged

    def close(self) -> None:
        """Close the database, if it is open."""
        if connection := self.__dict__.pop("_connection", None):
            connection.close()

    def count_capture(self, stem: str, kind: str, token: str, *, at: str, turns: int, redactions: int) -> None:
        """Count a capture or compaction once, however often it is repeated."""
        row = (stem, kind, token, at, turns, redactions)
        # A capture repeats after a crash: its first count stands.
        self._execute("insert into captures values (?, ?, ?, ?, ?, ?) on conflict do nothing", row)

    def has_counted(self, stem: str, kind: str) -> bool:
        """Return whether a capture or compaction is counted."""
        return bool(self._execute("select 1 from captures where stem = ? and kind = ?", (stem, kind)))

    def count_access(self, token: str, at: str) -> None:
        """Count a look at a session."""
        self._execute(
            "insert into access (session_token, shown, last_shown_at) values (?, 1, ?) on conflict (session_token)"
            " do update set shown = access.shown + 1, last_shown_at = excluded.last_shown_at",
            (token, at),
        )

    def record_event(self, session: SeenSession) -> None:
        """Record a session as a hook reported it. Its missing values keep those of earlier events."""
        # Events may arrive out of order: the latest time stands.
        self._execute(
            "insert into seen values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict (harness, agent_id, session_id) do update set event = excluded.event,"
            " at = case when excluded.at > seen.at then excluded.at else seen.at end,"
            " session_token = excluded.session_token,"
            " transcript_path = coalesce(excluded.transcript_path, seen.transcript_path),"
            " cwd = coalesce(excluded.cwd, seen.cwd), session_key = coalesce(excluded.session_key, seen.session_key),"
            " lane = coalesce(excluded.lane, seen.lane), process = excluded.process,"
            " captured_size = coalesce(excluded.captured_size, seen.captured_size)",
            astuple(session),
        )

    def record_captured_size(self, session: SeenSession, size: int) -> None:
        """Record how many bytes of a session's transcript are captured."""
        sql = "update seen set captured_size = ? where harness = ? and agent_id = ? and session_id = ?"
        self._execute(sql, (size, session.harness, session.agent_id, session.session_id))

    def list_seen_sessions(self, token: str | None = None) -> list[SeenSession]:
        """Return the sessions known from hooks, those of a token or all, oldest event first."""
        condition, values = ("where session_token = ?", (token,)) if token else ("", ())
        rows = self._execute(f"select * from seen {condition} order by at, harness, agent_id, session_id", values)
        return [SeenSession(*row) for row in rows]

    def record_import(self, agent_id: str, source: tuple[str, str, str], stamp: str, token: str) -> None:
        """Record that a source was imported as of `stamp`: its harness, its path, the session's name in the file."""
        self._execute(
            "insert into imported values (?, ?, ?, ?, ?, ?) on conflict (agent_id, harness, path, session)"
            " do update set stamp = excluded.stamp, session_token = excluded.session_token",
            (agent_id, *source, stamp, token),
        )

    def list_imports(self, agent_id: str) -> Mapping[tuple[str, str, str], tuple[str, str]]:
        """Return the sources of an agent's imported sessions, each with its stamp and the session's token."""
        sql = "select harness, path, session, stamp, session_token from imported where agent_id = ?"
        return {tuple(row[:3]): tuple(row[3:]) for row in self._query(sql, (agent_id,))}

    def record_lost(self, files: Sequence[tuple[str, str, str]]) -> None:
        """Record (path, session token, SHA-256) of lost files before their rows go: only these bytes may come back."""
        for start in range(0, len(files), _ROWS_AT_ONCE):
            batch = files[start : start + _ROWS_AT_ONCE]
            rows = ", ".join(["(?, ?, ?)"] * len(batch))
            sql = f"insert into lost values {rows} on conflict (path) do update set sha256 = excluded.sha256"
            self._execute(sql, [value for file in batch for value in file])

    def find_lost_hash(self, path: str) -> str | None:
        """Return the SHA-256 of a lost file, None if nobody recorded it."""
        return next((sha256 for (sha256,) in self._query("select sha256 from lost where path = ?", (path,))), None)

    def mark(self, name: str, value: str) -> None:
        """Set a mark."""
        sql = "insert into marks values (?, ?) on conflict (name) do update set value = excluded.value"
        self._execute(sql, (name, value))

    def read_marks(self) -> Mapping[str, str]:
        """Return all marks by name."""
        return dict(self._query("select name, value from marks order by name"))

    def begin_call(self, day: str, task: str, *, tokens: int, max_calls: int, max_tokens: int) -> int | None:
        """Count a call of a language model before it is made. Return its number, None if a limit of the day forbids it.

        `tokens` is the least that it will take. Many processes together stay within the limits, for one statement
        checks and counts.
        """
        self._execute("delete from model_calls where day < ?", (_days_before(day, _RETENTION_DAYS),))
        rows = self._execute(
            "insert into model_calls (day, task, outcome, called, tokens) select ?, ?, ?, 1, ?"
            " where (select count(*) from model_calls where day = ? and called = 1) < ?"
            " and (select coalesce(sum(tokens), 0) from model_calls where day = ?) + ? <= ? returning id",
            (day, task, _UNFINISHED, tokens, day, max_calls, day, tokens, max_tokens),
        )
        return int(rows[0][0]) if rows else None

    def end_call(self, call: int, outcome: str, tokens: int) -> None:
        """Record how a call ended, and its tokens."""
        self._execute("update model_calls set outcome = ?, tokens = ? where id = ?", (outcome, tokens, call))

    def record_skipped_call(self, day: str, task: str, reason: str) -> None:
        """Record a call that was not made."""
        sql = "insert into model_calls (day, task, outcome, called, tokens) values (?, ?, ?, 0, 0)"
        self._execute(sql, (day, task, reason))

    def read_model_usage(self, day: str, days: int = 1) -> ModelUsage:
        """Return the usage of so many days that end with `day`."""
        rows = self._query(
            "select called, outcome, count(*), sum(tokens) from model_calls where day > ? and day <= ?"
            " group by called, outcome order by called, outcome",
            (_days_before(day, days), day),
        )
        calls = {outcome: count for called, outcome, count, _ in rows if called}
        held_back = {outcome: count for called, outcome, count, _ in rows if not called}
        return ModelUsage(sum(calls.values()), sum(row[3] for row in rows), calls, held_back)

    def read_counters(self) -> dict[str, int]:
        """Return the counters of `lineage status`."""
        (captures,) = self._query(
            "select count(*) filter (where kind = 'session-end'), count(*) filter (where kind = 'compaction'),"
            " coalesce(sum(turns), 0), coalesce(sum(redactions), 0) from captures where counted_at != ''"
        )
        (shown,) = self._query("select coalesce(sum(shown), 0) from access")
        return dict(zip(("captures", "compactions", "turns", "redactions", "shown"), (*captures, *shown), strict=True))

    def count_drops(self, day: str, dropped: Mapping[str, int]) -> None:
        """Count memory candidates that were dropped, by reason."""
        self._add_counts("drops", "reason", day, dropped)

    def read_drop_counts(self) -> dict[str, int]:
        """Return the number of dropped memory candidates by reason."""
        return dict(self._query("select reason, sum(count) from drops group by reason order by reason"))

    def count_recall(self, day: str, counts: Mapping[str, int]) -> None:
        """Count the items given to sessions at prompts and actions, their tokens, and those that were used."""
        self._add_counts("recalls", "name", day, counts)

    def read_recall_counts(self) -> dict[str, int]:
        """Return how much was given to sessions, and how much of it they used."""
        counts = dict(self._query("select name, sum(count) from recalls group by name"))
        return {name: int(counts.get(name, 0)) for name in ("given", "tokens", "used")}

    def count_embeddings(self, day: str, outcomes: Mapping[str, int]) -> None:
        """Count embedded texts by outcome."""
        self._add_counts("embeddings", "outcome", day, outcomes)

    def read_embedding_counts(self) -> dict[str, int]:
        """Return the number of embedded texts by outcome."""
        return dict(self._query("select outcome, sum(count) from embeddings group by outcome order by outcome"))

    def reset(self, day: str) -> dict[str, int]:
        """Set the counters to zero and return those that weren't. The calls of `day` stay: they have a limit.

        A capture stays known as counted, so that a repeated end doesn't count it again. What hooks told of, imports and
        marks are no counters.
        """
        counters = {**self.read_counters(), **self.read_drop_counts(), **self.read_embedding_counts()}
        counters |= {f"recalled, {name}": count for name, count in self.read_recall_counts().items()}
        self._execute("update captures set counted_at = ''")
        for table in ("access", "drops", "embeddings", "recalls"):
            self._execute(f"delete from {table}")
        self._execute("delete from model_calls where day != ? or called = 0", (day,))
        return {name: count for name, count in counters.items() if count}

    def forget(self, token: str) -> int:
        """Delete the rows of a session and return their number. The bytes are gone after `scrub`."""
        statements = (f"delete from {table} where session_token = ? returning 1" for table in SESSION_TABLES)
        return sum(len(self._execute(statement, (token,))) for statement in statements)

    def scrub(self) -> None:
        """Leave no copy of deleted rows."""
        with translate_errors(self.path):
            vacuum(self._connection)

    def _add_counts(self, table: str, column: str, day: str, counts: Mapping[str, int]) -> None:
        sql = f"insert into {table} values (?, ?, ?) on conflict (day, {column}) do update"
        for name, count in sorted(counts.items()):
            self._execute(f"{sql} set count = {table}.count + excluded.count", (day, name, count))

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        try:
            return self._open()
        except DatabaseDamaged:
            return self._recreate()

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path)
        try:
            with translate_errors(self.path):
                _migrate(connection)
        except LineageError:
            connection.close()
            raise
        return connection

    def _recreate(self) -> sqlite3.Connection:
        self._was_damaged = True
        quarantine(self.path)
        return self._open()

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement in a transaction of its own and return all its rows."""
        return self._retry_damaged(lambda connection: connection.execute(sql, values).fetchall())

    def _query(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return all rows of a query that no capture runs, by sqlite_utils."""
        return self._retry_damaged(lambda connection: as_database(connection).execute(sql, values).fetchall())

    def _retry_damaged(self, run: Callable[[sqlite3.Connection], list[Any]]) -> list[Any]:
        try:
            with translate_errors(self.path), self._connection:
                return run(self._connection)
        except DatabaseDamaged:  # in a page that opening does not read
            self.close()
            self._connection = self._recreate()
            with translate_errors(self.path), self._connection:
                return run(self._connection)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to this version."""
    if _read_version(connection) >= len(_MIGRATIONS):
        return
    database = as_database(connection)
    with connection:
        connection.execute("begin immediate")
        # Another process may have migrated while this one waited for the lock.
        for statements in _MIGRATIONS[_read_version(connection) :]:
            for statement in statements:
                database.execute(statement)
        database.execute(f"pragma user_version = {len(_MIGRATIONS)}")


def _read_version(connection: sqlite3.Connection) -> int:
    connection.execute("select 1 from sqlite_master").fetchone()  # damage of the schema shows here
    return int(connection.execute("pragma user_version").fetchone()[0])


def _days_before(day: str, days: int) -> str:
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()
