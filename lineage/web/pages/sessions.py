"""Pages about sessions: all of them by day, one with its turns and lineage, search, and removal."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import groupby
from typing import Annotated, Any

from pydantic import Field

from lineage.app.changed_files import count_changed_since
from lineage.app.open_target import is_in_vault, locate_file
from lineage.app.request_model import OneOf
from lineage.core.base.book_paths import KINDS
from lineage.core.base.naming import SUMMARY
from lineage.core.search.query import ENTRY, SESSION
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.programs import PROGRAMS
from lineage.index import SessionFilter, SessionRow
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.search import session_view
from lineage.pipeline.search.search import LEXICAL, SearchResult, search
from lineage.web import charts, display, models
from lineage.web.api.sessions import Agent, FileKind, Folder, Project, SessionId, TurnNumber, name_agent
from lineage.web.links import SERVER
from lineage.web.pages import conversation, panels
from lineage.web.routes import POST, Page, TemplateView, WebCall
from lineage.workspace.book_folders import label_scopes
from lineage.workspace.lookup import find_newest_path
from lineage.workspace.projects import KnownProjects, locate_filter
from lineage.workspace.workspace import Workspace

PER_PAGE = 50
MAX_HITS = 30
MAX_WORDS = 8
MAX_TEXT = 300
MAX_PROJECTS = 12
MAX_LISTED = 100
MAX_PATH = 1_000
WHAT = (SESSION, ENTRY, *KINDS)
"""What a search is narrowed to: sessions, all that is remembered, or one kind of it."""
MAX_SUMMARY = 6_000
"""Characters of a summary on its session's page; it holds the last message in full."""
PART_CHARACTERS = 25_000
"""Of a text as it stands, on one page; each may become five when it is escaped."""

PartNumber = Annotated[int, Field(ge=1, le=100_000, description="Which part of a long text.")]


Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$", description="A UTC day, YYYY-MM-DD.")]


def _show_sessions(
    ws: Workspace, call: WebCall, *, agent: Agent = "all", project: Project = None, path: Folder = None,
    harness: str = "", since: Day = "", until: Day = "",
    text: Annotated[str, Field(max_length=MAX_TEXT)] = "",
    page: Annotated[int, Field(ge=1, le=10_000)] = 1,
) -> TemplateView:  # fmt: skip
    asked = {
        "agent": name_agent(agent) or "", "project": project or "", "path": path or "", "harness": harness,
        "since": since, "until": until, "text": text,
    }  # fmt: skip
    kept = {name: value for name, value in asked.items() if value}
    words = tuple(text.split()[:MAX_WORDS])
    wanted = locate_filter(ws, SessionFilter(project, (), path, harness, since, until, words))
    rows = ws.index.list_sessions(name_agent(agent), limit=page * PER_PAGE + 1, wanted=wanted)
    shown = rows[(page - 1) * PER_PAGE : page * PER_PAGE]
    labels = KnownProjects(ws, ws.index.list_projects()).label_paths()
    newest = rows[0].membership_ts if rows else ""
    counts = session_view.count_recent_sessions(ws, name_agent(agent), wanted, newest)
    period = charts.describe_period(counts.days[-1][0], ws.now)
    values = {
        "days": [(day, list(group)) for day, group in groupby(shown, key=lambda row: row.membership_ts[:10])],
        "activity": charts.build_activity(
            counts.days, lambda day: SERVER.home(**{**kept, "since": day, "until": day}), period
        ), "period": period,
        "heading": "Sessions", "projects": _list_projects(counts.projects, labels, kept),
        "agents": ws.index.list_agents(), "harnesses": ws.index.list_harnesses(), "asked": asked, "page": page,
        "names": labels, "all_projects": sorted(set(labels.values()))[:MAX_LISTED], "is_new": not kept and not rows,
        "newer": SERVER.home(**kept, page=page - 1) if page > 1 else "",
        "older": SERVER.home(**kept, page=page + 1) if len(rows) > page * PER_PAGE else "",
    }  # fmt: skip
    return TemplateView("sessions.html", values)


def _list_projects(
    counts: Mapping[str, int], labels: Mapping[str, str], kept: Mapping[str, str]
) -> list[tuple[str, str, int]]:
    """Return the address, the name and the sessions of the busiest projects."""
    by_label = Counter[str]()
    paths: dict[str, str] = {}
    for path, count in counts.items():
        if len(path) > MAX_PATH:
            continue
        by_label[labels.get(path, path)] += count
        paths.setdefault(labels.get(path, path), path)
    busiest = sorted(by_label.items(), key=lambda item: (-item[1], item[0]))[:MAX_PROJECTS]
    return [(SERVER.home(**{**kept, "project": paths[label]}), label, count) for label, count in busiest]


def _show_session(
    ws: Workspace, call: WebCall, *, session: SessionId, first: TurnNumber = 1, turn: str | None = None,
    only: Annotated[str, OneOf(conversation.ONLY)] = "", find: str = "", did: str = "",
) -> TemplateView:  # fmt: skip
    found = session_view.load_session_view(ws, session)
    turns = session_view.load_turns(ws, found.session)
    chosen = conversation.choose_turns(turns, only, find)
    page = session_view.find_turn_page(found.session, chosen, first=first, count=conversation.PER_PAGE, turn=turn)
    summary, token = _read_summary(ws, session), found.session.session_token
    shown, asked = display.cut_summary(summary), {"only": only, "find": find}
    starts = page_steps(page.first, page.total).items()
    values = {
        "session": found.session, "view": found, "graph": charts.build_lineage_graph(found, SERVER),
        "changed": count_changed_since(found.session, summary), "summary": shown[:MAX_SUMMARY],
        "is_summary_cut": len(shown) > MAX_SUMMARY,
        "page": page, "turns": conversation.show_turns(page.turns), "is_first": True,
        "steps": {name: SERVER.session(token, "turns", first=start, **asked) for name, start in starts},
        "only": only, "find": find, "requests": conversation.list_requests(turns),
        "edits": conversation.count_edits(turns),
        "given": ws.documents.recall_log.list_items(found.session.agent_id, found.session.session_id),
        "panels": panels.build_session_panels(ws, token), "scopes": panels.list_scopes(ws),
        "scope_names": panels.name_scopes(ws),
        "can_resume": found.session.harness in PROGRAMS, "vault_path": _locate_summary(ws, call, found.session),
        "back": f"/sessions/{token}", "did": did,
    }  # fmt: skip
    return TemplateView("session.html", values)


def _locate_summary(ws: Workspace, call: WebCall, session: SessionRow) -> str:
    """Return the address that opens the session's summary in Obsidian, "" where this machine has no such file."""
    path = find_newest_path(ws, session, SUMMARY)
    if path is None or not call.service.is_local:
        return ""
    try:
        file = locate_file(call.service.root, session_view.FileTarget(path))
    except NotFoundError:
        return ""
    return file.uri if is_in_vault(file.path) else ""


def _read_summary(ws: Workspace, reference: str) -> str:
    try:
        return session_view.load_session_file(ws, reference, "summary").text
    except NotFoundError:
        return ""


def page_steps(first: int, total: int) -> dict[str, int]:
    """Return the first turn of the first, the previous, the next and the last page, if they are others."""
    last = max(total - 1, 0) // PER_PAGE * PER_PAGE + 1
    steps = {"first": 1, "previous": first - PER_PAGE, "next": first + PER_PAGE, "last": last}
    is_there = {"first": first > 1, "previous": first > 1, "next": steps["next"] <= total, "last": first < last}
    return {name: max(start, 1) for name, start in steps.items() if is_there[name]}


def _show_search(
    ws: Workspace, call: WebCall, *, agent: Agent = "all", q: str = "",
    project: Annotated[str, Field(max_length=MAX_PATH, pattern=r'^[^"]*$')] = "",
    what: Annotated[str, OneOf(("", *WHAT))] = "", since: Day = "", until: Day = "",
) -> TemplateView:  # fmt: skip
    pairs = ws.index.list_projects()
    names = KnownProjects(ws, pairs).label_paths()
    asked = {"agent": name_agent(agent) or "", "project": project, "what": what, "since": since, "until": until}
    filters = {"project": f'"{project}"' * bool(project), "is": what, "since": since, "until": until}
    # What is typed comes last: of two filters of one name, the last one holds.
    text = " ".join([*(f"{key}:{value}" for key, value in filters.items() if value), q])
    found = search(ws, text, name_agent(agent), MAX_HITS) if text.strip() else SearchResult((), LEXICAL)
    values = {
        "query": q, "hits": models.dump_hits(ws, found.hits, q), "notes": found.notes, "names": names, "asked": asked,
        "is_asked": bool(text.strip()), "agents": ws.index.list_agents(), "all_what": WHAT,
        "all_projects": sorted(set(names.values()))[:MAX_LISTED], "scope_names": label_scopes(pairs, names),
    }  # fmt: skip
    return TemplateView("search.html", values)


def _show_file(
    ws: Workspace, call: WebCall, *, session: SessionId, kind: FileKind, part: PartNumber = 1
) -> TemplateView:
    file = session_view.load_session_file(ws, session, kind)
    find_part = partial(SERVER.file, file.session.session_token, kind)
    values = build_text_values(file.session, kind.capitalize(), file.path, file.text, part, find_part)
    return TemplateView("file.html", values)


def _show_turn(
    ws: Workspace, call: WebCall, *, session: SessionId, number: TurnNumber, part: PartNumber = 1
) -> TemplateView:
    page = session_view.load_turn_page(ws, session, first=number, count=1)
    if not page.turns:
        raise NotFoundError(f"session {page.session.session_id} has no turn {number}")
    (turn,) = page.turns
    texts = [line for line in (f"{turn.name} {turn.input}".strip(), turn.text) if line]
    texts[1:1] = [text for one in turn.parts for text in (one.label, one.as_text()) if text]
    find_part = partial(SERVER.turn, page.session.session_token, number)
    title, origin = f"Turn {number}", f"said by {turn.role}"
    values = build_text_values(page.session, title, origin, "\n\n".join(texts), part, find_part)
    return TemplateView("file.html", values)


def build_text_values(
    session: SessionRow, title: str, origin: str, text: str, part: int, find_part: Callable[..., str]
) -> dict[str, Any]:
    """Return the values of one part of a text as it stands: a whole transcript would make a page of megabytes."""
    text = display.show_overrides(text)
    parts = count_parts(text)
    shown = text[(part - 1) * PART_CHARACTERS : part * PART_CHARACTERS]
    steps = {
        "previous": find_part(part=part - 1) if part > 1 else "",
        "next": find_part(part=part + 1) if part < parts else "",
    }
    named = {"session": session, "title": title, "origin": origin, "text": shown}
    return {**named, "part": part, "parts": parts, **steps}


def count_parts(text: str) -> int:
    """Return how many parts a text has."""
    return max(1, -(-len(text) // PART_CHARACTERS))


def _show_removal(ws: Workspace, call: WebCall, *, session: SessionId) -> TemplateView:
    row = session_view.load_session_view(ws, session).session
    return TemplateView("remove.html", {"session": row, "receipt": remove(ws, session, reason="", dry_run=True)})


def _remove(ws: Workspace, call: WebCall, *, session: SessionId, reason: str = "", sure: str = "") -> TemplateView:
    if sure != "yes":
        raise InvalidInput("nothing was removed: this has to be confirmed", hint="go back and tick the box")
    return TemplateView("receipt.html", {"receipt": remove(ws, session, reason=reason)})


PAGES = (
    Page("/", _show_sessions),
    Page("/search", _show_search),
    Page("/sessions/{session}", _show_session),
    Page("/sessions/{session}/files/{kind}", _show_file),
    Page("/sessions/{session}/turns/{number}", _show_turn),
    Page("/sessions/{session}/remove", _show_removal),
    Page("/sessions/{session}/remove", _remove, POST),
)
