"""`.lineage/runtime.db`: counters of captures, access and the last render."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lineage.errors import DamagedIndex
from lineage.store.databases import connect, guarded, set_aside

_SCHEMA = """
create table if not exists captures (
  stem text not null, kind text not null, session_token text not null, counted_at text not null,
  turns integer not null, redactions integer not null, primary key (stem, kind)
);
create table if not exists access (
  session_token text primary key, shown integer not null default 0, last_shown_at text, rank real not null default 0
);
create table if not exists marks (name text primary key, value text not null);
"""


class Telemetry:
    """Counters that survive every reindex. Times are canonical UTC strings.

    A database that cannot be read is set aside as `runtime.db.damaged` and a new one begun: captures go on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.was_damaged = False
        try:
            self._prepare()
        except DamagedIndex:
            self.was_damaged = True
            set_aside(path)
            self._prepare()

    def count_capture(self, stem: str, kind: str, token: str, *, at: str, turns: int, redactions: int) -> None:
        """Counts a capture or compaction once, however often its flow is repeated."""
        with self._transaction() as database:
            row = (stem, kind, token, at, turns, redactions)
            database.execute("insert or ignore into captures values (?, ?, ?, ?, ?, ?)", row)

    def has_counted(self, stem: str, kind: str) -> bool:
        with self._transaction() as database:
            found = database.execute("select 1 from captures where stem = ? and kind = ?", (stem, kind))
            return found.fetchone() is not None

    def count_access(self, token: str, at: str) -> None:
        """Notes that somebody looked at a session."""
        with self._transaction() as database:
            database.execute(
                "insert into access (session_token, shown, last_shown_at) values (?, 1, ?) on conflict (session_token)"
                " do update set shown = shown + 1, last_shown_at = excluded.last_shown_at",
                (token, at),
            )

    def mark(self, name: str, value: str) -> None:
        with self._transaction() as database:
            database.execute("insert or replace into marks values (?, ?)", (name, value))

    def marks(self) -> Mapping[str, str]:
        with self._transaction() as database:
            return dict(database.execute("select name, value from marks order by name"))

    def counters(self) -> dict[str, int]:
        """What `lineage status` shows: captures, compactions, turns, redactions, access."""
        with self._transaction() as database:
            captures = database.execute(
                "select count(*) filter (where kind = 'session-end'), count(*) filter (where kind = 'compaction'),"
                " coalesce(sum(turns), 0), coalesce(sum(redactions), 0) from captures"
            ).fetchone()
            shown = database.execute("select coalesce(sum(shown), 0) from access").fetchone()
        return dict(zip(("captures", "compactions", "turns", "redactions", "shown"), (*captures, *shown), strict=True))

    def _prepare(self) -> None:
        with contextlib.closing(connect(self.path)) as database, guarded(self.path):
            database.executescript(_SCHEMA)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(connect(self.path)) as database, guarded(self.path), database:
            yield database
