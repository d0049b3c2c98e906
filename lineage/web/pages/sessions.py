"""Pages about sessions: all of them by day, one with its turns and lineage, search, and removal."""

from itertools import groupby
from urllib.parse import urlencode

from lineage.core.base.book_paths import session_scope
from lineage.errors import InvalidInput, NotFoundError
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.search import session_view
from lineage.pipeline.search.search import search
from lineage.web import charts, models
from lineage.web.api.sessions import FILE_KIND, PATH, PROJECT, SESSION
from lineage.web.pages import panels
from lineage.web.routes import POST, Page, RouteParameter, TemplateView, WebCall
from lineage.workspace.lookup import read_status
from lineage.workspace.projects import KnownProjects, list_sessions
from lineage.workspace.workspace import Workspace

PER_PAGE = 50
MAX_HITS = 30

_AGENT = RouteParameter("agent", "The agent; `all` for every one.", default="all")
_FIRST = RouteParameter("first", "The first turn.", kind=int, default=1, minimum=1, maximum=99_999_999)
_TURN = RouteParameter("turn", "A turn by its id.")
_DID = RouteParameter("did", "What was done.")
_PAGE = RouteParameter("page", "Which page.", kind=int, default=1, minimum=1, maximum=200)


def _show_sessions(ws: Workspace, call: WebCall) -> TemplateView:
    page, project, path = call.values["page"], call.text("project"), call.text("path")
    rows = list_sessions(ws, call.agent, project=project or None, path=path or None, limit=page * PER_PAGE + 1)
    shown = rows[(page - 1) * PER_PAGE : page * PER_PAGE]
    kept = {name: call.text(name) for name in ("agent", "project", "path") if call.text(name) not in ("", "all")}
    values = {
        "days": [(day, list(group)) for day, group in groupby(shown, key=lambda row: row.membership_ts[:10])],
        "activity": charts.build_activity(session_view.count_daily_captures(ws, call.agent)),
        "agents": ws.index.list_agents(), "agent": call.text("agent"), "project": project, "path": path, "page": page,
        "names": KnownProjects(ws, ws.index.list_projects()).label_paths(),
        "newer": f"/?{urlencode({**kept, 'page': page - 1})}" if page > 1 else "",
        "older": f"/?{urlencode({**kept, 'page': page + 1})}" if len(rows) > page * PER_PAGE else "",
    }  # fmt: skip
    return TemplateView("sessions.html", values)


def _show_session(ws: Workspace, call: WebCall) -> TemplateView:
    reference, turn = call.text("session"), call.text("turn") or None
    found = session_view.load_session_view(ws, reference)
    page = session_view.load_turn_page(ws, reference, first=call.values["first"], count=PER_PAGE, turn=turn)
    values = {
        "session": found.session, "view": found, "graph": charts.build_lineage_graph(found),
        "summary": _read_summary(ws, reference), "page": page, "steps": _page_steps(page.first, page.total),
        "panels": panels.build_session_panels(ws, session_scope(found.session.session_token)),
        "scopes": panels.list_scopes(ws), "back": f"/sessions/{found.session.session_token}", "did": call.text("did"),
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


def _show_search(ws: Workspace, call: WebCall) -> TemplateView:
    query = call.text("q")
    if not query.strip():
        return TemplateView("search.html", {"query": query, "hits": [], "notes": []})
    found = search(ws, query, call.agent, MAX_HITS)
    hits = [models.dump_hit(hit) for hit in found.hits]
    names = KnownProjects(ws, ws.index.list_projects()).label_paths()
    return TemplateView("search.html", {"query": query, "hits": hits, "notes": found.notes, "names": names})


def _show_file(ws: Workspace, call: WebCall) -> TemplateView:
    file = session_view.load_session_file(ws, call.text("session"), call.text("kind"))
    return TemplateView("file.html", {"file": file})


def _show_removal(ws: Workspace, call: WebCall) -> TemplateView:
    reference = call.text("session")
    session = session_view.load_session_view(ws, reference).session
    receipt = remove(ws, reference, reason="", dry_run=True)
    return TemplateView("remove.html", {"session": session, "receipt": receipt})


def _remove(ws: Workspace, call: WebCall) -> TemplateView:
    if call.body.get("sure") != "yes":
        raise InvalidInput("nothing was removed: this has to be confirmed", hint="go back and tick the box")
    receipt = remove(ws, call.text("session"), reason=call.body.get("reason", ""))
    return TemplateView("receipt.html", {"receipt": receipt})


PAGES: tuple[Page, ...] = (
    Page("/", _show_sessions, parameters=(_AGENT, PROJECT, PATH, _PAGE)),
    Page("/search", _show_search, parameters=(RouteParameter("q", "The query."), _AGENT)),
    Page("/status", lambda ws, _: TemplateView("status.html", {"status": read_status(ws)})),
    Page("/sessions/{session}", _show_session, parameters=(SESSION, _FIRST, _TURN, _DID)),
    Page("/sessions/{session}/files/{kind}", _show_file, parameters=(SESSION, FILE_KIND)),
    Page("/sessions/{session}/remove", _show_removal, parameters=(SESSION,)),
    Page("/sessions/{session}/remove", method=POST, run=_remove, parameters=(SESSION,), fields=("reason", "sure")),
)
