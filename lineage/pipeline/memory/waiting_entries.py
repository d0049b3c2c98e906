"""Entries that wait for the user: the words that each came from, and confirming them (format: Books)."""

from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core.base.book_paths import PENDING, BookRef
from lineage.errors import InvalidInput, NotFoundError
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
