"""The ledger in PostgreSQL: a row of `entries` for each ledger entry, counted on demand. (index/ledger.py)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lineage.core.capture.ledger import ArtifactHead, ProjectTally, Window
from lineage.database.postgres import Postgres
from lineage.index.ledger import FOLLOW_PARENT, IS_NO_SUB_AGENT

_PAGE_SIZE = 1000
_OF_SESSIONS = "session_token = any(%s::text[])"
_HIDE_SUPERSEDED = f"""
    update artifacts set visible = 0 where {_OF_SESSIONS} and partial = 1 and session_token in
    (select session_token from artifacts where source_kind = 'transcript' and partial = 0) returning id
"""
_OF_FAMILIES = "(session_token = any(%s::text[]) or parent_token = any(%s::text[]))"
_DELETE_ENTRIES = f"delete from entries where {_OF_SESSIONS}"
_ON_CONFLICT = """
    on conflict (stem) do update set agent_id = excluded.agent_id, session_token = excluded.session_token,
      membership_ts = excluded.membership_ts, project = excluded.project, is_compaction = excluded.is_compaction
"""
_CAPTURES = f"""
    insert into entries
    select distinct on (stem) stem, agent_id, session_token, membership_ts,
           case when private <> 0 then '' else coalesce(project, '') end, 0
    from artifacts a
    where {_OF_SESSIONS} and visible = 1 and source_kind in ('summary', 'transcript') and {IS_NO_SUB_AGENT}
    order by stem, source_kind
{_ON_CONFLICT}"""
_COMPACTIONS = f"""
    insert into entries
    select distinct on (session_token) stem, agent_id, session_token, membership_ts,
           case when private <> 0 then '' else coalesce(project, '') end, 1
    from artifacts a
    where {_OF_SESSIONS} and visible = 1 and source_kind = 'compaction'
      and not exists (select 1 from entries e where e.session_token = a.session_token) and {IS_NO_SUB_AGENT}
    order by session_token, stem desc
{_ON_CONFLICT}"""
_HEADS = f"""
    select a.source_path, a.source_kind, a.stem, a.session_token, a.session_id, a.project, a.memory_sentence,
           a.membership_ts, a.private, a.manifest_path, e.membership_ts
    from (select * from entries
          where agent_id = %s and membership_ts >= %s and (membership_ts, stem) < (%s, %s)
          order by membership_ts desc, stem desc limit {_PAGE_SIZE}) e
    join artifacts a on a.session_token = e.session_token and a.stem = e.stem
                    and a.visible = 1 and a.source_kind <> 'manifest'
                    and (a.source_kind = 'compaction') = (e.is_compaction = 1)
    order by e.membership_ts desc, e.stem desc
"""
_TALLIES = """
    select substr(membership_ts, 1, 10), project, count(*) from entries
    where agent_id = %s and membership_ts between %s and %s group by 1, 2
"""
_AFTER_ANY_STEM = "~"  # sorts after every stem


def hide_superseded(database: Postgres, tokens: Iterable[str] | None = None) -> list[int]:
    """Hide the rest of sessions, of all by default, that are captured whole by now. Return the rows' numbers."""
    if tokens is None:
        rows = database.execute(_HIDE_SUPERSEDED.replace(_OF_SESSIONS, "true"))
    else:
        rows = database.execute(_HIDE_SUPERSEDED, (sorted(set(tokens)),))
    return [number for (number,) in rows]


def sync_sessions(database: Postgres, tokens: Iterable[str]) -> None:
    """Update the entries of sessions to their artifacts: one for each capture, else the newest compaction's."""
    # Sorted: two writers that lock the same rows in another order would block each other.
    values = sorted(set(tokens))
    statements = (FOLLOW_PARENT.format(of_sessions=_OF_FAMILIES), _DELETE_ENTRIES, _CAPTURES, _COMPACTIONS)
    database.execute("; ".join(statements), [values] * 5)


def sync_all_sessions(database: Postgres) -> None:
    """Update the entries of all sessions."""
    with database.transaction():
        database.execute("lock table entries in share row exclusive mode")  # captures that end meanwhile come after it
        for statement in (FOLLOW_PARENT.format(of_sessions="true"), _DELETE_ENTRIES, _CAPTURES, _COMPACTIONS):
            database.execute(statement.replace(_OF_SESSIONS, "true"))


def read_heads(database: Postgres, agent_id: str, window: Window) -> Iterator[ArtifactHead]:
    """Yield the artifacts of an agent's entries in the window, newest entry first, reading pages on demand."""
    last: Sequence[str] = (window.until, _AFTER_ANY_STEM)
    while True:
        rows = database.execute(_HEADS, (agent_id, window.since, *last))
        stems = set()
        for *columns, is_private, manifest_path, entry_time in rows:
            values: Any = (*columns, bool(is_private), manifest_path)
            head = ArtifactHead(*values)
            stems.add(head.stem)
            last = (entry_time, head.stem)
            yield head
        if len(stems) < _PAGE_SIZE:
            return


def load_tallies(database: Postgres, agent_id: str, window: Window) -> list[ProjectTally]:
    """Return the number of entries in the window by day and project."""
    return sorted(ProjectTally(*row) for row in database.execute(_TALLIES, (agent_id, window.since, window.until)))
