"""What a new session recalls, from PostgreSQL. (index/recalling.py)"""

from collections.abc import Sequence
from typing import Any

from lineage.core import naming
from lineage.index import books
from lineage.index.gate import EVERYWHERE, reaches
from lineage.index.postgres.searching import FullText
from lineage.index.query import match_expression
from lineage.index.recalling import Recalled, RecalledSession

_ENTRIES = f"""
    with found as materialized ({{found}})
    select {", ".join(f"e.{name}" for name in books.COLUMNS)}
    from found join book_entries e on e.id = -found.id
    where e.standing = 1 and {reaches("e.scope", "e.origin_token")}
      and e.scope = any(%(scopes)s::text[]) and e.kind = any(%(kinds)s::text[])
    order by found.rank, e.at desc, e.entry_id, e.path limit %(entries)s
"""
_SESSIONS = f"""
    select a.session_id, a.session_token, a.project, a.membership_ts, a.memory_sentence, a.source_path, a.manifest_path
    from entries e join artifacts a on a.stem = e.stem and a.source_kind = '{naming.SUMMARY}'
    where e.agent_id = %(agent)s and e.is_compaction = 0 and e.membership_ts <= %(until)s
      and (a.private = 0 or may_reach({EVERYWHERE}, a.private, a.session_token))
      and not exists (
          select 1 from entries n
          where n.session_token = e.session_token and n.is_compaction = 0 and n.membership_ts <= %(until)s
            and (n.membership_ts, n.stem) > (e.membership_ts, e.stem))
    order by e.membership_ts desc, e.stem desc limit %(sessions)s
"""
_LOOKED_AT = 1 << 40  # all: what may be recalled is known only then
_AFTER_EVERY_TIME = "~"


def recalled(
    full_text: FullText,
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
    words = match_expression(query or "")
    asked: dict[str, Any] = {"scopes": list(scopes), "kinds": list(kinds), "entries": entries}
    found = []
    if words and entries:
        matching, bound = full_text.found(words, _LOOKED_AT, "id < 0")
        found = full_text.database.rows(_ENTRIES.format(found=matching), {**bound, **asked})
    bounds = {"agent": agent_id, "until": until or _AFTER_EVERY_TIME, "sessions": sessions}
    return Recalled(
        entries=tuple(map(books.entry_row, found)),
        sessions=tuple(RecalledSession(*row) for row in full_text.database.rows(_SESSIONS, bounds)),
    )
