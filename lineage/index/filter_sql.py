"""SQL of a query's filters: `a` is an artifact, `e` an entry of a book, values are bound by name."""

import json
from typing import Any

from lineage.core.format.body import replace_surrogates
from lineage.core.search import query
from lineage.core.search.index_sql import AGENT_SCOPE_PREFIX, SHOWN_ARTIFACT, SHOWN_ENTRY
from lineage.core.search.query import Filters

SESSION_TOKEN_SQL = "iif(e.owner = '', e.origin_token, e.owner)"
"""The token of an entry's session, "" if it has none."""

_ENTRY_ONLY_STATES = {query.ENTRY, query.OPEN, query.DONE, query.PINNED, query.SUPERSEDED, query.ARCHIVED}
_OF_PROJECT_KEYS = "in (select value from json_each(:project_keys))"
_PROJECT = (
    "(lower({0}.project) = :project or lower({0}.project) like :project_end escape '!'"
    f" or {{0}}.project_key {_OF_PROJECT_KEYS})"
)
IN_FOLDER = (
    "exists (select 1 from artifacts f where (f.session_token = {0} or f.parent_token = {0})"
    " and lower(f.folders) like :folder escape '!')"
)
"""SQL: whether a session, given an expression of its token, or a sub-agent of it has to do with a folder."""
_KIND = "exists (select 1 from json_each(:kinds) where e.kind = value or e.kind like value || '/%')"
_SESSION = f"exists (select 1 from artifacts s where s.session_token = {SESSION_TOKEN_SQL} and {{}})"
_STATES = {
    query.OPEN: "e.done = 0",
    query.DONE: "e.done = 1",
    query.PINNED: "e.pinned = 1",
    query.SUPERSEDED: "e.standing = 0",
    query.ARCHIVED: "e.shelf != ''",
}


def escape_like(text: str) -> str:
    """Escape a text for `like … escape '!'`.

    >>> escape_like("100%_!")
    '100!%!_!!'
    """
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text


def build_folder_pattern(path: str) -> str:
    """Return the pattern of `IN_FOLDER` for a folder below the root of a project."""
    return f"%\n{escape_like(replace_surrogates(path).lower())}/%"


def build_artifact_condition(filters: Filters) -> str:
    """Return the condition on an artifact: visible, not private, and passed by the filters."""
    conditions = [SHOWN_ARTIFACT]
    if filters.agent:
        conditions.append("a.agent_id = :asked_agent")
    if filters.project:
        conditions.append(_PROJECT.format("a"))
    if filters.path:
        conditions.append(IN_FOLDER.format("a.session_token"))
    if filters.kinds:
        conditions.append("a.source_kind in (select value from json_each(:kinds))")
    if filters.since:
        conditions.append("a.membership_ts >= :since")
    if filters.until:
        conditions.append("a.membership_ts <= :until")
    if _ENTRY_ONLY_STATES.intersection(filters.states):
        conditions.append("false")
    return " and ".join(conditions)


def build_entry_condition(filters: Filters) -> str:
    """Return the condition on an entry: of no private or trial session, and passed by the filters."""
    conditions = [SHOWN_ENTRY]
    if filters.agent:
        of_agent = _SESSION.format("s.agent_id = :asked_agent")
        conditions.append(f"(e.scope = '{AGENT_SCOPE_PREFIX}' || :asked_agent or {of_agent})")
    if filters.project:
        of_session = _SESSION.format(_PROJECT.format("s"))
        conditions.append(f"(lower(e.scope) = 'project/' || :project or e.scope {_OF_PROJECT_KEYS} or {of_session})")
    if filters.path:
        conditions.append(IN_FOLDER.format(SESSION_TOKEN_SQL))
    if filters.kinds and query.ENTRY not in filters.kinds:
        conditions.append(_KIND)
    if filters.since:
        conditions.append("e.at >= :since")
    if filters.until:
        # Handwritten entries have no time.
        conditions.append("e.at <= :until and e.at != ''")
    if query.SESSION in filters.states:
        conditions.append("false")
    conditions += [_STATES[state] for state in filters.states if state in _STATES]
    return " and ".join(conditions)


def build_values(filters: Filters, agent_id: str | None) -> dict[str, Any]:
    """Return the bound values of the conditions."""
    project = replace_surrogates(filters.project or "").lower()
    return {
        "agent": replace_surrogates(agent_id) if agent_id is not None else None,
        "asked_agent": replace_surrogates(filters.agent or ""),
        "project": project,
        "project_end": f"%/{escape_like(project)}",
        "folder": build_folder_pattern(filters.path or ""),
        "project_keys": json.dumps([replace_surrogates(key) for key in filters.project_keys]),
        "kinds": json.dumps([replace_surrogates(kind) for kind in filters.kinds]),
        "since": filters.since,
        "until": filters.until,
    }
