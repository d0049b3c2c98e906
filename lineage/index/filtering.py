"""The filters of a query as SQL: `a` is an artifact, `e` an entry of a book, values are bound by name."""

import json
from typing import Any

from lineage.core import query
from lineage.core.body import cleaned
from lineage.core.entry import USER_STATED
from lineage.core.query import Filters
from lineage.index.books import AGENT
from lineage.index.gate import EVERYWHERE, reaches

SPEAKER = "iif(e.owner = '', e.origin_token, e.owner)"

_OF_ENTRIES = {query.ENTRY, query.OPEN, query.DONE, query.PINNED, query.SUPERSEDED, query.ARCHIVED}
_ANOTHERS = "exists (select 1 from artifacts s where s.session_token = e.origin_token and s.agent_id != :agent)"
_PROJECT = "(lower({0}.project) = :project or lower({0}.project) like :project_end escape '!')"
_STATES = {
    query.OPEN: "e.done = 0",
    query.DONE: "e.done = 1",
    query.PINNED: "e.pinned = 1",
    query.SUPERSEDED: "e.standing = 0",
    query.ARCHIVED: "e.shelf != ''",
}


def of_artifacts(filters: Filters) -> str:
    """What an artifact has to be: visible, not private, and what the filters say."""
    conditions = [
        f"a.visible = 1 and (a.private = 0 or may_reach({EVERYWHERE}, a.private, a.session_token))",
        "(:agent is null or a.agent_id = :agent)",
        *(["a.agent_id = :asked_agent"] if filters.agent else []),
        *([_PROJECT.format("a")] if filters.project else []),
        *(["a.source_kind in (select value from json_each(:kinds))"] if filters.kinds else []),
        *(["a.membership_ts >= :since"] if filters.since else []),
        *(["a.membership_ts <= :until"] if filters.until else []),
        *(["false"] if _OF_ENTRIES.intersection(filters.states) else []),
    ]
    return " and ".join(conditions)


def of_entries(filters: Filters) -> str:
    """What an entry has to be: not of a private or a trial session, nobody else's nor learned from another agent's
    session, and what the filters say."""
    conditions = [
        reaches(EVERYWHERE, "e.origin_token"),
        f"(e.owner = '' or {reaches(EVERYWHERE, 'e.owner')} and {_owned('(:agent is null or agent_id = :agent)')})",
        f"(:agent is null or e.scope not like '{AGENT}%' or e.scope = '{AGENT}' || :agent)",
        f"(:agent is null or e.trust = '{USER_STATED}' or not {_ANOTHERS})",
        *(
            [f"(e.scope = '{AGENT}' || :asked_agent or {_spoken('s.agent_id = :asked_agent')})"]
            if filters.agent
            else []
        ),
        *([f"(lower(e.scope) = 'project/' || :project or {_spoken(_PROJECT.format('s'))})"] if filters.project else []),
        *([_kinds(filters)] if filters.kinds else []),
        *(["e.at >= :since"] if filters.since else []),
        *(["e.at <= :until and e.at != ''"] if filters.until else []),
        *(["false"] if query.SESSION in filters.states else []),
        *(_STATES[state] for state in filters.states if state in _STATES),
    ]
    return " and ".join(conditions)


def values(filters: Filters, agent_id: str | None) -> dict[str, Any]:
    """What the conditions are bound to."""
    project = cleaned(filters.project or "").lower()
    escaped = project.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return {
        "agent": cleaned(agent_id) if agent_id is not None else None,
        "asked_agent": cleaned(filters.agent or ""),
        "project": project,
        "project_end": f"%/{escaped}",
        "kinds": json.dumps([cleaned(kind) for kind in filters.kinds]),
        "since": filters.since,
        "until": filters.until,
    }


def _kinds(filters: Filters) -> str:
    if query.ENTRY in filters.kinds:
        return "true"
    return "exists (select 1 from json_each(:kinds) where e.kind = value or e.kind like value || '/%')"


def _owned(condition: str) -> str:
    return f"exists (select 1 from artifacts where session_token = e.owner and visible = 1 and {condition})"


def _spoken(condition: str) -> str:
    return f"exists (select 1 from artifacts s where s.session_token = {SPEAKER} and {condition})"
