"""The ledger in the index: a row of `entries` for each ledger entry, and their counts by day and project.

Every write updates both, so a render reads only the rows that it shows and adds up a month of counts, however many
sessions there are.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lineage.core.capture.ledger import ArtifactHead, ProjectTally, Window
from lineage.index import fts_rows

TABLES = (
    "create table if not exists entries (stem text primary key, agent_id text, session_token text, membership_ts text,"
    " project text, is_compaction integer) without rowid",
    "create table if not exists days (agent_id text, day text, project text, count integer,"
    " primary key (agent_id, day, project)) without rowid",
    "create trigger if not exists entries_added after insert on entries begin"
    " insert into days values (new.agent_id, substr(new.membership_ts, 1, 10), new.project, 1)"
    " on conflict do update set count = count + 1; end",
    "create trigger if not exists entries_dropped after delete on entries begin"
    " update days set count = count - 1 where agent_id = old.agent_id and day = substr(old.membership_ts, 1, 10)"
    " and project = old.project;"
    " delete from days where agent_id = old.agent_id and day = substr(old.membership_ts, 1, 10)"
    " and project = old.project and count = 0; end",
)
INDEXES = (
    ("entries", "entries_agent", ("agent_id", "membership_ts", "stem", "project")),
    ("entries", "entries_session", ("session_token",)),
    ("entries", "entries_project", ("project", "membership_ts", "stem")),
    ("entries", "entries_time", ("membership_ts", "stem")),
)

IS_NO_SUB_AGENT = (
    "not exists (select 1 from artifacts s where s.session_token = a.session_token and s.parent_token is not null)"
)
"""SQL: whether a capture `a` has a ledger entry of its own. A sub-agent's is part of its parent's session."""
FOLLOW_PARENT = """
    update artifacts set private = 1 where private = 0 and {of_sessions} and exists (
        select 1 from artifacts p where p.session_token = artifacts.parent_token and p.private = 1)
"""
"""SQL: a private session's sub-agents are private too, also those that were captured before it."""

_OF_SESSIONS = "session_token in (select value from json_each(:tokens)) and "
# What was left of a session that is captured whole by now shows nowhere.
_HIDE_SUPERSEDED = f"""
    update artifacts set visible = 0 where {_OF_SESSIONS} partial = 1 and session_token in
    (select session_token from artifacts where {_OF_SESSIONS} source_kind = 'transcript' and partial = 0) returning id
"""
_OF_FAMILIES = (
    "(session_token in (select value from json_each(:tokens))"
    " or parent_token in (select value from json_each(:tokens)))"
)
_DELETE_ENTRIES = "delete from entries where session_token in (select value from json_each(:tokens))"
# Of one capture the summary goes first: min() also decides which row the other columns come from.
_CAPTURES = f"""
    insert into entries select stem, agent_id, session_token, membership_ts, iif(private, '', coalesce(project, '')), 0
    from (select *, min(source_kind) from artifacts a where {_OF_SESSIONS} visible = 1
          and source_kind in ('summary', 'transcript') and {IS_NO_SUB_AGENT} group by stem)
"""
# A compaction shows only while its session has no capture.
_COMPACTIONS = f"""
    insert into entries select stem, agent_id, session_token, membership_ts, iif(private, '', coalesce(project, '')), 1
    from (select *, max(stem) from artifacts a where {_OF_SESSIONS} visible = 1 and source_kind = 'compaction'
          and not exists (select 1 from entries where session_token = a.session_token) and {IS_NO_SUB_AGENT}
          group by session_token)
"""
_HEADS = """
    select a.source_path, a.source_kind, a.stem, a.session_token, a.session_id, a.project, a.memory_sentence,
           a.membership_ts, a.private, a.manifest_path
    from entries e join artifacts a on a.stem = e.stem and a.visible = 1 and a.source_kind != 'manifest'
                                   and (a.source_kind = 'compaction') = e.is_compaction
    where e.agent_id = ? and e.membership_ts between ? and ?
    order by e.membership_ts desc, e.stem desc
"""
NOTED_CAPTURES = """
    select e.membership_ts, e.stem, e.session_token, e.project, a.title, a.ask, a.harness, a.manifest_path
    from entries e join artifacts a on a.id = (
        select b.id from artifacts b where b.stem = e.stem and b.session_token = e.session_token and b.visible = 1
        and b.source_kind <> 'manifest' order by b.source_kind desc limit 1)
    where {} e.membership_ts >= :since and e.membership_ts < :until
          and a.private = 0 and substr(a.stamp, 1, 9) <> 'archived-'
    order by e.membership_ts desc, e.stem desc limit :limit
"""
"""Selects the entries that notes show, newest first; of a capture the transcript's row, which has what was asked."""
OF_PROJECT = "e.project = :project and"
NOTED_PLACES = """
    select distinct substr(membership_ts, 1, 10), coalesce(project, '') from artifacts
    where session_token = :token and source_kind <> 'manifest' and private = 0 and parent_token is null
    order by 1 desc, 2 limit :limit
"""
"""Selects the days of a session's captures and their projects, also of captures that others replaced."""
_WHOLE_DAYS = "select day, project, count from days where agent_id = :agent and day > :first and day < :last"
_PARTIAL_DAYS = """
    select substr(membership_ts, 1, 10), project, count(*) from entries
    where agent_id = :agent and membership_ts between :first and :last group by 1, 2
"""
_DATE_LENGTH = 10
_END_OF_DAY = "T99"  # sorts after every time of a day


def sync_sessions(connection: sqlite3.Connection, tokens: Iterable[str]) -> None:
    """Update the entries of sessions: one for each capture, else the newest compaction's, in a few statements.

    Sub-agents have none, and take their parent's privacy.
    """
    values = {"tokens": json.dumps(list(tokens))}
    if values["tokens"] != "[]":
        _hide_superseded(connection, _HIDE_SUPERSEDED, values)
        follow_parent = FOLLOW_PARENT.format(of_sessions=_OF_FAMILIES)
        for statement in (follow_parent, _DELETE_ENTRIES, _CAPTURES, _COMPACTIONS):
            connection.execute(statement, values)


def _hide_superseded(connection: sqlite3.Connection, statement: str, values: Mapping[str, str]) -> None:
    hidden = connection.execute(statement, values).fetchall()
    fts_rows.delete_passages(connection, (number for (number,) in hidden))


def sync_all_sessions(connection: sqlite3.Connection) -> None:
    """Write the entries of all sessions into an empty table."""
    _hide_superseded(connection, _HIDE_SUPERSEDED.replace(_OF_SESSIONS, ""), {})
    while connection.execute(FOLLOW_PARENT.format(of_sessions="parent_token is not null")).rowcount:
        pass  # a sub-agent may have started others
    for statement in (_CAPTURES, _COMPACTIONS):
        connection.execute(statement.replace(_OF_SESSIONS, ""))


def read_heads(connection: sqlite3.Connection, agent_id: str, window: Window) -> Iterator[ArtifactHead]:
    """Yield the artifacts of an agent's entries in the window, newest entry first, reading rows on demand."""
    for *columns, is_private, manifest_path in connection.execute(_HEADS, (agent_id, window.since, window.until)):
        values: Any = (*columns, bool(is_private), manifest_path)
        yield ArtifactHead(*values)


def load_tallies(connection: sqlite3.Connection, agent_id: str, window: Window) -> list[ProjectTally]:
    """Return the number of entries in the window by day and project."""
    first, last = window.since[:_DATE_LENGTH], window.until[:_DATE_LENGTH]
    spans = (
        (_WHOLE_DAYS, first, last),
        # the window cuts its first and last day
        (_PARTIAL_DAYS, window.since, first + _END_OF_DAY),
        (_PARTIAL_DAYS, last, window.until),
    )
    rows = [
        row
        for statement, since, until in spans
        for row in connection.execute(statement, {"agent": agent_id, "first": since, "last": until})
    ]
    return sorted(ProjectTally(*row) for row in rows)
