"""The ledger in PostgreSQL: one row of `entries` for each entry, counted when it is asked for. (index/ledger.py)"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lineage.core.ledger import Head, Tally
from lineage.core.window import Window
from lineage.store.postgres import Postgres

_AT_A_TIME = 1000
_OF_THEM = "session_token = any(%s::text[])"
_FORGET = f"delete from entries where {_OF_THEM}"
_AGAIN = """
    on conflict (stem) do update set agent_id = excluded.agent_id, session_token = excluded.session_token,
      membership_ts = excluded.membership_ts, project = excluded.project, is_compaction = excluded.is_compaction
"""
_CAPTURES = f"""
    insert into entries
    select distinct on (stem) stem, agent_id, session_token, membership_ts,
           case when private <> 0 then '' else coalesce(project, '') end, 0
    from artifacts
    where {_OF_THEM} and visible = 1 and source_kind in ('summary', 'transcript')
    order by stem, source_kind
{_AGAIN}"""
_COMPACTIONS = f"""
    insert into entries
    select distinct on (session_token) stem, agent_id, session_token, membership_ts,
           case when private <> 0 then '' else coalesce(project, '') end, 1
    from artifacts a
    where {_OF_THEM} and visible = 1 and source_kind = 'compaction'
      and not exists (select 1 from entries e where e.session_token = a.session_token)
    order by session_token, stem desc
{_AGAIN}"""
_HEADS = f"""
    select a.source_path, a.source_kind, a.stem, a.session_token, a.session_id, a.project, a.memory_sentence,
           a.membership_ts, a.private, a.manifest_path, e.membership_ts
    from (select * from entries
          where agent_id = %s and membership_ts >= %s and (membership_ts, stem) < (%s, %s)
          order by membership_ts desc, stem desc limit {_AT_A_TIME}) e
    join artifacts a on a.session_token = e.session_token and a.stem = e.stem
                    and a.visible = 1 and a.source_kind <> 'manifest'
                    and (a.source_kind = 'compaction') = (e.is_compaction = 1)
    order by e.membership_ts desc, e.stem desc
"""
_TALLIES = """
    select substr(membership_ts, 1, 10), project, count(*) from entries
    where agent_id = %s and membership_ts between %s and %s group by 1, 2
"""
_AFTER = "~"  # than any stem


def kept_up(database: Postgres, tokens: Iterable[str]) -> None:
    """Makes the entries of sessions those of their artifacts: one for each capture, or the newest compaction's."""
    asked = sorted(set(tokens))
    database.rows("; ".join((_FORGET, _CAPTURES, _COMPACTIONS)), (asked, asked, asked))


def fill(database: Postgres) -> None:
    """Makes the entries of all sessions what `kept_up` would make them."""
    with database.transaction():
        database.rows("lock table entries in share row exclusive mode")  # captures that end meanwhile come after it
        for statement in (_FORGET, _CAPTURES, _COMPACTIONS):
            database.rows(statement.replace(_OF_THEM, "true"))


def heads(database: Postgres, agent_id: str, window: Window) -> Iterator[Head]:
    """The heads of an agent's entries in the window, newest first, an entry's together; some are read at a time, as
    they are asked for."""
    last: Sequence[str] = (window.until, _AFTER)
    while True:
        rows = database.rows(_HEADS, (agent_id, window.since, *last))
        for row in rows:
            values: Any = (*row[:8], bool(row[8]), row[9])
            yield Head(*values)
        if len({row[2] for row in rows}) < _AT_A_TIME:
            return
        last = (rows[-1][10], rows[-1][2])


def tallies(database: Postgres, agent_id: str, window: Window) -> list[Tally]:
    """How many entries the window has by day and project."""
    return sorted(Tally(*row) for row in database.rows(_TALLIES, (agent_id, window.since, window.until)))
