"""Recall for a new session: entries that match its words, and the newest sessions, in one statement."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lineage.core.base import naming
from lineage.core.format.body import replace_surrogates
from lineage.core.search.index_sql import ALLOWED_ENTRY
from lineage.full_text import build_match_expression
from lineage.index import books
from lineage.index.books import EntryRow
from lineage.index.fts_rows import COLUMN_WEIGHTS
from lineage.index.sessions import ASK_SQL, OUTCOME_SQL


@dataclass(frozen=True, slots=True)
class RecalledSession:
    """A session, described by its newest capture. Paths are relative to the workspace.

    `ask` is the first capture's, `outcome` the newest's, "" without one; `checks` are the commands that passed, a line
    each. (core/format/summary.py)
    """

    session_id: str
    session_token: str
    project: str | None
    membership_ts: str
    memory_sentence: str
    summary_path: str
    manifest_path: str
    project_key: str
    checks: str
    ask: str
    outcome: str


@dataclass(frozen=True, slots=True)
class RecallResult:
    """Recalled entries, best match first, and sessions, newest first."""

    entries: tuple[EntryRow, ...]
    sessions: tuple[RecalledSession, ...]


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question for `Index.recall`. `text` finds entries by its words; `until` is the time of the question.

    `projects` are the pairs of key and path that sessions may have, None for any.
    """

    text: str | None
    agent_id: str
    scopes: Sequence[str]
    kinds: Sequence[str]
    max_sessions: int
    max_entries: int
    until: str | None = None
    projects: Collection[tuple[str, str]] | None = None


END_OF_TIME = "~"  # sorts after every time
_NO_WORDS = '""'
_SESSION_COLUMN_COUNT = len(fields(RecalledSession))
_PADDING = ", null" * (len(books.COLUMNS) - _SESSION_COLUMN_COUNT)  # both halves of the union need as many columns
SELECT_ENTRIES = f"""
    select {{prefix}} {", ".join(f"e.{name}" for name in books.COLUMNS)}
    from found join book_entries e on e.id = -found.id
    where e.standing = 1 and {ALLOWED_ENTRY}
      and e.scope in (select value from json_each(:scopes)) and e.kind in (select value from json_each(:kinds))
    order by found.rank, e.at desc, e.entry_id, e.path limit :entries
"""
SELECT_SESSIONS = f"""
    select {{prefix}} a.session_id, a.session_token, a.project, a.membership_ts, a.memory_sentence, a.source_path,
           a.manifest_path, a.project_key, a.checks, coalesce({ASK_SQL.format("a.session_token")}, ''),
           coalesce({OUTCOME_SQL.format("a.session_token")}, '') {{padding}}
    from entries e join artifacts a on a.stem = e.stem and a.source_kind = '{naming.SUMMARY}'
    where e.agent_id = :agent and e.is_compaction = 0 and e.membership_ts <= :until
      and (:is_anywhere = 1 or e.project in (select value from json_each(:paths)))
      and (:is_anywhere = 1 or a.project_key in (select value from json_each(:keys)))
      and a.private = 0
      and not exists (
          select 1 from entries n
          where n.session_token = e.session_token and n.is_compaction = 0 and n.membership_ts <= :until
            and (n.membership_ts, n.stem) > (e.membership_ts, e.stem))
    order by e.membership_ts desc, e.stem desc limit :sessions
"""
# One statement: its first column tells sessions from entries, the next three keep the order of each half.
_SELECT_RECALL = f"""
    with found as materialized (
        select rowid as id, bm25(search, {", ".join(map(str, COLUMN_WEIGHTS))}) as rank
        from search where search match :words and rowid < 0
    )
    select * from ({SELECT_ENTRIES.format(prefix="0, found.rank, e.at, e.entry_id,")})
    union all
    select * from ({SELECT_SESSIONS.format(prefix="1, 0, e.membership_ts, e.session_token,", padding=_PADDING)})
    order by 1, 2, 3 desc, 4, 5
"""


def build_session_values(query: RecallQuery) -> dict[str, Any]:
    """Return the values of `SELECT_SESSIONS`."""
    keys, paths = zip(*query.projects, strict=True) if query.projects else ((), ())
    return {
        "agent": replace_surrogates(query.agent_id),
        "sessions": query.max_sessions,
        "until": query.until or END_OF_TIME,
        "is_anywhere": int(query.projects is None),
        "keys": sorted(set(map(replace_surrogates, keys))),
        "paths": sorted(set(map(replace_surrogates, paths))),
    }


def load_recall(connection: sqlite3.Connection, query: RecallQuery) -> RecallResult:
    """Return the recall of a new session. See `Index.recall`."""
    values: dict[str, Any] = {
        "words": build_match_expression(query.text or "") or _NO_WORDS,
        "scopes": list(map(replace_surrogates, query.scopes)),
        "kinds": list(map(replace_surrogates, query.kinds)),
        "entries": query.max_entries,
        **build_session_values(query),
    }
    values = {name: json.dumps(value) if isinstance(value, list) else value for name, value in values.items()}
    entries, sessions = [], []
    for is_session, _, _, _, *columns in connection.execute(_SELECT_RECALL, values):
        if is_session:
            sessions.append(RecalledSession(*columns[:_SESSION_COLUMN_COUNT]))
        else:
            entries.append(books.decode_entry(columns))
    return RecallResult(tuple(entries), tuple(sessions))
