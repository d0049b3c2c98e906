"""Pages about sessions: all of them by day, one with its turns and lineage, search, and removal."""

from itertools import groupby
from typing import Annotated
from urllib.parse import urlencode

from pydantic import Field

from lineage.core.base.book_paths import session_scope
from lineage.errors import InvalidInput, NotFoundError
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.search import session_view
from lineage.pipeline.search.search import search
from lineage.web import charts, models
from lineage.web.api.sessions import Agent, FileKind, Folder, Project, SessionId, TurnNumber, name_agent
from lineage.web.pages import panels
from lineage.web.routes import POST, Page, TemplateView, WebCall
from lineage.workspace.lookup import read_status
from lineage.workspace.projects import KnownProjects, list_sessions
from lineage.workspace.workspace import Workspace

PER_PAGE = 50
MAX_HITS = 30


def _show_sessions(
    ws: Workspace, call: WebCall, *, agent: Agent = "all", project: Project = None, path: Folder = None,
    page: Annotated[int, Field(ge=1, le=200)] = 1,
) -> TemplateView:  # fmt: skip
    rows = list_sessions(ws, name_agent(agent), project=project, path=path, limit=page * PER_PAGE + 1)
    shown = rows[(page - 1) * PER_PAGE : page * PER_PAGE]
    named = {"agent": name_agent(agent), "project": project, "path": path}
    kept = {name: value for name, value in named.items() if value}
    values = {
        "days": [(day, list(group)) for day, group in groupby(shown, key=lambda row: row.membership_ts[:10])],
        "activity": charts.build_activity(session_view.count_daily_captures(ws, name_agent(agent))),
        "agents": ws.index.list_agents(), "agent": agent, "project": project or "",
        "path": path or "", "page": page,
        "names": KnownProjects(ws, ws.index.list_projects()).label_paths(),
        "newer": f"/?{urlencode({**kept, 'page': page - 1})}" if page > 1 else "",
        "older": f"/?{urlencode({**kept, 'page': page + 1})}" if len(rows) > page * PER_PAGE else "",
    }  # fmt: skip
    return TemplateView("sessions.html", values)


def _show_session(
    ws: Workspace, call: WebCall, *, session: SessionId, first: TurnNumber = 1, turn: str | None = None, did: str = ""
) -> TemplateView:
    found = session_view.load_session_view(ws, session)
    page = session_view.load_turn_page(ws, session, first=first, count=PER_PAGE, turn=turn)
    values = {
        "session": found.session, "view": found, "graph": charts.build_lineage_graph(found),
        "summary": _read_summary(ws, session), "page": page, "steps": _page_steps(page.first, page.total),
        "panels": panels.build_session_panels(ws, session_scope(found.session.session_token)),
        "scopes": panels.list_scopes(ws), "back": f"/sessions/{found.session.session_token}", "did": did,
    }  # fmt: skip
    return TemplateView("session.html", values)


def _read_summary(ws: Workspace, reference: str) -> str:
    try:
        return session_view.load_session_file(ws, reference, "summary").text
    except NotFoundError:
        return ""


def _page_steps(first: int, total: int) -> dict[str, int]:
    """Return the first turn of the previous and of the next page, if they exist."""
    last = max(total - 1, 0) // PER_PAGE * PER_PAGE + 1
    steps = {"first": 1, "previous": first - PER_PAGE, "next": first + PER_PAGE, "last": last}
    is_there = {"first": first > 1, "previous": first > 1, "next": steps["next"] <= total, "last": first < last}
    return {name: max(start, 1) for name, start in steps.items() if is_there[name]}


def _show_search(ws: Workspace, call: WebCall, *, agent: Agent = "all", q: str = "") -> TemplateView:
    if not q.strip():
        return TemplateView("search.html", {"query": q, "hits": [], "notes": []})
    found = search(ws, q, name_agent(agent), MAX_HITS)
    hits = models.dump_hits(ws, found.hits, q)
    names = KnownProjects(ws, ws.index.list_projects()).label_paths()
    return TemplateView("search.html", {"query": q, "hits": hits, "notes": found.notes, "names": names})


def _show_file(ws: Workspace, call: WebCall, *, session: SessionId, kind: FileKind) -> TemplateView:
    file = session_view.load_session_file(ws, session, kind)
    return TemplateView("file.html", {"file": file})


def _show_removal(ws: Workspace, call: WebCall, *, session: SessionId) -> TemplateView:
    row = session_view.load_session_view(ws, session).session
    return TemplateView("remove.html", {"session": row, "receipt": remove(ws, session, reason="", dry_run=True)})


def _show_status(ws: Workspace, call: WebCall) -> TemplateView:
    return TemplateView("status.html", {"status": read_status(ws)})


def _remove(ws: Workspace, call: WebCall, *, session: SessionId, reason: str = "", sure: str = "") -> TemplateView:
    if sure != "yes":
        raise InvalidInput("nothing was removed: this has to be confirmed", hint="go back and tick the box")
    return TemplateView("receipt.html", {"receipt": remove(ws, session, reason=reason)})


PAGES = (
    Page("/", _show_sessions),
    Page("/search", _show_search),
    Page("/status", _show_status),
    Page("/sessions/{session}", _show_session),
    Page("/sessions/{session}/files/{kind}", _show_file),
    Page("/sessions/{session}/remove", _show_removal),
    Page("/sessions/{session}/remove", _remove, POST),
)
