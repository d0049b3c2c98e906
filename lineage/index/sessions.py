"""Sessions as lists show them: one row for each, from its artifacts' rows."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lineage.core.format.body import replace_surrogates
from lineage.index.filter_sql import escape_like

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
    """A session as lists show it: the values of its manifest and its newest sentence."""

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
    """Return sessions, newest first. See `Index.list_sessions`."""
    where = [_OLDEST_MANIFEST]
    values: list[object] = []
    if agent_id is not None:
        where.append("m.agent_id = ?")
        values.append(replace_surrogates(agent_id))
    if project is not None:
        project = replace_surrogates(project)
        where.append("(m.project = ? or m.project like ? escape '!')")
        values += [project, f"%/{escape_like(project)}"]
    if reference is not None:
        where.append(_REFERENCE)
        values += [f"{escape_like(replace_surrogates(reference))}%"] * 3
    rows = connection.execute(_SESSIONS.format(where=" and ".join(where)), (*values, limit))
    return list(map(build_session_row, rows))


def build_session_row(row: Sequence[Any]) -> SessionRow:
    """Return the session of a row whose columns are the fields of `SessionRow`, in their order."""
    values: dict[str, Any] = dict(zip((field.name for field in fields(SessionRow)), row, strict=True))
    sentence = values["memory_sentence"] or ""
    return SessionRow(**{**values, "memory_sentence": sentence, "private": bool(values["private"])})


def find_indexed_tokens(connection: sqlite3.Connection, tokens: Collection[str]) -> set[str]:
    """Return the sessions with a row, or with entries in books. See `Index.find_indexed_tokens`."""
    return {row[0] for row in connection.execute(_SELECT_INDEXED_TOKENS, (json.dumps(list(tokens)),))}
