"""Tools that look things up. Each gives the text of its answer, framed."""

import re

from lineage.core.book_paths import BookRef
from lineage.core.budget import QUARTERS
from lineage.core.entry import TASK
from lineage.core.times import day
from lineage.errors import InvalidInput
from lineage.index import Hit, SessionRow
from lineage.mcp.asking import Call
from lineage.mcp.framing import MOST_BYTES, Piece, framed
from lineage.pipeline import lookup
from lineage.pipeline.finding import find
from lineage.pipeline.knowledge import context as contexts
from lineage.pipeline.knowledge.said import Known
from lineage.pipeline.knowledge.said import tasks as open_tasks
from lineage.pipeline.lookup import Shown
from lineage.projection import Block

MOST_TOKENS = MOST_BYTES // QUARTERS
MOST_TURNS = 200

_RANGE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")


def search(call: Call) -> str:
    """The best matches of this agent's sessions and of the books that it sees."""
    found = find(call.house, call["query"], call.reach.agent_id, call["limit"])
    pieces = [_hit(hit) for hit in found.hits if call.reach.finds(hit)]
    notes = "".join(f" Note: {note}." for note in found.notes)
    head = f"Results, best first: {len(pieces)}. Read on with `show`, by token and turns.{notes}"
    return framed(head, pieces, "Ask more narrowly, or for fewer.", empty="nothing found; try other words")


def sessions(call: Call) -> str:
    """The agent's newest sessions."""
    rows = call.reach.sessions(call["limit"], call["project"])
    head = f"Sessions, newest first, by token: {len(rows)}. Read one with `show`."
    return framed(head, [_session(row) for row in rows], "Ask for fewer, or for one project.", empty="no sessions")


def show(call: Call) -> str:
    """A session's summary, or turns of its transcript."""
    token = call.reach.session(call["session"]).session_token
    if call["turns"] is None:
        shown = lookup.show(call.house, token, call["kind"])
        pieces = [Piece(call["kind"], shown.text)]
        return framed(_whose(shown), pieces, f"The whole of it is in {shown.path}; `turns` reads the transcript.")
    first, last = _range(call["turns"])
    shown = lookup.show_turns(call.house, token, first, last)
    turns = [Piece(f"turn {turn.number}", _turn(turn)) for turn in shown.turns]
    return framed(f"{_whose(shown)}, turns {first}-{last}", turns, "Ask for the next turns; one alone has most room.")


def context(call: Call) -> str:
    """What a new session is told: the block as hooks inject it, in its own frame."""
    asked = contexts.Asked(
        agent_id=call.reach.agent_id,
        project=call.project,
        query=call["query"],
        session=call.reach.running(call["session_id"]),
        budget=min(call["budget"] or call.house.settings.context.budget, MOST_TOKENS),
    )
    block: Block = contexts.context(call.house, asked, call.reach.knowledge)
    unread = len(call.reach.knowledge.unread)
    note = f"{unread} books can't be read and are left out: the user may run `lineage verify`" if unread else ""
    return f"{block.text}{note}".strip() or framed(
        "the context", [], "", empty="nothing is remembered yet, or it has no room"
    )


def book(call: Call) -> str:
    """The books in reach, or the entries of one."""
    return _entries(call) if call["action"] == "show" else _books(call)


def task_list(call: Call) -> str:
    """The open tasks of the agent, its project and the workspace."""
    folder = call.reach.project_scope(call.project)
    scopes = ["global", f"agent/{call.reach.agent_id}", *([folder] if folder else [])]
    found = open_tasks(call.reach.knowledge, scopes)
    pieces = [Piece(_lead(known), f"{text} ({known.ref.scope})") for known, text in found]
    return framed(f"Open tasks: {len(pieces)}", pieces, "Read the book `task` of a scope.", empty="no open tasks")


def entry_pieces(found: list[Known]) -> list[Piece]:
    """Entries as they are shown: trust, id and day, then what they say."""
    return [Piece(_lead(known), _said(known)) for known in found]


def _hit(hit: Hit) -> Piece:
    snippet = " ".join(hit.snippet.split())
    if hit.entry is not None:
        entry = hit.entry
        marks = [f"archived {entry.shelf}"] * bool(entry.shelf) + ["superseded"] * (not entry.standing)
        lead = " · ".join([f"{entry.trust} {entry.id}", day(entry.at) if entry.at else "by hand", *marks])
        return Piece(lead, f"{snippet}\n{entry.kind} of {entry.scope}")
    turns = [f"turns {hit.turns[0]}-{hit.turns[1]}"] if hit.turns else []
    lead = " · ".join([f"{hit.session_token}", hit.kind, *turns, hit.membership_ts or ""])
    return Piece(lead, f"{snippet}\n{hit.memory_sentence or ''}\n{hit.project or ''}")


def _session(row: SessionRow) -> Piece:
    where = ", ".join(filter(None, (row.harness, row.project, row.session_id)))
    return Piece(f"{row.session_token} · {row.membership_ts}", f"{row.memory_sentence}\n{where}")


def _whose(shown: Shown) -> str:
    return f"session {shown.session.session_token}, {shown.session.membership_ts}"


def _turn(turn: object) -> str:
    """Who spoke, then what: of a tool its name and what it was given."""
    values = {name: str(getattr(turn, name) or "") for name in ("role", "name", "at", "input", "text")}
    head = " ".join(filter(None, (values["role"], values["name"], values["at"])))
    return "\n".join(filter(None, (head, values["input"], values["text"])))


def _range(turns: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(turns.strip())
    if match is None:
        raise InvalidInput(f"not a range of turns: {turns[:40]!r}", hint='for example "12-18", or "12"')
    first = int(match[1])
    last = int(match[2] or first)
    if last < first or last - first >= MOST_TURNS:
        raise InvalidInput(f"{first}-{last} is no range of 1 to {MOST_TURNS} turns", hint='for example "12-18"')
    return first, last


def _books(call: Call) -> str:
    books: dict[tuple[str, str], list[str]] = {}
    for ref in call.reach.books():
        books.setdefault((ref.scope, ref.kind), []).append(ref.shelf)
    pieces = []
    for (scope, kind), shelves in books.items():
        count = len(call.reach.book(BookRef(scope, kind)))
        archives = [f"archives {', '.join(filter(None, shelves))}"] * any(shelves)
        pieces.append(Piece(" · ".join([f"entries {count}", *archives]), f"{kind} of {scope}"))
    return framed(f"Books: {len(pieces)}", pieces, "Show one by scope and kind.", empty="no books yet")


def _entries(call: Call) -> str:
    if not (call["scope"] and call["kind"]):
        raise InvalidInput("to show a book takes scope and kind", hint="action `list` names the books")
    ref = BookRef(call["scope"], call["kind"], str(call["archive"] or ""))
    found = call.reach.book(ref)
    return framed(f"Entries in {ref.path}: {len(found)}", entry_pieces(found), f"The rest is in {ref.path}.")


def _lead(known: Known) -> str:
    entry = known.entry
    state = ["done"] * bool(entry.done) + ["pinned"] * entry.pinned
    return " · ".join([f"{entry.trust} {entry.id}", day(known.at) if known.at else "by hand", *state])


def _said(known: Known) -> str:
    tags = " ".join(f"#{tag}" for tag in known.entry.tags)
    box = "" if known.ref.kind != TASK or known.entry.done is None else "[x] " if known.entry.done else "[ ] "
    return f"{box}{known.text}\n{tags}"
