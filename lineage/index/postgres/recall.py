"""Recall for a new session, in PostgreSQL. (index/recall.py)."""

from lineage.index import books
from lineage.index.fts_query import build_match_expression
from lineage.index.postgres.text_search import PostgresTextSearch, to_postgres_sql
from lineage.index.recall import (
    END_OF_TIME,
    SELECT_ENTRIES,
    SELECT_SESSIONS,
    RecalledSession,
    RecallQuery,
    RecallResult,
)

_ENTRIES = to_postgres_sql(SELECT_ENTRIES.format(prefix=""))
_SESSIONS = to_postgres_sql(SELECT_SESSIONS.format(prefix="", padding=""))
_NO_LIMIT = 1 << 40  # the privacy rule and the scopes decide only after the match


def load_recall(text_search: PostgresTextSearch, query: RecallQuery) -> RecallResult:
    """Return the recall of a new session. See `Index.recall`."""
    database, entries = text_search.database, []
    words = build_match_expression(query.text or "")
    if words and query.max_entries:
        matches, values = text_search.build_match_statement(words, _NO_LIMIT, "id < 0")
        values |= {"scopes": list(query.scopes), "kinds": list(query.kinds), "entries": query.max_entries}
        entries = database.execute(f"with found as materialized ({matches}) {_ENTRIES}", values)
    values = {"agent": query.agent_id, "until": query.until or END_OF_TIME, "sessions": query.max_sessions}
    return RecallResult(
        entries=tuple(map(books.decode_entry, entries)),
        sessions=tuple(RecalledSession(*row) for row in database.execute(_SESSIONS, values)),
    )
