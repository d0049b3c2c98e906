"""Each tool's work and answer, as framed text. Written entries count as the agent's: they wait."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lineage.app.changed_files import ChangedFiles, count_changed_files, list_touched
from lineage.app.request_model import check_request
from lineage.core.base.book_paths import CURATED, BookRef, resolve_kind
from lineage.core.base.times import to_date
from lineage.core.books.entry import TASK
from lineage.core.capture.budget import QUARTERS_PER_TOKEN
from lineage.core.format.turns import Turn, parse_turn_range
from lineage.core.search.words import extract_words
from lineage.errors import InvalidInput
from lineage.index import ENTRY_KIND, Hit, SessionRow
from lineage.mcp.call import ToolCall, run_on_workspace
from lineage.mcp.response import ResponseItem, render_response
from lineage.mcp.server_config import ServerConfig
from lineage.mcp.tools import MAX_BYTES, Tool
from lineage.pipeline.memory import books
from lineage.pipeline.memory import context as contexts
from lineage.pipeline.memory import remember as remembering
from lineage.pipeline.memory.remember import FORGOTTEN, KNOWN, PENDING_STATUS, REMEMBERED, Memo, RememberResult
from lineage.pipeline.search.found_passages import FoundPassage, clip_around, load_passages
from lineage.pipeline.search.search import search
from lineage.projection.context_block import ContextBlock
from lineage.workspace import lookup
from lineage.workspace.book_reader import BookEntry
from lineage.workspace.book_reader import list_open_tasks as open_tasks
from lineage.workspace.lookup import SessionText

MAX_TOKENS = MAX_BYTES // QUARTERS_PER_TOKEN
MAX_TURNS = 200
QUOTE = '"'
_CANDIDATES = 3  # times as many hits as are asked for: those of the own project come first


def search_memory(call: ToolCall) -> str:
    """Return the best matches among this agent's sessions and readable books, those of its own project first."""
    text = _narrow_query(call)
    results = search(call.ws, text, call.access.agent_id, call["limit"] * (1 if call["project"] else _CANDIDATES))
    hits = [hit for hit in _put_own_first(call, text, results.hits) if call.access.may_show_hit(hit)][: call["limit"]]
    changes = count_changed_files(list_touched(hits))
    pieces = list(map(partial(_format_hit, call["query"]), hits, load_passages(call.ws, hits, call["query"]), changes))
    notes = "".join(f" Note: {note}." for note in results.notes)
    head = f"Results, best first: {len(pieces)}. Read on with `show`, by short id and turns.{notes}"
    return render_response(head, pieces, "Ask more narrowly, or for fewer.", empty="nothing found; try other words")


def _narrow_query(call: ToolCall) -> str:
    """Return the query with the other arguments as its filters."""
    folder, _, name = (call["file"] or "").replace("\\", "/").rpartition("/")
    given = {"project": call["project"], "path": folder, "since": call["since"]}
    if call["kind"]:
        given["is" if call["kind"] == ENTRY_KIND else "kind"] = call["kind"]
    filters = (f'{key}:"{value.replace(QUOTE, "")}"' for key, value in given.items() if value)
    return " ".join([*filters, call["query"], name])


def _put_own_first(call: ToolCall, text: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, those of the caller's project before the others."""
    own = call.project or call.config.folder
    if call["project"] or not own:
        return list(hits)
    narrowed = search(call.ws, f'project:"{own.replace(QUOTE, "")}" {text}', call.access.agent_id, len(hits) or 1)
    known = set(map(_identify, narrowed.hits))
    return sorted(hits, key=lambda hit: _identify(hit) not in known)


def _identify(hit: Hit) -> str | None:
    return hit.entry.id if hit.entry else hit.session_token


def list_sessions(call: ToolCall) -> str:
    """Return the agent's newest sessions."""
    rows = call.access.list_sessions(call["limit"], call["project"], call["folder"])
    head = f"Sessions, newest first, by short id: {len(rows)}. Read one with `show`."
    pieces = [_format_session(row) for row in rows]
    return render_response(head, pieces, "Ask for fewer, or for one project.", empty="no sessions")


def show_session(call: ToolCall) -> str:
    """Return a session's summary, or turns of its transcript."""
    token = call.access.find_session(call["session"]).session_token
    if call["turns"] is None:
        shown = lookup.show_file(call.ws, token, call["kind"])
        rest = f"The whole of it is in {shown.path}; `turns` reads the transcript."
        pieces = [ResponseItem(call["kind"], shown.text), *map(_format_session, shown.sub_agents)]
        return render_response(_session_heading(shown), pieces, rest)
    first, last = parse_turn_range(call["turns"].strip())
    if last - first >= MAX_TURNS:
        raise InvalidInput(f"{first}-{last} is no range of 1 to {MAX_TURNS} turns", hint='for example "12-18"')
    shown = lookup.show_turns(call.ws, token, first, last)
    turns = [ResponseItem(f"turn {turn.number}", _format_turn(turn)) for turn in shown.turns]
    head = f"{_session_heading(shown)}, turns {first}-{last}"
    return render_response(head, turns, "Ask for the next turns; one alone has most room.")


def build_context(call: ToolCall) -> str:
    """Return the context block of a new session, as hooks inject it, in its own frame."""
    asked = contexts.ContextRequest(
        agent_id=call.access.agent_id,
        project=call.project,
        query=call["query"],
        session=call.access.resolve_running_session(call["session_id"]),
        budget=min(call["budget"] or call.ws.settings.context.budget, MAX_TOKENS),
    )
    block: ContextBlock = contexts.build_context(call.ws, asked, call.access.book_reader)
    unread = len(call.access.book_reader.unreadable_paths)
    note = f"{unread} books can't be read and are left out: the user may run `lineage verify`" if unread else ""
    empty = "nothing is remembered yet, or it has no room"
    return f"{block.text}{note}".strip() or render_response("the context", [], "", empty=empty)


def read_books(call: ToolCall) -> str:
    """Return the list of readable books, or the entries of one."""
    return _list_entries(call) if call["action"] == "show" else _list_books(call)


def list_tasks(call: ToolCall) -> str:
    """Return the open tasks of the agent, its project and the workspace."""
    folder = call.access.find_project_scope(call.project)
    scopes = ["global", f"agent/{call.access.agent_id}", *([folder] if folder else [])]
    results = open_tasks(call.access.book_reader, scopes, call.ws.now)
    pieces = [ResponseItem(_format_lead(known), f"{text} ({known.ref.scope})") for known, text in results]
    head = f"Open tasks: {len(pieces)}"
    return render_response(head, pieces, "Read the book `task` of a scope.", empty="no open tasks")


def render_entries(entries: list[BookEntry]) -> list[ResponseItem]:
    """Return one item an entry: trust, id and day, then its text."""
    return [ResponseItem(_format_lead(known), _format_body(known)) for known in entries]


def _format_hit(query: str, hit: Hit, passages: Sequence[FoundPassage], changed: ChangedFiles | None) -> ResponseItem:
    new = hit.superseded
    news = f"\nsuperseded on {new.on} by {new.by}: {new.text}" if new else ""
    news += f"\n{changed}" if changed and changed.changed else ""
    if hit.entry is not None:
        text = clip_around(hit.entry.text.strip(), extract_words(query)) + news
        entry = hit.entry
        marks = [f"archived {entry.shelf}"] * bool(entry.shelf) + ["superseded"] * (not entry.standing)
        lead = " · ".join([f"{entry.trust} {entry.id}", to_date(entry.at) if entry.at else "by hand", *marks])
        return ResponseItem(lead, f"{text}\n{entry.kind} of {entry.scope}")
    lead = " · ".join([f"{hit.session_token}", hit.membership_ts or "", hit.project or ""])
    found = (f"[{_format_place(one)}] {one.text}" for one in passages)
    head = _format_synopsis(hit.title, hit.outcome) + news
    return ResponseItem(lead, "\n".join([head, *found]))


def _format_place(passage: FoundPassage) -> str:
    return f"turns {passage.turns[0]}-{passage.turns[1]}" if passage.turns else passage.kind


def _format_session(row: SessionRow) -> ResponseItem:
    where = ", ".join(filter(None, (row.harness, row.project, row.session_id)))
    about = _format_synopsis(row.title, row.outcome)
    marks = ["sub-agent"] * bool(row.parent_token) + [f"sub-agents {row.sub_agents}"] * bool(row.sub_agents)
    return ResponseItem(" · ".join([row.session_token, row.membership_ts, *marks]), f"{about}\n{where}")


def _format_synopsis(title: str | None, outcome: str | None) -> str:
    return " → ".join(dict.fromkeys(filter(None, (title, outcome))))


def _session_heading(shown: SessionText) -> str:
    return f"session {shown.session.session_token}, {shown.session.membership_ts}"


def _format_turn(turn: Turn) -> str:
    """Return speaker, tool name and time on one line, then the tool's input, then the text."""
    values = {name: str(getattr(turn, name) or "") for name in ("role", "name", "at", "input", "text")}
    head = " ".join(filter(None, (values["role"], values["name"], values["at"])))
    return "\n".join(filter(None, (head, values["input"], *(part.as_text() for part in turn.parts), values["text"])))


def _list_books(call: ToolCall) -> str:
    books: dict[tuple[str, str], list[str]] = {}
    for ref in call.access.list_books():
        books.setdefault((ref.scope, ref.kind), []).append(ref.shelf)
    pieces = []
    for (scope, kind), shelves in books.items():
        count = len(call.access.read_book(BookRef(scope, kind)))
        archives = [f"archives {', '.join(filter(None, shelves))}"] * any(shelves)
        pieces.append(ResponseItem(" · ".join([f"entries {count}", *archives]), f"{kind} of {scope}"))
    return render_response(f"Books: {len(pieces)}", pieces, "Show one by scope and kind.", empty="no books yet")


def _list_entries(call: ToolCall) -> str:
    if not (call["scope"] and call["kind"]):
        raise InvalidInput("to show a book takes scope and kind", hint="action `list` names the books")
    ref = BookRef(call["scope"], call["kind"], str(call["archive"] or ""))
    if ref not in call.access.list_books():  # a kind's other name
        ref = ref._replace(kind=resolve_kind(ref.kind))
    results = render_entries(call.access.read_book(ref))
    return render_response(f"Entries in {ref.path}: {len(results)}", results, f"The rest is in {ref.path}.")


def _format_lead(known: BookEntry) -> str:
    entry = known.entry
    state = ["done"] * bool(entry.done) + ["pinned"] * entry.pinned
    day = to_date(known.updated_at) if known.updated_at else "by hand"
    return " · ".join([f"{entry.trust} {entry.id}", day, *state])


def _format_body(known: BookEntry) -> str:
    tags = " ".join(f"#{tag}" for tag in known.entry.tags)
    box = "" if known.ref.kind != TASK or known.entry.done is None else "[x] " if known.entry.done else "[ ] "
    return f"{box}{known.text}\n{tags}"


def remember(call: ToolCall) -> str:
    """Write one entry."""
    memo = Memo(
        text=call["text"],
        kind=CURATED if call["curated"] else call["kind"],
        scope=call.access.check_writable_scope(call["scope"]),
        agent_id=call.access.agent_id,
        project=call["project"],
        folder=call.config.project or call.config.folder,
        tags=tuple(call["tags"]),
        supersedes=tuple(call.access.find_entry(prefix).entry.id for prefix in call["supersedes"]),
        about=tuple(call["about"]),
    )
    return _render_outcome(call, remembering.remember(call.ws, memo, call.caller))


def handle_tasks(call: ToolCall) -> str:
    """List, add or tick tasks."""
    if call["action"] == "add":
        if not call["text"]:
            raise InvalidInput("a task has to say what is to be done", hint="give `text`")
        memo = Memo(text=call["text"], kind=TASK, agent_id=call.access.agent_id, project=call.project)
        return _render_outcome(call, remembering.remember(call.ws, memo, call.caller))
    if call["action"] == "list":
        return list_tasks(call)
    if not call["id"]:
        raise InvalidInput("which task is done?", hint="give `id`, as action `list` shows it")
    place = books.set_task_done(call.ws, call.access.find_entry(call["id"]).entry.id)
    text = f"{place.entry.body}\n{place.ref.kind} of {place.ref.scope}"
    return render_response("done", [ResponseItem(place.entry.id, text)], "")


def _render_outcome(call: ToolCall, outcome: RememberResult) -> str:
    """Return the outcome of a write as an answer. Raises InvalidInput if nothing was written."""
    if outcome.status not in (REMEMBERED, PENDING_STATUS, KNOWN):
        hint = "the user has it forgotten" if outcome.status == FORGOTTEN else outcome.hint
        raise InvalidInput(f"not remembered: {outcome.reason or outcome.status}; nothing was written", hint=hint)
    is_seen = call.access.may_read_scope(outcome.scope)
    where = f"{outcome.kind} of {outcome.scope}, in {outcome.path}" if is_seen else ""
    bound = ", ".join(outcome.about)
    where = "; ".join(filter(None, (where, f"bound to {bound}" * bool(bound))))
    waits = (outcome.hint or "") * (outcome.status == PENDING_STATUS)
    counts = ", ".join(f"{name} {count}" for name, count in outcome.redactions.items())
    head = "; ".join(filter(None, (outcome.status, waits, f"redacted: {counts}" * bool(counts))))
    return render_response(head, [ResponseItem(outcome.id or "", where)], "")


_HANDLERS = {
    "search": search_memory, "show": show_session, "sessions": list_sessions, "context": build_context,
    "remember": remember, "book": read_books, "tasks": handle_tasks,
}  # fmt: skip


def run_tool(config: ServerConfig, tool: Tool, values: Mapping[str, Any]) -> str:
    """Return a tool's answer. Raises LineageError, InvalidInput for wrong arguments."""
    given = {name: value for name, value in values.items() if value is not None}  # as if it were left out
    arguments = check_request(tool.asks, given).model_dump()
    handler = _HANDLERS[tool.name]
    writes = not tool.writing_actions.isdisjoint(("*", arguments.get("action")))
    return run_on_workspace(config, lambda access: handler(ToolCall(config, access, arguments)), writes=writes)
