"""Sessions: lists, one with its turns and lineage, search, context, what their harness tells of them, and removal."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lineage.core.request import COMPACTION, SESSION_END, request
from lineage.errors import InvalidInput
from lineage.pipeline.finding import find
from lineage.pipeline.house import REFUSED, House
from lineage.pipeline.incoming.saving import newest, save
from lineage.pipeline.knowledge.context import Asked, context
from lineage.pipeline.knowledge.said import Knowledge
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resuming import run
from lineage.pipeline.viewing import KINDS, activity, file_of, turn_page, view
from lineage.web import shapes
from lineage.web.routes import GET, LARGE, POST, Call, Parameter, Reply, Route
from lineage.web.schema import FLAG, TEXT, WHOLE, Schema, listed, maybe, record

AGENT = Parameter(name="agent", about="The agent; `all` for every one.", default="default")
SESSION = Parameter(name="session", about="A session id, key or token, or an unambiguous prefix of one.", required=True)
PROJECT = Parameter(name="project", about="A project: its path, or the end of it.")
_LIMIT = Parameter(name="limit", about="How many at most.", kind=int, default=50, least=1, most=1000)
_REFUSED = {409: "The session was removed, and is refused. The object is the same."}


def _sessions(house: House, call: Call) -> Any:
    project = call.text("project") or None
    rows = house.index.sessions(call.agent, project=project, limit=call.values["limit"])
    return {"sessions": [shapes.session(row) for row in rows]}


def _session(house: House, call: Call) -> Any:
    return shapes.view(view(house, call.text("session")))


def _turns(house: House, call: Call) -> Any:
    first, count = call.values["first"], call.values["count"]
    page = turn_page(house, call.text("session"), first=first, count=count)
    turns = [shapes.turn(turn) for turn in page.turns]
    return {"session": shapes.session(page.session), "first": page.first, "total": page.total, "turns": turns}


def _file(house: House, call: Call) -> Any:
    found = file_of(house, call.text("session"), call.text("kind"))
    return {**asdict(found), "session": shapes.session(found.session)}


def _search(house: House, call: Call) -> Any:
    query = call.text("q")
    found = find(house, query, call.agent, call.values["limit"])
    hits = [shapes.hit(hit) for hit in found.hits]
    return {"query": query, "mode": found.mode, "notes": list(found.notes), "results": hits}


def _context(house: House, call: Call) -> Any:
    if call.agent is None:
        raise InvalidInput("a context is one agent's", hint="name the agent")
    project, query, session = (call.text(name) or None for name in ("project", "query", "session"))
    asked = Asked(agent_id=call.agent, project=project, query=query, session=session, budget=call.values["budget"])
    knowledge = Knowledge(house, call.agent)
    block = context(house, asked, knowledge)
    sections = [spent._asdict() for spent in block.sections]
    told = {"text": block.text, "tokens": block.tokens, "budget": block.budget, "sections": sections}
    return {**told, "unread": knowledge.unread}


def _activity(house: House, call: Call) -> Any:
    return {"days": [{"day": date, "captures": count} for date, count in activity(house, call.agent)]}


def _would_remove(house: House, call: Call) -> Any:
    return asdict(remove(house, call.text("session"), reason="", dry_run=True))


def _remove(house: House, call: Call) -> Any:
    reason, again = call.body.get("reason", ""), call.body.get("again", False)
    return asdict(remove(house, call.text("session"), reason=reason, again=again))


def _session_end(house: House, call: Call) -> Any:
    return _flow(house, call, SESSION_END)


def _compaction(house: House, call: Call) -> Any:
    return _flow(house, call, COMPACTION)


def _flow(house: House, call: Call, flow: str) -> Any:
    """A file is read for who is on this machine; anybody else brings the transcript along."""
    if call.body.get("transcript_path") and not call.service.is_local:
        raise InvalidInput("transcript_path is a file of this machine", hint="give the turns as `transcript`")
    outcome = run(house, request(flow, call.body, agent_id=None, now=house.now))
    return Reply(outcome.as_json(), 409 if outcome.status == REFUSED else 200)


def _checkpoint(house: House, call: Call) -> Any:
    found = newest(house, call.text("agent"), call.text("project") or None)
    return {"checkpoint": shapes.checkpoint(found) if found else None}


def _save(house: House, call: Call) -> Any:
    body = call.body
    saved = save(
        house,
        agent_id=body.get("agent_id", "default"),
        session_id=body["session_id"],
        harness=body["harness"],
        project=body.get("project"),
        said=[(one["role"], one["text"], one.get("at")) for one in body["messages"]],
    )
    return {"checkpoint": shapes.checkpoint(saved)}


_TURN: Schema = {"anyOf": [TEXT, listed({"type": "object"}), {"type": "object"}]}
_FLOW: Mapping[str, Schema] = {
    **{name: maybe(TEXT) for name in ("transcript_path", "session_key", "agent_id", "project", "cwd", "lane")},
    **{name: maybe(TEXT) for name in ("started_at", "ended_at", "captured_at", "reason", "summary", "trigger")},
    "transcript": maybe(_TURN), "private": FLAG, "data": FLAG,
}  # fmt: skip
_ENDED = record({"harness": TEXT, "session_id": TEXT}, _FLOW)
_COMPACTED = record({"harness": TEXT, "session_id": TEXT, "summary": TEXT}, {**_FLOW, "summary": TEXT})
_SECTION = record(
    {"name": TEXT, "tokens": WHOLE, "cap": WHOLE, "shown": WHOLE, "of": WHOLE, "cut": FLAG, "dropped": FLAG}
)

ROUTES = (
    Route(
        method=GET, path="/sessions", name="listSessions", about="Sessions, newest first, each with its sentence.",
        parameters=(AGENT, PROJECT, _LIMIT), answer=record({"sessions": listed(shapes.SESSION)}), act=_sessions,
    ),
    Route(
        method=GET, path="/sessions/{session}", name="getSession",
        about="A session and its lineage: captures, compactions, forks.",
        parameters=(SESSION,), answer=shapes.VIEW, act=_session,
    ),
    Route(
        method=GET, path="/sessions/{session}/turns", name="getTurns", about="Some of a session's turns, by number.",
        parameters=(
            SESSION,
            Parameter(name="first", about="The first one's number.", kind=int, default=1, least=1, most=99_999_999),
            Parameter(name="count", about="How many at most.", kind=int, default=50, least=1, most=500),
        ),
        answer=record({"session": shapes.SESSION, "first": WHOLE, "total": WHOLE, "turns": listed(shapes.TURN)}),
        act=_turns,
    ),
    Route(
        method=GET, path="/sessions/{session}/files/{kind}", name="getFile",
        about="The newest file of a kind, its body as it stands.",
        parameters=(SESSION, Parameter(name="kind", about="Which file.", required=True, choices=KINDS)),
        answer=record({"session": shapes.SESSION, "kind": TEXT, "path": TEXT, "text": TEXT}), act=_file,
    ),
    Route(
        method=GET, path="/sessions/{session}/removal", name="previewRemoval",
        about="What a removal would remove. Nothing is removed.",
        parameters=(SESSION,), answer=shapes.RECEIPT, act=_would_remove,
    ),
    Route(
        method=POST, path="/sessions/{session}/removal", name="removeSession",
        about="Remove a session for good. Gives the receipt; `again` deletes what came back of it.",
        parameters=(SESSION,), body=record({"reason": TEXT}, {"again": FLAG}), answer=shapes.RECEIPT, act=_remove,
    ),
    Route(
        method=POST, path="/session-end", name="endSession",
        about="Capture a session that ended. Running it again for the same end changes nothing.",
        body=_ENDED, most_bytes=LARGE, answer=shapes.OUTCOME, act=_session_end, resumes=False, also=_REFUSED,
    ),
    Route(
        method=POST, path="/compaction", name="keepCompaction", about="Keep the summary of a compaction.",
        body=_COMPACTED, most_bytes=LARGE, answer=shapes.OUTCOME, act=_compaction, resumes=False, also=_REFUSED,
    ),
    Route(
        method=GET, path="/checkpoint", name="getCheckpoint",
        about="The checkpoint that the agent's next session would be told of, null for none.",
        parameters=(AGENT, PROJECT), answer=record({"checkpoint": maybe(shapes.CHECKPOINT)}), act=_checkpoint,
    ),
    Route(
        method=POST, path="/checkpoint", name="saveCheckpoint",
        about="Keep the last messages of a session that goes on, in place of an older checkpoint of it.",
        body=record(
            {"session_id": TEXT, "harness": TEXT, "messages": {**listed(shapes.MESSAGE), "maxItems": 1000}},
            {"agent_id": TEXT, "project": maybe(TEXT)},
        ),
        answer=record({"checkpoint": shapes.CHECKPOINT}), act=_save,
    ),
    Route(
        method=GET, path="/search", name="search",
        about="Sessions and entries of books that a query finds, best first.",
        parameters=(
            Parameter(name="q", about="The query, as `lineage search` takes it.", required=True), AGENT,
            Parameter(name="limit", about="How many at most.", kind=int, default=10, least=1, most=100),
        ),
        answer=record(
            {"query": TEXT, "mode": TEXT, "notes": listed(TEXT), "results": listed(shapes.HIT)}
        ),
        act=_search,
    ),
    Route(
        method=GET, path="/context", name="getContext", about="What a new session is told, within a budget of tokens.",
        parameters=(
            AGENT, PROJECT, Parameter(name="query", about="What it is about."),
            Parameter(name="session", about="The running session, by token or id."),
            Parameter(name="budget", about="The most tokens it may cost.", kind=int, least=0, most=1_000_000),
        ),
        answer=record(
            {
                "text": TEXT, "tokens": WHOLE, "budget": WHOLE, "sections": listed(_SECTION), "unread": listed(TEXT),
            }
        ),
        act=_context,
    ),
    Route(
        method=GET, path="/activity", name="getActivity", about="Captures on each of the last 30 days, UTC.",
        parameters=(AGENT,), answer=record({"days": listed(record({"day": TEXT, "captures": WHOLE}))}), act=_activity,
    ),
)  # fmt: skip
