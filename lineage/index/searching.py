"""What is found: artifacts and entries by the words of a query, ranked together, and what a new session recalls.

Every query asks `may_reach`, the gate of private sessions, which the connection has as a function. (format: Commands)
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage.core import naming
from lineage.core.body import cleaned
from lineage.core.privacy import GLOBAL, may_reach
from lineage.index import books
from lineage.index.books import EntryRow
from lineage.index.query import match_expression

MARK = ("\x02", "\x03")  # around the words of a snippet that matched
ENTRY = "entry"


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `score` grows with relevance; `snippet` carries `MARK` around what matched.

    An entry of a book has the kind `entry` and is in `entry`; its session is the one that it came from, if any.
    """

    session_id: str | None
    session_token: str | None
    agent_id: str | None
    kind: str
    path: str
    score: float
    snippet: str
    project: str | None
    membership_ts: str | None
    memory_sentence: str | None
    entry: EntryRow | None = None


class RecalledSession(NamedTuple):
    """A session, as its newest capture shows it. Paths are relative to the workspace."""

    session_id: str
    session_token: str
    project: str | None
    membership_ts: str
    memory_sentence: str
    summary_path: str
    manifest_path: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a new session recalls: entries, best match first, and sessions, newest first."""

    entries: tuple[EntryRow, ...]
    sessions: tuple[RecalledSession, ...]


def _reaches(scope: str, token: str) -> str:
    """SQL: whether what a session said may come into a scope; nothing is known against one that isn't there."""
    private = f"coalesce((select max(private) from artifacts where session_token = {token}), 0)"
    return f"({private} = 0 or may_reach({scope}, {private}, {token}))"


_EVERYWHERE = f"'{GLOBAL}'"
_ENTRY_COLUMNS = ", ".join(f"e.{name}" for name in books.COLUMNS)
_SESSION_COLUMNS = ", ".join(
    ["a.session_id", "a.session_token", "a.project", "a.membership_ts", "a.memory_sentence", "a.source_path"]
    + ["a.manifest_path"]
    + ["null"] * (len(books.COLUMNS) - len(RecalledSession._fields))
)
_SPEAKER = "iif(e.owner = '', e.origin_token, e.owner)"

_WEIGHTS = "4.0, 3.0, 1.0"
_RANKED = f"""
    with found as materialized (select rowid as id, bm25(search, {_WEIGHTS}) as rank from search where search match ?1)
    select a.id, found.rank, a.membership_ts, a.source_path, a.session_token
    from found join artifacts a on a.id = found.id
    where a.visible = 1 and (a.private = 0 or may_reach({_EVERYWHERE}, a.private, a.session_token))
      and (?2 is null or a.agent_id = ?2)
    union all
    select -e.id, found.rank, e.at, e.path, e.entry_id
    from found join book_entries e on e.id = -found.id
    where {_reaches(_EVERYWHERE, "e.origin_token")}
      and (e.owner = '' or {_reaches(_EVERYWHERE, "e.owner")}
           and exists (select 1 from artifacts
                       where session_token = e.owner and visible = 1 and (?2 is null or agent_id = ?2)))
      and (?2 is null or e.scope not like '{books.AGENT}%' or e.scope = '{books.AGENT}' || ?2)
    order by 2, 3 desc, 4, 5
"""
_ARTIFACT = """
    select session_id, session_token, agent_id, source_kind, source_path, project, membership_ts, memory_sentence
    from artifacts where id = ?
"""
_ENTRY = f"""
    select s.session_id, nullif({_SPEAKER}, ''), s.agent_id, s.project, {_ENTRY_COLUMNS}
    from book_entries e left join artifacts s on s.id =
        (select id from artifacts where session_token = {_SPEAKER} order by source_path limit 1)
    where e.id = ?
"""
_SNIPPET = "select snippet(search, -1, ?, ?, ' … ', 24) from search where search match ? and rowid = ?"

_NO_WORD = '""'
_AFTER_EVERY_TIME = "~"
_RECALLED = f"""
    with found as materialized (
        select -rowid as id, bm25(search, {_WEIGHTS}) as rank from search where search match :words and rowid < 0
    )
    select * from (
        select 0, found.rank, e.at, e.entry_id, {_ENTRY_COLUMNS}
        from found join book_entries e on e.id = found.id
        where e.standing = 1 and {_reaches("e.scope", "e.origin_token")}
          and e.scope in (select value from json_each(:scopes)) and e.kind in (select value from json_each(:kinds))
        order by found.rank, e.at desc, e.entry_id, e.path limit :entries)
    union all
    select * from (
        select 1, 0, e.membership_ts, e.session_token, {_SESSION_COLUMNS}
        from entries e join artifacts a on a.stem = e.stem and a.source_kind = '{naming.SUMMARY}'
        where e.agent_id = :agent and e.is_compaction = 0 and e.membership_ts <= :until
          and (a.private = 0 or may_reach({_EVERYWHERE}, a.private, a.session_token))
          and not exists (
              select 1 from entries n
              where n.session_token = e.session_token and n.is_compaction = 0 and n.membership_ts <= :until
                and (n.membership_ts, n.stem) > (e.membership_ts, e.stem))
        order by e.membership_ts desc, e.stem desc limit :sessions)
    order by 1, 2, 3 desc, 4, 5
"""
_KEYS = 4


def ask_the_gate(connection: sqlite3.Connection) -> None:
    """Gives a connection the function that the queries ask."""

    def asked(scope: str, private: int, token: str) -> bool:
        return may_reach(scope, private=bool(private), token=token)

    connection.create_function("may_reach", 3, asked, deterministic=True)


def hits(connection: sqlite3.Connection, query: str, agent_id: str | None, limit: int) -> list[Hit]:
    """The best artifact of each session and every entry that a word of the query finds, best first."""
    expression = match_expression(query)
    if expression is None:
        return []
    agent = cleaned(agent_id) if agent_id is not None else None
    best: dict[object, tuple[int, float]] = {}
    for number, rank, _, _, token in connection.execute(_RANKED, (cleaned(expression), agent)):
        best.setdefault(token if number > 0 else number, (number, -rank))
        if len(best) == limit:
            break
    return [_hit(connection, cleaned(expression), number, score) for number, score in best.values()]


def _hit(connection: sqlite3.Connection, expression: str, number: int, score: float) -> Hit:
    """The hit of a ranked row; it is read here, for the few that are shown."""
    snippet: str = connection.execute(_SNIPPET, (*MARK, expression, number)).fetchone()[0]
    if number > 0:
        session_id, token, agent_id, kind, path, *rest = connection.execute(_ARTIFACT, (number,)).fetchone()
        return Hit(session_id, token, agent_id, kind, path, score, snippet, *rest)
    session_id, token, agent_id, project, *values = connection.execute(_ENTRY, (-number,)).fetchone()
    entry = books.entry_row(values)
    agent = entry.scope.removeprefix(books.AGENT) if entry.scope.startswith(books.AGENT) else agent_id
    return Hit(session_id, token, agent, ENTRY, entry.path, score, snippet, project, entry.at or None, None, entry)


def recalled(
    connection: sqlite3.Connection,
    query: str | None,
    *,
    agent_id: str,
    scopes: Sequence[str],
    kinds: Sequence[str],
    sessions: int,
    entries: int,
    until: str | None,
) -> Recalled:
    """See `Index.recalled`."""
    asked: dict[str, Any] = {
        "words": cleaned(match_expression(query or "") or _NO_WORD),
        "agent": cleaned(agent_id),
        "scopes": json.dumps([cleaned(scope) for scope in scopes]),
        "kinds": json.dumps([cleaned(kind) for kind in kinds]),
        "sessions": sessions,
        "entries": entries,
        "until": until or _AFTER_EVERY_TIME,
    }
    found = connection.execute(_RECALLED, asked).fetchall()
    return Recalled(
        entries=tuple(books.entry_row(row[_KEYS:]) for row in found if row[0] == 0),
        sessions=tuple(
            RecalledSession(*row[_KEYS : _KEYS + len(RecalledSession._fields)]) for row in found if row[0] == 1
        ),
    )
