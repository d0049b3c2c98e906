"""Entries that wait for the user: the words that each came from, and confirming them (format: Books)."""

from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.books.entry import USER_TURN
from lineage.errors import InvalidInput, NotFoundError
from lineage.extraction.admission_policy import is_permission, is_self_referential
from lineage.extraction.candidates import MODEL
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.book_changes import change_books
from lineage.pipeline.memory.books import EntryLocation, find_entry, refuse_agents
from lineage.pipeline.memory.entry_writer import parse_quote
from lineage.pipeline.memory.workspace_evidence import load_source_turns
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pending entry with its original words, their file (a wikilink), speaker and time, None if unknown.

    `replaces` are the texts of the entries that it would supersede.
    """

    location: EntryLocation
    quote: str
    link: str | None
    role: str | None
    turn_at: str | None
    replaces: tuple[str, ...]


def explain_waiting(location: EntryLocation) -> str:
    """Return why an entry waits for the user, as one line."""
    entry = location.entry
    reasons = {
        "an agent remembered it, and it has not been compared with what tools printed": entry.is_unjudged,
        f"it repeats what a tool printed ({entry.tool})": entry.tool,
        "it would hold in every project": location.ref.scope == GLOBAL,
        "it reads like a permission": is_permission(entry.body),
        "it speaks of the agent itself": is_self_referential(entry.body),
        "a model says that you want it": MODEL in entry.tags,
        "nobody answered it: it may be a paste": entry.source == USER_TURN,
    }
    given = [reason for reason, holds in reasons.items() if holds]
    return "; ".join(given[:2]) or "not all that tools printed can be compared with it"


def load_evidence(ws: Workspace, prefixes: Sequence[str]) -> list[Evidence]:
    """Return the evidence to show before each entry is confirmed.

    Raises NotFoundError for an unknown entry, InvalidInput for one that isn't pending.
    """
    return [_build_evidence(ws, _find_pending(ws, prefix)) for prefix in dict.fromkeys(prefixes)]


def confirm_entries(ws: Workspace, evidence: Sequence[Evidence], caller: Caller | None = None) -> list[EntryLocation]:
    """Put the entries in force. Raises LineageError inside a harness, InvalidInput for one changed since."""
    refuse_agents(caller, "confirm what waits for the user")
    for item in evidence:  # all of them before the first change
        name = item.location.entry.id
        if _find_pending(ws, name).entry != item.location.entry:
            raise InvalidInput(f"{name} was changed since it was shown", hint=f"run `lineage memory review {name}`")

    def confirm(staged: Workspace) -> None:
        for item in evidence:
            _confirm_entry(staged, item.location)

    change_books(ws, confirm)
    return [find_entry(ws, item.location.entry.id) for item in evidence]


def _confirm_entry(ws: Workspace, location: EntryLocation) -> None:
    scope, kind = location.ref.scope, location.ref.kind
    if location.entry.id in ws.documents.books.get(scope, kind).forgotten_ids:
        hint = f"delete its `lineage:forgotten` line in {BookRef(scope, kind).path}, or forget it again"
        raise InvalidInput(f"{location.entry.id} was forgotten in {kind} of {scope}", hint=hint)
    ws.documents.books.confirm(scope, kind, location.entry.id, ws.now)
    ws.documents.books.roll_over(scope, kind)


def _find_pending(ws: Workspace, prefix: str) -> EntryLocation:
    try:
        return find_entry(ws, prefix, PENDING)
    except NotFoundError:
        location = find_entry(ws, prefix)
    problem = f"{location.entry.id} doesn't wait: it stands in {location.ref.path}"
    raise InvalidInput(problem, hint="`lineage memory list --pending` lists what waits")


def _build_evidence(ws: Workspace, location: EntryLocation) -> Evidence:
    turns, turn_id = load_source_turns(ws, location.entry)
    turn = next((turn for turn in turns if turn.id == turn_id), None)  # None too if its session is gone
    in_force = ws.documents.books.get(location.ref.scope, location.ref.kind).entries
    replaces = tuple(entry.body for entry in in_force if entry.id in location.entry.supersedes)
    role, turn_at = (turn.role, turn.at) if turn else (None, None)
    return Evidence(location, parse_quote(location.entry), location.entry.origin, role, turn_at, replaces)
