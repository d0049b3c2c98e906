"""Recall for a new session, in PostgreSQL. (index/recall.py)"""

from collections.abc import Sequence
from typing import Any

from lineage.core.base import naming
from lineage.index import books
from lineage.index.fts_query import build_match_expression
from lineage.index.postgres.text_search import PostgresTextSearch
from lineage.index.privacy_sql import GLOBAL_SCOPE_SQL, build_privacy_condition
from lineage.index.recall import END_OF_TIME, RecalledSession, RecallResult

_ENTRIES = f"""
    with found as materialized ({{found}})
    select {", ".join(f"e.{name}" for name in books.COLUMNS)}
    from found join book_entries e on e.id = -found.id
    where e.standing = 1 and {build_privacy_condition("e.scope", "e.origin_token")}
      and e.scope = any(%(scopes)s::text[]) and e.kind = any(%(kinds)s::text[])
    order by found.rank, e.at desc, e.entry_id, e.path limit %(entries)s
"""
_SESSIONS = f"""
    select a.session_id, a.session_token, a.project, a.membership_ts, a.memory_sentence, a.source_path, a.manifest_path
    from entries e join artifacts a on a.stem = e.stem and a.source_kind = '{naming.SUMMARY}'
    where e.agent_id = %(agent)s and e.is_compaction = 0 and e.membership_ts <= %(until)s
      and (a.private = 0 or may_reach({GLOBAL_SCOPE_SQL}, a.private, a.session_token))
      and not exists (
          select 1 from entries n
          where n.session_token = e.session_token and n.is_compaction = 0 and n.membership_ts <= %(until)s
            and (n.membership_ts, n.stem) > (e.membership_ts, e.stem))
    order by e.membership_ts desc, e.stem desc limit %(sessions)s
"""
_NO_LIMIT = 1 << 40  # the privacy rule and the scopes decide only after the match


def load_recall(
    text_search: PostgresTextSearch,
    query: str | None,
    *,
    agent_id: str,
    scopes: Sequence[str],
    kinds: Sequence[str],
    max_sessions: int,
    max_entries: int,
    until: str | None,
) -> RecallResult:
    """Return the recall of a new session. See `Index.recall`."""
    database = text_search.database
    words = build_match_expression(query or "")
    entries: list[Any] = []
    if words and max_entries:
        statement, values = text_search.build_match_statement(words, _NO_LIMIT, "id < 0")
        values |= {"scopes": list(scopes), "kinds": list(kinds), "entries": max_entries}
        entries = database.execute(_ENTRIES.format(found=statement), values)
    values = {"agent": agent_id, "until": until or END_OF_TIME, "sessions": max_sessions}
    return RecallResult(
        entries=tuple(map(books.decode_entry, entries)),
        sessions=tuple(RecalledSession(*row) for row in database.execute(_SESSIONS, values)),
    )
