"""Pages about sessions: all of them by day, one with its turns and lineage, search, and removal."""

from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from lineage.core.privacy import session_scope
from lineage.errors import InvalidInput, NotFoundError
from lineage.index import SessionRow
from lineage.pipeline.finding import find
from lineage.pipeline.house import House
from lineage.pipeline.lookup import status
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.viewing import KINDS, activity, file_of, turn_page, view
from lineage.web import pictures, shapes
from lineage.web.api.sessions import PROJECT, SESSION
from lineage.web.pages import panels
from lineage.web.pages.page import Page, Shown
from lineage.web.routes import POST, Call, Parameter

PER_PAGE = 50
MOST_FOUND = 30

_AGENT = Parameter(name="agent", about="The agent; `all` for every one.", default="all")
_DID = Parameter(name="did", about="What was done.")
_PAGE = Parameter(name="page", about="Which page.", kind=int, default=1, least=1, most=200)


def _home(house: House, call: Call) -> Shown:
    page, project = call.values["page"], call.text("project")
    rows = house.index.sessions(call.agent, project=project or None, limit=page * PER_PAGE + 1)
    shown = rows[(page - 1) * PER_PAGE : page * PER_PAGE]
    kept = {name: call.text(name) for name in ("agent", "project") if call.text(name) not in ("", "all")}
    return Shown(
        "sessions.html",
        {
            "days": _by_day(shown),
            "activity": pictures.activity(activity(house, call.agent)),
            "agents": house.index.agents(),
            "agent": call.text("agent"),
            "project": project,
            "page": page,
            "newer": f"/?{urlencode({**kept, 'page': page - 1})}" if page > 1 else "",
            "older": f"/?{urlencode({**kept, 'page': page + 1})}" if len(rows) > page * PER_PAGE else "",
        },
    )


def _by_day(rows: list[SessionRow]) -> list[tuple[str, list[SessionRow]]]:
    return [(date, list(group)) for date, group in groupby(rows, key=lambda row: row.membership_ts[:10])]


def _session(house: House, call: Call) -> Shown:
    reference, turn = call.text("session"), call.text("turn") or None
    found = view(house, reference)
    page = turn_page(house, reference, first=call.values["first"], count=PER_PAGE, turn=turn)
    scope = session_scope(found.session.session_token)
    return Shown(
        "session.html",
        {
            "session": found.session,
            "view": found,
            "graph": pictures.lineage(found),
            "summary": _summary(house, reference),
            "page": page,
            "steps": _steps(page.first, page.total),
            "panels": panels.of_session(house, scope),
            "scopes": panels.scopes(house),
            "back": f"/sessions/{found.session.session_token}",
            "did": call.text("did"),
        },
    )


def _summary(house: House, reference: str) -> str:
    try:
        return file_of(house, reference, "summary").text
    except NotFoundError:
        return ""


def _steps(first: int, total: int) -> dict[str, int]:
    """The first turns of the pages around; those that there are."""
    last = max(total - 1, 0) // PER_PAGE * PER_PAGE + 1
    steps = {"first": 1, "previous": first - PER_PAGE, "next": first + PER_PAGE, "last": last}
    is_there = {"first": first > 1, "previous": first > 1, "next": steps["next"] <= total, "last": first < last}
    return {name: max(start, 1) for name, start in steps.items() if is_there[name]}


def _file(house: House, call: Call) -> Shown:
    return Shown("file.html", {"file": file_of(house, call.text("session"), call.text("kind"))})


def _search(house: House, call: Call) -> Shown:
    query = call.text("q")
    if not query.strip():
        return Shown("search.html", {"query": query, "hits": [], "notes": []})
    found = find(house, query, call.agent, MOST_FOUND)
    return Shown("search.html", {"query": query, "hits": [shapes.hit(hit) for hit in found.hits], "notes": found.notes})


def _status(house: House, _: Call) -> Shown:
    return Shown("status.html", {"status": status(house)})


def _preview(house: House, call: Call) -> Shown:
    return Shown("remove.html", _removal(house, call))


def _removal(house: House, call: Call) -> dict[str, Any]:
    reference = call.text("session")
    return {"session": view(house, reference).session, "receipt": remove(house, reference, reason="", dry_run=True)}


def _remove(house: House, call: Call) -> Shown:
    if call.body.get("sure") != "yes":
        raise InvalidInput("nothing was removed: this has to be confirmed", hint="go back and tick the box")
    receipt = remove(house, call.text("session"), reason=call.body.get("reason", ""))
    return Shown("receipt.html", {"receipt": receipt})


PAGES: tuple[Page, ...] = (
    Page(path="/", act=_home, parameters=(_AGENT, PROJECT, _PAGE)),
    Page(path="/search", act=_search, parameters=(Parameter(name="q", about="The query."), _AGENT)),
    Page(path="/status", act=_status),
    Page(
        path="/sessions/{session}",
        act=_session,
        parameters=(
            SESSION,
            Parameter(name="first", about="The first turn.", kind=int, default=1, least=1, most=99_999_999),
            Parameter(name="turn", about="A turn by its id."),
            _DID,
        ),
    ),
    Page(
        path="/sessions/{session}/files/{kind}",
        act=_file,
        parameters=(SESSION, Parameter(name="kind", about="Which file.", required=True, choices=KINDS)),
    ),
    Page(path="/sessions/{session}/remove", act=_preview, parameters=(SESSION,)),
    Page(
        path="/sessions/{session}/remove",
        method=POST,
        act=_remove,
        parameters=(SESSION,),
        fields=("reason", "sure"),
    ),
)
