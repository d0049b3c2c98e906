"""Sessions: lists, one with its turns and lineage, search, context, events of harnesses, and removal."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from lineage.core.capture.request import COMPACTION, SESSION_END, parse_request
from lineage.errors import InvalidInput
from lineage.pipeline.capture.session import REFUSED
from lineage.pipeline.ingest.checkpoints import load_newest_checkpoint, save_checkpoint
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.search import session_view
from lineage.pipeline.search.search import search
from lineage.web import models
from lineage.web.routes import GET, LARGE_BODY, POST, Reply, Route, RouteParameter, WebCall
from lineage.web.schema import BOOLEAN, INTEGER, TEXT, Schema, list_of, nullable, record
from lineage.workspace.book_reader import BookReader
from lineage.workspace.projects import list_sessions
from lineage.workspace.workspace import Workspace

AGENT = RouteParameter("agent", "The agent; `all` for every one.", default="default")
SESSION = RouteParameter("session", "A session id, key or token, or an unambiguous prefix of one.", required=True)
PROJECT = RouteParameter("project", "A project: a folder of it, its name, or `owner/name`.")
PATH = RouteParameter("path", "A folder below a project's root: of sessions that ran or had files there.")
_LIMIT = RouteParameter("limit", "How many at most.", kind=int, default=50, minimum=1, maximum=1000)
FILE_KIND = RouteParameter("kind", "Which file.", required=True, choices=session_view.KINDS)
_REFUSED_STATUS = {409: "The session was removed, and is refused. The object is the same."}


def _list_sessions(ws: Workspace, call: WebCall) -> Any:
    project, path = call.text("project") or None, call.text("path") or None
    rows = list_sessions(ws, call.agent, project=project, path=path, limit=call.values["limit"])
    return {"sessions": [asdict(row) for row in rows]}


def _list_turns(ws: Workspace, call: WebCall) -> Any:
    first, count = call.values["first"], call.values["count"]
    page = session_view.load_turn_page(ws, call.text("session"), first=first, count=count)
    turns = [turn.as_json() for turn in page.turns]
    return {"session": asdict(page.session), "first": page.first, "total": page.total, "turns": turns}


def _get_file(ws: Workspace, call: WebCall) -> Any:
    file = session_view.load_session_file(ws, call.text("session"), call.text("kind"))
    return {"session": asdict(file.session), "kind": file.kind, "path": file.path, "text": file.text}


def _search(ws: Workspace, call: WebCall) -> Any:
    query = call.text("q")
    found = search(ws, query, call.agent, call.values["limit"])
    hits = [models.dump_hit(hit) for hit in found.hits]
    return {"query": query, "mode": found.mode, "notes": list(found.notes), "results": hits}


def _get_context(ws: Workspace, call: WebCall) -> Any:
    if call.agent is None:
        raise InvalidInput("a context is one agent's", hint="name the agent")
    texts = {name: call.text(name) or None for name in ("project", "query", "session")}
    asked = ContextRequest(agent_id=call.agent, budget=call.values["budget"], **texts)
    knowledge = BookReader(ws, call.agent)
    block = build_context(ws, asked, knowledge)
    sections = [asdict(section) for section in block.sections]
    told = {"text": block.text, "tokens": block.tokens, "budget": block.budget, "sections": sections}
    return {**told, "unread": knowledge.unreadable_paths}


def _get_activity(ws: Workspace, call: WebCall) -> Any:
    days = session_view.count_daily_captures(ws, call.agent)
    return {"days": [{"day": day, "captures": count} for day, count in days]}


def _remove(ws: Workspace, call: WebCall) -> Any:
    reason, again = call.body.get("reason", ""), call.body.get("again", False)
    return asdict(remove(ws, call.text("session"), reason=reason, again=again))


def _run_flow(flow: str, ws: Workspace, call: WebCall) -> Any:
    """Run session end or compaction. A file is read for a local client only; others send the transcript."""
    if call.body.get("transcript_path") and not call.service.is_local:
        raise InvalidInput("transcript_path is a file of this machine", hint="give the turns as `transcript`")
    outcome = run_capture(ws, parse_request(flow, call.body, agent_id=None, now=ws.now))
    return Reply(outcome.as_json(), 409 if outcome.status == REFUSED else 200)


def _get_checkpoint(ws: Workspace, call: WebCall) -> Any:
    found = load_newest_checkpoint(ws, call.text("agent"), call.text("project") or None)
    return {"checkpoint": found.as_json() if found else None}


def _save_checkpoint(ws: Workspace, call: WebCall) -> Any:
    body = call.body
    saved = save_checkpoint(
        ws,
        agent_id=body.get("agent_id", "default"),
        session_id=body["session_id"],
        harness=body["harness"],
        project=body.get("project"),
        raw_messages=[(one["role"], one["text"], one.get("at")) for one in body["messages"]],
    )
    return {"checkpoint": saved.as_json()}


_TURN: Schema = {"anyOf": [TEXT, list_of({"type": "object"}), {"type": "object"}]}
_FLOW: Mapping[str, Schema] = {
    **{name: nullable(TEXT) for name in ("transcript_path", "session_key", "agent_id", "project", "cwd", "lane")},
    **{name: nullable(TEXT) for name in ("started_at", "ended_at", "captured_at", "reason", "summary", "trigger")},
    "transcript": nullable(_TURN), "private": BOOLEAN, "data": BOOLEAN,
}  # fmt: skip
_SESSION_END_BODY = record({"harness": TEXT, "session_id": TEXT}, _FLOW)
_COMPACTION_BODY = record({"harness": TEXT, "session_id": TEXT, "summary": TEXT}, {**_FLOW, "summary": TEXT})
_SECTION_COUNTS = dict.fromkeys(("tokens", "cap", "shown", "of"), INTEGER)
_SECTION = record({"name": TEXT, **_SECTION_COUNTS, "cut": BOOLEAN, "dropped": BOOLEAN})
_CONTEXT_RESPONSE = record(
    {"text": TEXT, "tokens": INTEGER, "budget": INTEGER, "sections": list_of(_SECTION), "unread": list_of(TEXT)}
)

ROUTES = (
    Route(GET, "/sessions", "listSessions", "Sessions, newest first, each with its sentence.", run=_list_sessions,
        parameters=(AGENT, PROJECT, PATH, _LIMIT), response=record({"sessions": list_of(models.SESSION)})),
    Route(GET, "/sessions/{session}", "getSession", "A session and its lineage: captures, compactions, forks.",
        parameters=(SESSION,), response=models.VIEW,
        run=lambda ws, call: models.dump_view(session_view.load_session_view(ws, call.text("session")))),
    Route(GET, "/sessions/{session}/turns", "getTurns", "Some of a session's turns, by number.",
        parameters=(
            SESSION,
            RouteParameter("first", "The first one's number.", kind=int, default=1, minimum=1, maximum=99_999_999),
            RouteParameter("count", "How many at most.", kind=int, default=50, minimum=1, maximum=500),
        ),
        response=record({"session": models.SESSION, "first": INTEGER, "total": INTEGER, "turns": list_of(models.TURN)}),
        run=_list_turns),
    Route(GET, "/sessions/{session}/files/{kind}", "getFile", "The newest file of a kind, its body as it stands.",
        parameters=(SESSION, FILE_KIND),
        response=record({"session": models.SESSION, "kind": TEXT, "path": TEXT, "text": TEXT}), run=_get_file),
    Route(GET, "/sessions/{session}/removal", "previewRemoval", "What a removal would remove. Nothing is removed.",
        parameters=(SESSION,), response=models.RECEIPT,
        run=lambda ws, call: asdict(remove(ws, call.text("session"), reason="", dry_run=True))),
    Route(POST, "/sessions/{session}/removal", "removeSession",
        "Remove a session for good. Gives the receipt; `again` deletes what came back of it.",
        parameters=(SESSION,), body=record({"reason": TEXT}, {"again": BOOLEAN}), response=models.RECEIPT, run=_remove),
    Route(POST, "/session-end", "endSession",
        "Capture a session that ended. Running it again for the same end changes nothing.",
        body=_SESSION_END_BODY, max_bytes=LARGE_BODY, response=models.OUTCOME,
        run=partial(_run_flow, SESSION_END), resumes=False, statuses=_REFUSED_STATUS),
    Route(POST, "/compaction", "keepCompaction", "Keep the summary of a compaction.",
        body=_COMPACTION_BODY, max_bytes=LARGE_BODY, response=models.OUTCOME,
        run=partial(_run_flow, COMPACTION), resumes=False, statuses=_REFUSED_STATUS),
    Route(GET, "/checkpoint", "getCheckpoint",
        "The checkpoint that the agent's next session would be told of, null for none.",
        parameters=(AGENT, PROJECT), response=record({"checkpoint": nullable(models.CHECKPOINT)}), run=_get_checkpoint),
    Route(POST, "/checkpoint", "saveCheckpoint",
        "Keep the last messages of a session that goes on, in place of an older checkpoint of it.",
        body=record(
            {"session_id": TEXT, "harness": TEXT, "messages": {**list_of(models.MESSAGE), "maxItems": 1000}},
            {"agent_id": TEXT, "project": nullable(TEXT)},
        ), response=record({"checkpoint": models.CHECKPOINT}), run=_save_checkpoint),
    Route(GET, "/search", "search", "Sessions and entries of books that a query finds, best first.",
        parameters=(
            RouteParameter("q", "The query, as `lineage search` takes it.", required=True), AGENT,
            RouteParameter("limit", "How many at most.", kind=int, default=10, minimum=1, maximum=100),
        ), response=record({"query": TEXT, "mode": TEXT, "notes": list_of(TEXT), "results": list_of(models.HIT)}),
        run=_search),
    Route(GET, "/context", "getContext", "What a new session is told, within a budget of tokens.",
        parameters=(
            AGENT, PROJECT, RouteParameter("query", "What it is about."),
            RouteParameter("session", "The running session, by token or id."),
            RouteParameter("budget", "The most tokens it may cost.", kind=int, minimum=0, maximum=1_000_000),
        ), response=_CONTEXT_RESPONSE, run=_get_context),
    Route(GET, "/activity", "getActivity", "Captures on each of the last 30 days, UTC.",
        parameters=(AGENT,), response=record({"days": list_of(record({"day": TEXT, "captures": INTEGER}))}),
        run=_get_activity),
)  # fmt: skip
