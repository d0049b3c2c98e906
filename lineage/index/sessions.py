"""Sessions as lists show them: one row for each, out of its artifacts' rows."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.core.format.body import replace_surrogates

_SESSIONS = """
    select m.session_id, m.session_key, m.session_token, m.agent_id, m.project, m.harness, m.title,
           m.started_at, m.ended_at, coalesce(max(a.membership_ts), m.membership_ts) as newest,
           (select s.memory_sentence from artifacts s
            where s.session_token = m.session_token and s.source_kind != 'manifest'
            order by s.stem desc, s.source_kind limit 1),
           m.source_path, count(distinct a.stem), m.private
    from artifacts m
    left join artifacts a on a.session_token = m.session_token and a.source_kind = 'transcript'
    where {where}
    group by m.id order by newest desc, m.session_token limit ?
"""
_REFERENCE = "(m.session_id like ? escape '!' or m.session_key like ? escape '!' or m.session_token like ? escape '!')"
_OLDEST_MANIFEST = """
    m.source_kind = 'manifest' and m.source_path = (select min(o.source_path) from artifacts o
    where o.session_token = m.session_token and o.source_kind = 'manifest')
"""

_SELECT_INDEXED_TOKENS = """
    select session_token from artifacts where session_token in (select value from json_each(?1))
    union select owner from book_entries where owner in (select value from json_each(?1))
    union select origin_token from book_entries where origin_token in (select value from json_each(?1))
"""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as lists show it: its manifest's facts and the newest sentence."""

    session_id: str
    session_key: str | None
    session_token: str
    agent_id: str
    project: str | None
    harness: str
    title: str
    started_at: str | None
    ended_at: str | None
    membership_ts: str
    memory_sentence: str
    manifest_path: str
    captures: int
    private: bool


def list_sessions(
    connection: sqlite3.Connection,
    agent_id: str | None,
    *,
    limit: int,
    project: str | None,
    reference: str | None,
) -> list[SessionRow]:
    """See `Index.sessions`."""
    where = [_OLDEST_MANIFEST]
    values: list[object] = []
    if agent_id is not None:
        where.append("m.agent_id = ?")
        values.append(replace_surrogates(agent_id))
    if project is not None:
        where.append("(m.project = ? or m.project like ? escape '!')")
        values += [replace_surrogates(project), f"%/{_escape_like(replace_surrogates(project))}"]
    if reference is not None:
        where.append(_REFERENCE)
        values += [f"{_escape_like(replace_surrogates(reference))}%"] * 3
    found = connection.execute(_SESSIONS.format(where=" and ".join(where)), (*values, limit))
    return [_build_session_row(row) for row in found]


def find_indexed_tokens(connection: sqlite3.Connection, tokens: Collection[str]) -> set[str]:
    """See `Index.held`."""
    return {row[0] for row in connection.execute(_SELECT_INDEXED_TOKENS, (json.dumps(list(tokens)),))}


def _build_session_row(row: Sequence[Any]) -> SessionRow:
    values: Any = (*row[:10], row[10] or "", row[11], row[12], bool(row[13]))
    return SessionRow(*values)


def _escape_like(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text
