"""Sessions: lists, one with its turns and lineage, search, context, events of harnesses, and removal."""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from lineage.app.request_model import OneOf, RequestModel
from lineage.core.capture.request import COMPACTION, SESSION_END, parse_request
from lineage.errors import InvalidInput
from lineage.index import SessionFilter
from lineage.pipeline.capture.session import REFUSED, CaptureResult
from lineage.pipeline.ingest.checkpoints import load_newest_checkpoint, save_checkpoint
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.remove import RemovalReceipt, remove
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.search import session_view
from lineage.pipeline.search.search import search
from lineage.web import models
from lineage.web.routes import GET, LARGE_BODY, POST, Reply, Route, WebCall
from lineage.workspace.book_reader import BookReader
from lineage.workspace.projects import list_sessions
from lineage.workspace.workspace import Workspace

_REFUSED_STATUS = {409: "The session was removed, and is refused. The object is the same."}

Project = Annotated[str | None, Field(description="A project: a folder of it, its name, or `owner/name`.")]
Folder = Annotated[
    str | None, Field(description="A folder below a project's root: of sessions that ran or had files there.")
]
Agent = Annotated[str, Field(description="The agent; `all` for every one.")]
SessionId = Annotated[str, Field(description="A session's id, key or short id, or the beginning of one.")]
FileKind = Annotated[str, OneOf(session_view.KINDS), Field(description="Which file.")]
Tokens = Annotated[int, Field(ge=0, le=1_000_000)]
TurnNumber = Annotated[int, Field(ge=1, le=99_999_999, description="The first one's number.")]


def name_agent(agent: str) -> str | None:
    """Return the agent of the wanted sessions, None for all agents."""
    return None if agent == "all" else agent


class EndSession(RequestModel):
    """The end of a session, as harnesses report it."""

    harness: str
    session_id: str
    transcript: str | dict[Any, Any] | list[dict[Any, Any]] | None = None
    transcript_path: str | None = None
    session_key: str | None = None
    agent_id: str | None = None
    project: str | None = None
    cwd: str | None = None
    lane: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    captured_at: str | None = None
    reason: str | None = None
    summary: str | None = None
    trigger: str | None = None
    private: bool = False
    data: bool = False


class KeepCompaction(EndSession):
    """A compaction's summary."""

    summary: str


class CheckpointMessage(RequestModel):
    """A message of a person or an agent."""

    role: str
    text: str
    at: str | None = None


def _list_sessions(
    ws: Workspace, call: WebCall, *, agent: Agent = "default", project: Project = None, path: Folder = None,
    limit: Annotated[int, Field(ge=1, le=1000, description="How many at most.")] = 50,
) -> Any:  # fmt: skip
    rows = list_sessions(ws, name_agent(agent), limit=limit, wanted=SessionFilter(project=project, path=path))
    return {"sessions": [asdict(row) for row in rows]}


def _get_session(ws: Workspace, call: WebCall, *, session: SessionId) -> Any:
    return models.dump_view(session_view.load_session_view(ws, session))


def _list_turns(
    ws: Workspace, call: WebCall, *, session: SessionId, first: TurnNumber = 1,
    count: Annotated[int, Field(ge=1, le=500, description="How many at most.")] = 50,
) -> Any:  # fmt: skip
    page = session_view.load_turn_page(ws, session, first=first, count=count)
    turns = [turn.as_json() for turn in page.turns]
    return {"session": asdict(page.session), "first": page.first, "total": page.total, "turns": turns}


def _get_file(ws: Workspace, call: WebCall, *, session: SessionId, kind: FileKind) -> Any:
    file = session_view.load_session_file(ws, session, kind)
    return {"session": asdict(file.session), "kind": file.kind, "path": file.path, "text": file.text}


def _search(
    ws: Workspace, call: WebCall, *, agent: Agent = "default",
    q: Annotated[str, Field(description="The query, as `lineage search` takes it.")],
    limit: Annotated[int, Field(ge=1, le=100, description="How many at most.")] = 10,
) -> Any:  # fmt: skip
    found = search(ws, q, name_agent(agent), limit)
    hits = models.dump_hits(ws, found.hits, q)
    return {"query": q, "mode": found.mode, "notes": list(found.notes), "results": hits}


def _get_context(
    ws: Workspace, call: WebCall, *, agent: Agent = "default", project: Project = None,
    query: Annotated[str | None, Field(description="What it is about.")] = None,
    session: Annotated[str | None, Field(description="The running session, by its id or short id.")] = None,
    budget: Annotated[Tokens | None, Field(description="The most tokens it may cost.")] = None,
) -> Any:  # fmt: skip
    if name_agent(agent) is None:
        raise InvalidInput("a context is one agent's", hint="name the agent")
    knowledge = BookReader(ws, agent)
    asked = ContextRequest(agent_id=agent, project=project, query=query, session=session, budget=budget)
    block = build_context(ws, asked, knowledge)
    sections = [asdict(section) for section in block.sections]
    told = {"text": block.text, "tokens": block.tokens, "budget": block.budget, "sections": sections}
    return {**told, "unread": knowledge.unreadable_paths}


def _get_activity(ws: Workspace, call: WebCall, *, agent: Agent = "default") -> Any:
    days = session_view.count_daily_captures(ws, name_agent(agent))
    return {"days": [{"day": day, "captures": count} for day, count in days]}


def _preview_removal(ws: Workspace, call: WebCall, *, session: SessionId) -> Any:
    return asdict(remove(ws, session, reason="", dry_run=True))


def _remove(ws: Workspace, call: WebCall, *, session: SessionId, reason: str, again: bool = False) -> Any:
    return asdict(remove(ws, session, reason=reason, again=again))


def _run_flow(flow: str, ws: Workspace, call: WebCall, **given: Any) -> Any:
    """Run session end or compaction. A file is read for a local client only; others send the transcript."""
    if given.get("transcript_path") and not call.service.is_local:
        raise InvalidInput("transcript_path is a file of this machine", hint="give the turns as `transcript`")
    outcome = run_capture(ws, parse_request(flow, given, agent_id=None, now=ws.now))
    return Reply(outcome.as_json(), 409 if outcome.status == REFUSED else 200)


def _get_checkpoint(ws: Workspace, call: WebCall, *, agent: Agent = "default", project: Project = None) -> Any:
    found = load_newest_checkpoint(ws, agent, project)
    return {"checkpoint": found.as_json() if found else None}


def _save_checkpoint(
    ws: Workspace, call: WebCall, *, session_id: str, harness: str, agent_id: str = "default",
    project: str | None = None, messages: Annotated[list[CheckpointMessage], Field(max_length=1000)],
) -> Any:  # fmt: skip
    raw_messages = [(one.role, one.text, one.at) for one in messages]
    saved = save_checkpoint(
        ws, agent_id=agent_id, session_id=session_id, harness=harness, project=project, raw_messages=raw_messages
    )
    return {"checkpoint": saved.as_json()}


ROUTES: tuple[Route, ...] = (
    Route(GET, "/sessions", "listSessions", "Sessions, newest first, each with its sentence.",
        answer=models.Sessions, run=_list_sessions),
    Route(GET, "/sessions/{session}", "getSession", "A session and its lineage: captures, compactions, forks.",
        answer=models.View, run=_get_session),
    Route(GET, "/sessions/{session}/turns", "getTurns", "Some of a session's turns, by number.",
        answer=models.Turns, run=_list_turns),
    Route(GET, "/sessions/{session}/files/{kind}", "getFile", "The newest file of a kind, its body as it stands.",
        answer=models.File, run=_get_file),
    Route(GET, "/sessions/{session}/removal", "previewRemoval", "What a removal would remove. Nothing is removed.",
        answer=RemovalReceipt, run=_preview_removal),
    Route(POST, "/sessions/{session}/removal", "removeSession",
        "Remove a session for good. Gives the receipt; `again` deletes what came back of it.",
        answer=RemovalReceipt, run=_remove),
    Route(POST, "/session-end", "endSession",
        "Capture a session that ended. Running it again for the same end changes nothing.",
        asks=EndSession, answer=CaptureResult, max_bytes=LARGE_BODY,
        run=partial(_run_flow, SESSION_END), resumes=False, statuses=_REFUSED_STATUS),
    Route(POST, "/compaction", "keepCompaction", "Keep the summary of a compaction.",
        asks=KeepCompaction, answer=CaptureResult, max_bytes=LARGE_BODY,
        run=partial(_run_flow, COMPACTION), resumes=False, statuses=_REFUSED_STATUS),
    Route(GET, "/checkpoint", "getCheckpoint",
        "The checkpoint that the agent's next session would be told of, null for none.",
        answer=models.FoundCheckpoint,
        run=_get_checkpoint),
    Route(POST, "/checkpoint", "saveCheckpoint",
        "Keep the last messages of a session that goes on, in place of an older checkpoint of it.",
        answer=models.SavedCheckpoint, run=_save_checkpoint),
    Route(GET, "/search", "search", "Sessions and entries of books that a query finds, best first.",
        answer=models.Results, run=_search),
    Route(GET, "/context", "getContext", "The memory that a new session starts with, within a budget of tokens.",
        answer=models.Context, run=_get_context),
    Route(GET, "/activity", "getActivity", "Captures on each of the last 30 days, UTC.",
        answer=models.Days, run=_get_activity),
)  # fmt: skip
