"""The ledger in PostgreSQL: one row of `entries` for each entry, counted when it is asked for. (index/ledger.py)"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lineage.core.capture.ledger import ArtifactHead, ProjectTally
from lineage.core.capture.window import Window
from lineage.database.postgres import Postgres

_PAGE_SIZE = 1000
_OF_SESSIONS = "session_token = any(%s::text[])"
_DELETE_ENTRIES = f"delete from entries where {_OF_SESSIONS}"
_ON_CONFLICT = """
    on conflict (stem) do update set agent_id = excluded.agent_id, session_token = excluded.session_token,
      membership_ts = excluded.membership_ts, project = excluded.project, is_compaction = excluded.is_compaction
"""
_CAPTURES = f"""
    insert into entries
    select distinct on (stem) stem, agent_id, session_token, membership_ts,
           case when private <> 0 then '' else coalesce(project, '') end, 0
    from artifacts
    where {_OF_SESSIONS} and visible = 1 and source_kind in ('summary', 'transcript')
    order by stem, source_kind
{_ON_CONFLICT}"""
_COMPACTIONS = f"""
    insert into entries
    select distinct on (session_token) stem, agent_id, session_token, membership_ts,
           case when private <> 0 then '' else coalesce(project, '') end, 1
    from artifacts a
    where {_OF_SESSIONS} and visible = 1 and source_kind = 'compaction'
      and not exists (select 1 from entries e where e.session_token = a.session_token)
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
_AFTER_ANY_STEM = "~"  # than any stem


def sync_sessions(database: Postgres, tokens: Iterable[str]) -> None:
    """Makes the entries of sessions those of their artifacts: one for each capture, or the newest compaction's."""
    asked = sorted(set(tokens))
    database.execute("; ".join((_DELETE_ENTRIES, _CAPTURES, _COMPACTIONS)), (asked, asked, asked))


def sync_all_sessions(database: Postgres) -> None:
    """Makes the entries of all sessions what `sync_sessions` would make them."""
    with database.transaction():
        database.execute("lock table entries in share row exclusive mode")  # captures that end meanwhile come after it
        for statement in (_DELETE_ENTRIES, _CAPTURES, _COMPACTIONS):
            database.execute(statement.replace(_OF_SESSIONS, "true"))


def read_heads(database: Postgres, agent_id: str, window: Window) -> Iterator[ArtifactHead]:
    """The heads of an agent's entries in the window, newest first, an entry's together; some are read at a time, as
    they are asked for."""
    last: Sequence[str] = (window.until, _AFTER_ANY_STEM)
    while True:
        rows = database.execute(_HEADS, (agent_id, window.since, *last))
        for row in rows:
            values: Any = (*row[:8], bool(row[8]), row[9])
            yield ArtifactHead(*values)
        if len({row[2] for row in rows}) < _PAGE_SIZE:
            return
        last = (rows[-1][10], rows[-1][2])


def load_tallies(database: Postgres, agent_id: str, window: Window) -> list[ProjectTally]:
    """How many entries the window has by day and project."""
    return sorted(ProjectTally(*row) for row in database.execute(_TALLIES, (agent_id, window.since, window.until)))
