"""Sessions as lists show them: one row for each, from its artifacts' rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lineage.core.base.naming import Identity, is_test_session
from lineage.core.format.body import replace_surrogates
from lineage.core.format.synopsis import build_title
from lineage.index.filter_sql import IN_FOLDER, build_folder_pattern, escape_like

ASK_SQL = "(select ask from artifacts where session_token = {0} and ask != '' order by stem limit 1)"
"""The first capture's that has one, given an SQL expression of the token; null without one."""
OUTCOME_SQL = "(select outcome from artifacts where session_token = {0} and outcome != '' order by stem desc limit 1)"
FILES_SQL = "(select files from artifacts where session_token = {0} and files != '' order by stem desc limit 1)"
"""Those of the newest capture that edited any; null without one."""
_NEWEST = "coalesce(max(a.membership_ts), m.membership_ts)"
_LISTED = f"""select m.id, {_NEWEST} as newest, count(distinct a.stem) as captures
          from artifacts m
          left join artifacts a on a.session_token = m.session_token and a.source_kind = 'transcript'
          where {{where}}
          group by m.id having {{having}}"""
_SESSIONS = f"""
    select m.session_id, m.session_key, m.session_token, m.agent_id, m.project, m.harness, m.title,
           {ASK_SQL.format("m.session_token")}, {OUTCOME_SQL.format("m.session_token")},
           m.started_at, m.ended_at, listed.newest,
           (select s.memory_sentence from artifacts s
            where s.session_token = m.session_token and s.source_kind != 'manifest'
            order by s.stem desc, s.source_kind limit 1),
           m.source_path, listed.captures, m.private, m.parent_token,
           (select count(distinct c.session_token) from artifacts c where c.parent_token = m.session_token)
    from ({_LISTED} order by {{first}} newest desc, m.session_token limit :limit) listed
    join artifacts m on m.id = listed.id
    order by listed.newest desc, m.session_token
"""
_COUNTS = f"""
    select substr(listed.newest, 1, 10), m.project, count(*) from ({_LISTED}) listed
    join artifacts m on m.id = listed.id group by 1, 2 order by 1, 2
"""
_WORDS = (
    "lower(coalesce(m.title, '') || ' ' || coalesce(m.project, '')"
    f" || ' ' || coalesce({ASK_SQL.format('m.session_token')}, '')"
    f" || ' ' || coalesce({OUTCOME_SQL.format('m.session_token')}, '')) like :word{{0}} escape '!'"
)
_PROJECT = (
    "(m.project = :project or m.project like :project_end escape '!'"
    " or m.project_key in (select value from json_each(:project_keys)))"
)
_REFERENCE = (
    "(m.session_id like :reference escape '!' or m.session_key like :reference escape '!'"
    " or m.session_token like :reference escape '!')"
)
# However many newer sessions begin with the same characters.
_WHOLE_FIRST = "max(case when :whole in (m.session_token, m.session_id, m.session_key) then 1 else 0 end) desc,"
# A sub-agent is listed under its parent; by itself only while its parent is not here.
_IS_TOP_LEVEL = """
    (m.parent_token is null or not exists (
        select 1 from artifacts p where p.session_token = m.parent_token and p.source_kind = 'manifest'
        and coalesce(p.parent_token, '') != m.session_token))
"""
_OLDEST_MANIFEST = """
    m.source_kind = 'manifest' and m.source_path = (select min(o.source_path) from artifacts o
    where o.session_token = m.session_token and o.source_kind = 'manifest')
"""

SELECT_INDEXED_TOKENS = """
    select session_token from artifacts where session_token in (select value from json_each(:tokens))
    union select session_token from artifacts where parent_token in (select value from json_each(:tokens))
    union select owner from book_entries where owner in (select value from json_each(:tokens))
    union select origin_token from book_entries where origin_token in (select value from json_each(:tokens))
"""
"""Selects those of the sessions `tokens` and their sub-agents that have rows, or entries in books."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What sessions are asked for: a harness, the first and last UTC day, words of title, ask, outcome and project.

    `project` is a path or its end; sessions of the projects `project_keys` are of it, too. `path` is a folder below a
    project's root: see `ArtifactRow`.
    """

    project: str | None = None
    project_keys: Sequence[str] = ()
    path: str | None = None
    harness: str = ""
    since: str = ""
    until: str = ""
    words: Sequence[str] = ()


ANY = SessionFilter()


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as lists show it: the values of its manifest and its newest sentence.

    `ask` is the first capture's, `outcome` the newest's, "" without one; the title is made of them.
    `parent_token` is that of the session that started it, a sub-agent; `sub_agents` counts those that it started.
    """

    session_id: str
    session_key: str | None
    session_token: str
    agent_id: str
    project: str | None
    harness: str
    title: str
    ask: str
    outcome: str
    started_at: str | None
    ended_at: str | None
    membership_ts: str
    memory_sentence: str
    manifest_path: str
    captures: int
    private: bool
    parent_token: str | None = None
    sub_agents: int = 0

    @property
    def is_trial(self) -> bool:
        """Whether the session is of a temporary folder or a test: kept, and not shown in search and memory."""
        return is_test_session(Identity(self.agent_id, self.session_id, self.session_key), self.project)


def build_list_statement(
    agent_id: str | None, limit: int, wanted: SessionFilter, reference: str | None, parent: str | None
) -> tuple[str, dict[str, object]]:
    """Return the statement of `Index.list_sessions` and its values. Its columns are the fields of `SessionRow`."""
    where, having, values = _build_conditions(agent_id, wanted)
    if reference is not None:
        where.append(_REFERENCE)
        whole = replace_surrogates(reference)
        values |= {"reference": f"{escape_like(whole)}%", "whole": whole}
    elif parent is None:
        where.append(_IS_TOP_LEVEL)
    if parent is not None:
        where.append("m.parent_token = :parent")
        values["parent"] = replace_surrogates(parent)
    first = "" if reference is None else _WHOLE_FIRST
    return _SESSIONS.format(where=" and ".join(where), having=having, first=first), {"limit": limit, **values}


def build_count_statement(agent_id: str | None, wanted: SessionFilter) -> tuple[str, dict[str, object]]:
    """Return the statement of `Index.count_sessions` and its values."""
    where, having, values = _build_conditions(agent_id, wanted)
    return _COUNTS.format(where=" and ".join((*where, _IS_TOP_LEVEL)), having=having), values


def _build_conditions(agent_id: str | None, wanted: SessionFilter) -> tuple[list[str], str, dict[str, object]]:
    """Return the conditions on the manifest's row, the one on the newest capture, and the values of both."""
    where, values = _build_scope(agent_id, wanted.project, wanted.project_keys)
    where, having = [_OLDEST_MANIFEST, *where], []
    if wanted.path:
        where.append(IN_FOLDER.format("m.session_token"))
        values["folder"] = build_folder_pattern(wanted.path)
    if wanted.harness:
        where.append("m.harness = :harness")
        values["harness"] = replace_surrogates(wanted.harness)
    for number, word in enumerate(wanted.words):
        where.append(_WORDS.format(number))
        values[f"word{number}"] = f"%{escape_like(replace_surrogates(word.lower()))}%"
    for name, sign, day in (("since", ">=", wanted.since), ("until", "<=", wanted.until)):
        if day:
            having.append(f"substr({_NEWEST}, 1, 10) {sign} :{name}")
            values[name] = day
    return where, " and ".join(having) or "1 = 1", values


def build_tokens_statement(
    agent_id: str | None, project: str | None, project_keys: Iterable[str]
) -> tuple[str, dict[str, object]]:
    """Return the statement of `Index.find_tokens` and its values."""
    where, values = _build_scope(agent_id, project, project_keys)
    return f"select distinct session_token from artifacts m where {' and '.join(where) or '1 = 1'}", values


def _build_scope(
    agent_id: str | None, project: str | None, project_keys: Iterable[str]
) -> tuple[list[str], dict[str, object]]:
    """Return the conditions on the rows `m` of an agent and a project, and their values."""
    where, values = list[str](), dict[str, object]()
    if agent_id is not None:
        where.append("m.agent_id = :agent")
        values["agent"] = replace_surrogates(agent_id)
    if project is not None:
        where.append(_PROJECT)
        project = replace_surrogates(project)
        keys = list(map(replace_surrogates, project_keys))
        values |= {"project": project, "project_end": f"%/{escape_like(project)}", "project_keys": keys}
    return where, values


def build_session_row(row: Sequence[Any]) -> SessionRow:
    """Return the session of a selected row."""
    values: dict[str, Any] = dict(zip((field.name for field in fields(SessionRow)), row, strict=True))
    values |= {name: values[name] or "" for name in ("ask", "outcome", "memory_sentence")}
    title = build_title(values["ask"], values["outcome"], values["title"])
    return SessionRow(**{**values, "title": title, "private": bool(values["private"])})
