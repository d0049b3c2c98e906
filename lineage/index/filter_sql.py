"""The filters of a query as SQL: `a` is an artifact, `e` an entry of a book, values are bound by name."""

import json
from typing import Any

from lineage.core.books.entry import USER_STATED
from lineage.core.format.body import replace_surrogates
from lineage.core.search import query
from lineage.core.search.query import Filters
from lineage.index.books import AGENT_SCOPE_PREFIX
from lineage.index.privacy_sql import GLOBAL_SCOPE_SQL, build_privacy_condition

SESSION_TOKEN_SQL = "iif(e.owner = '', e.origin_token, e.owner)"

_ENTRY_ONLY_STATES = {query.ENTRY, query.OPEN, query.DONE, query.PINNED, query.SUPERSEDED, query.ARCHIVED}
_FROM_OTHER_AGENT = "exists (select 1 from artifacts s where s.session_token = e.origin_token and s.agent_id != :agent)"
_PROJECT = "(lower({0}.project) = :project or lower({0}.project) like :project_end escape '!')"
_STATES = {
    query.OPEN: "e.done = 0",
    query.DONE: "e.done = 1",
    query.PINNED: "e.pinned = 1",
    query.SUPERSEDED: "e.standing = 0",
    query.ARCHIVED: "e.shelf != ''",
}


def build_artifact_condition(filters: Filters) -> str:
    """What an artifact has to be: visible, not private, and what the filters say."""
    conditions = [
        f"a.visible = 1 and (a.private = 0 or may_reach({GLOBAL_SCOPE_SQL}, a.private, a.session_token))",
        "(:agent is null or a.agent_id = :agent)",
        *(["a.agent_id = :asked_agent"] if filters.agent else []),
        *([_PROJECT.format("a")] if filters.project else []),
        *(["a.source_kind in (select value from json_each(:kinds))"] if filters.kinds else []),
        *(["a.membership_ts >= :since"] if filters.since else []),
        *(["a.membership_ts <= :until"] if filters.until else []),
        *(["false"] if _ENTRY_ONLY_STATES.intersection(filters.states) else []),
    ]
    return " and ".join(conditions)


def build_entry_condition(filters: Filters) -> str:
    """What an entry has to be: not of a private or a trial session, nobody else's nor learned from another agent's
    session, and what the filters say."""
    public_owner = build_privacy_condition(GLOBAL_SCOPE_SQL, "e.owner")
    own_owner = _build_owner_condition("(:agent is null or agent_id = :agent)")
    of_asked_agent = _build_session_condition("s.agent_id = :asked_agent")
    conditions = [
        build_privacy_condition(GLOBAL_SCOPE_SQL, "e.origin_token"),
        f"(e.owner = '' or {public_owner} and {own_owner})",
        f"(:agent is null or e.scope not like '{AGENT_SCOPE_PREFIX}%' or e.scope = '{AGENT_SCOPE_PREFIX}' || :agent)",
        f"(:agent is null or e.trust = '{USER_STATED}' or not {_FROM_OTHER_AGENT})",
        *([f"(e.scope = '{AGENT_SCOPE_PREFIX}' || :asked_agent or {of_asked_agent})"] if filters.agent else []),
        *(
            [f"(lower(e.scope) = 'project/' || :project or {_build_session_condition(_PROJECT.format('s'))})"]
            if filters.project
            else []
        ),
        *([_build_kind_condition(filters)] if filters.kinds else []),
        *(["e.at >= :since"] if filters.since else []),
        *(["e.at <= :until and e.at != ''"] if filters.until else []),
        *(["false"] if query.SESSION in filters.states else []),
        *(_STATES[state] for state in filters.states if state in _STATES),
    ]
    return " and ".join(conditions)


def build_values(filters: Filters, agent_id: str | None) -> dict[str, Any]:
    """What the conditions are bound to."""
    project = replace_surrogates(filters.project or "").lower()
    escaped = project.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return {
        "agent": replace_surrogates(agent_id) if agent_id is not None else None,
        "asked_agent": replace_surrogates(filters.agent or ""),
        "project": project,
        "project_end": f"%/{escaped}",
        "kinds": json.dumps([replace_surrogates(kind) for kind in filters.kinds]),
        "since": filters.since,
        "until": filters.until,
    }


def _build_kind_condition(filters: Filters) -> str:
    if query.ENTRY in filters.kinds:
        return "true"
    return "exists (select 1 from json_each(:kinds) where e.kind = value or e.kind like value || '/%')"


def _build_owner_condition(condition: str) -> str:
    return f"exists (select 1 from artifacts where session_token = e.owner and visible = 1 and {condition})"


def _build_session_condition(condition: str) -> str:
    return f"exists (select 1 from artifacts s where s.session_token = {SESSION_TOKEN_SQL} and {condition})"
