"""`.lineage/runtime.db`: counters of captures, access, calls of language models and the last render."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from lineage.database.sqlite import connect, quarantine, translate_errors, vacuum
from lineage.errors import DatabaseDamaged, LineageError

_SCHEMA = """
create table if not exists captures (
  stem text not null, kind text not null, session_token text not null, counted_at text not null,
  turns integer not null, redactions integer not null, primary key (stem, kind)
);
create table if not exists access (
  session_token text primary key, shown integer not null default 0, last_shown_at text, rank real not null default 0
);
create table if not exists seen (
  harness text not null, agent_id text not null, session_id text not null, session_token text not null,
  transcript_path text, cwd text, event text not null, at text not null, captured_size integer,
  session_key text, lane text,
  primary key (harness, agent_id, session_id)
);
create table if not exists imported (
  agent_id text not null, harness text not null, path text not null, session text not null, stamp text not null,
  session_token text not null, primary key (agent_id, harness, path, session)
);
create table if not exists marks (name text primary key, value text not null);
create table if not exists model_calls (
  id integer primary key, day text not null, task text not null, outcome text not null, called integer not null,
  tokens integer not null
);
create index if not exists model_calls_by_day on model_calls (day);
create table if not exists embeddings (
  day text not null, outcome text not null, count integer not null, primary key (day, outcome)
);
create table if not exists drops (
  day text not null, reason text not null, count integer not null, primary key (day, reason)
);
"""

_UNFINISHED = "unfinished"  # how a call ended of which nobody knows: its process died
_RETENTION_DAYS = 400


class SeenSession(NamedTuple):
    """A session that a hook told of: its last event, how many bytes of its transcript are captured, and the key or the
    lane that the harness gave it."""

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


class ModelUsage(NamedTuple):
    """What language models were asked on some days: calls, tokens, and how each ended. `held_back` are those that were
    not made, by reason."""

    calls: int
    tokens: int
    outcomes: Mapping[str, int]
    held_back: Mapping[str, int]


class Telemetry:
    """Counters that survive every reindex. Times are canonical UTC strings. The file is opened when it is first asked.

    A database that cannot be read is set aside as `runtime.db.damaged` and a new one begun: captures go on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._was_damaged = False

    @property
    def was_damaged(self) -> bool:
        """Whether what was there could not be read, and was set aside."""
        return bool(self._connection) and self._was_damaged

    def close(self) -> None:
        if connection := self.__dict__.pop("_connection", None):
            connection.close()

    def count_capture(self, stem: str, kind: str, token: str, *, at: str, turns: int, redactions: int) -> None:
        """Counts a capture or compaction once, however often its flow is repeated."""
        row = (stem, kind, token, at, turns, redactions)
        self._execute("insert into captures values (?, ?, ?, ?, ?, ?) on conflict do nothing", row)

    def has_counted(self, stem: str, kind: str) -> bool:
        return bool(self._execute("select 1 from captures where stem = ? and kind = ?", (stem, kind)))

    def count_access(self, token: str, at: str) -> None:
        """Notes that somebody looked at a session."""
        self._execute(
            "insert into access (session_token, shown, last_shown_at) values (?, 1, ?) on conflict (session_token)"
            " do update set shown = access.shown + 1, last_shown_at = excluded.last_shown_at",
            (token, at),
        )

    def record_event(self, session: SeenSession) -> None:
        """Notes what a hook told of a session; what it did not tell stays as it was."""
        self._execute(
            "insert into seen values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict (harness, agent_id, session_id) do update set event = excluded.event,"
            " at = case when excluded.at > seen.at then excluded.at else seen.at end,"
            " session_token = excluded.session_token,"
            " transcript_path = coalesce(excluded.transcript_path, seen.transcript_path),"
            " cwd = coalesce(excluded.cwd, seen.cwd), session_key = coalesce(excluded.session_key, seen.session_key),"
            " lane = coalesce(excluded.lane, seen.lane),"
            " captured_size = coalesce(excluded.captured_size, seen.captured_size)",
            session,
        )

    def record_captured_size(self, session: SeenSession, size: int) -> None:
        sql = "update seen set captured_size = ? where harness = ? and agent_id = ? and session_id = ?"
        self._execute(sql, (size, *session[:3]))

    def list_seen_sessions(self) -> list[SeenSession]:
        """Every session that a hook told of."""
        return [
            SeenSession(*row) for row in self._execute("select * from seen order by at, harness, agent_id, session_id")
        ]

    def record_import(self, agent_id: str, source: tuple[str, str, str], stamp: str, token: str) -> None:
        """Notes that a source was imported as it was at `stamp`. `source` is its harness, its path and, where a file
        holds many sessions, which of them."""
        row = (agent_id, *source, stamp, token)
        self._execute(
            "insert into imported values (?, ?, ?, ?, ?, ?) on conflict (agent_id, harness, path, session)"
            " do update set stamp = excluded.stamp, session_token = excluded.session_token",
            row,
        )

    def list_imports(self, agent_id: str) -> Mapping[tuple[str, str, str], tuple[str, str]]:
        """The sources that an agent's sessions were imported from, each with its stamp and the session's token."""
        sql = "select harness, path, session, stamp, session_token from imported where agent_id = ?"
        return {tuple(row[:3]): tuple(row[3:]) for row in self._execute(sql, (agent_id,))}

    def mark(self, name: str, value: str) -> None:
        sql = "insert into marks values (?, ?) on conflict (name) do update set value = excluded.value"
        self._execute(sql, (name, value))

    def read_marks(self) -> Mapping[str, str]:
        return dict(self._execute("select name, value from marks order by name"))

    def begin_call(self, day: str, task: str, *, tokens: int, max_calls: int, max_tokens: int) -> int | None:
        """Counts a call of a language model before it is made, with the tokens that it is expected to take at least;
        its number, None where the day's limit forbids it. Of many processes none gets past the limit."""
        self._execute("delete from model_calls where day < ?", (_days_before(day, _RETENTION_DAYS),))
        rows = self._execute(
            "insert into model_calls (day, task, outcome, called, tokens) select ?, ?, ?, 1, ?"
            " where (select count(*) from model_calls where day = ? and called = 1) < ?"
            " and (select coalesce(sum(tokens), 0) from model_calls where day = ?) + ? <= ? returning id",
            (day, task, _UNFINISHED, tokens, day, max_calls, day, tokens, max_tokens),
        )
        return int(rows[0][0]) if rows else None

    def end_call(self, call: int, outcome: str, tokens: int) -> None:
        """Notes how a call ended, and the tokens that it took."""
        self._execute("update model_calls set outcome = ?, tokens = ? where id = ?", (outcome, tokens, call))

    def record_skipped_call(self, day: str, task: str, reason: str) -> None:
        """Notes a call that was not made."""
        sql = "insert into model_calls (day, task, outcome, called, tokens) values (?, ?, ?, 0, 0)"
        self._execute(sql, (day, task, reason))

    def read_model_usage(self, day: str, days: int = 1) -> ModelUsage:
        """What was spent on a day and on those before it, `days` in all."""
        rows = self._execute(
            "select called, outcome, count(*), sum(tokens) from model_calls where day > ? and day <= ?"
            " group by called, outcome order by called, outcome",
            (_days_before(day, days), day),
        )
        calls = {outcome: count for called, outcome, count, _ in rows if called}
        held_back = {outcome: count for called, outcome, count, _ in rows if not called}
        return ModelUsage(sum(calls.values()), sum(row[3] for row in rows), calls, held_back)

    def read_counters(self) -> dict[str, int]:
        """What `lineage status` shows: captures, compactions, turns, redactions, access."""
        (captures,) = self._execute(
            "select count(*) filter (where kind = 'session-end'), count(*) filter (where kind = 'compaction'),"
            " coalesce(sum(turns), 0), coalesce(sum(redactions), 0) from captures"
        )
        (shown,) = self._execute("select coalesce(sum(shown), 0) from access")
        return dict(zip(("captures", "compactions", "turns", "redactions", "shown"), (*captures, *shown), strict=True))

    def count_drops(self, day: str, dropped: Mapping[str, int]) -> None:
        """Counts what was found worth remembering and not kept, by reason."""
        for reason, count in sorted(dropped.items()):
            self._execute(
                "insert into drops values (?, ?, ?)"
                " on conflict (day, reason) do update set count = drops.count + excluded.count",
                (day, reason, count),
            )

    def read_drop_counts(self) -> dict[str, int]:
        """How much was not kept so far, by reason."""
        return dict(self._execute("select reason, sum(count) from drops group by reason order by reason"))

    def count_embeddings(self, day: str, outcomes: Mapping[str, int]) -> None:
        """Counts what embedding came to, by outcome."""
        for outcome, count in sorted(outcomes.items()):
            self._execute(
                "insert into embeddings values (?, ?, ?)"
                " on conflict (day, outcome) do update set count = embeddings.count + excluded.count",
                (day, outcome, count),
            )

    def read_embedding_counts(self) -> dict[str, int]:
        """What embedding came to so far, by outcome."""
        return dict(self._execute("select outcome, sum(count) from embeddings group by outcome order by outcome"))

    def forget(self, token: str) -> int:
        """Drops what was counted of a session; how many rows. The bytes are gone after `scrub`."""
        captures = self._execute("delete from captures where session_token = ? returning 1", (token,))
        access = self._execute("delete from access where session_token = ? returning 1", (token,))
        seen = self._execute("delete from seen where session_token = ? returning 1", (token,))
        imported = self._execute("delete from imported where session_token = ? returning 1", (token,))
        return len(captures) + len(access) + len(seen) + len(imported)

    def scrub(self) -> None:
        """Leaves no copy of what was dropped."""
        with translate_errors(self.path):
            vacuum(self._connection)

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
                connection.executescript(_SCHEMA)
        except LineageError:
            connection.close()
            raise
        return connection

    def _recreate(self) -> sqlite3.Connection:
        self._was_damaged = True
        quarantine(self.path)
        return self._open()

    def _execute(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """One statement in a transaction of its own, and all its rows. Damage may show only now: pages that opening
        does not read."""
        try:
            return self._execute_once(sql, values)
        except DatabaseDamaged:
            self.close()
            self._connection = self._recreate()
            return self._execute_once(sql, values)

    def _execute_once(self, sql: str, values: Sequence[object]) -> list[Any]:
        with translate_errors(self.path), self._connection:
            return self._connection.execute(sql, values).fetchall()


def _days_before(day: str, days: int) -> str:
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()
