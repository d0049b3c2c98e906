"""Confirmation of pending entries by the user, with evidence (format: Books; reliability: poisoned memory)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.books.entry import Entry
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import Turn
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.books import EntryLocation, find_entry, publish_books, refuse_agents
from lineage.pipeline.memory.entry_writer import parse_quote
from lineage.workspace.load import load_readable_document
from lineage.workspace.workspace import Workspace

_LINK = re.compile(r"\[\[([^\]|#]+)(?:#\^(t-[0-9a-f]{10}))?(?:\|[^\]]*)?\]\]")


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
    """Put the entries of this evidence in force.

    Raises LineageError inside a harness, InvalidInput if an entry has changed since it was shown.
    """
    refuse_agents(caller, "confirm what waits for the user")
    for item in evidence:  # all of them before the first change
        name = item.location.entry.id
        if _find_pending(ws, name).entry != item.location.entry:
            raise InvalidInput(f"{name} was changed since it was shown", hint=f"lineage book confirm {name}")
    for item in evidence:
        _confirm_entry(ws, item.location)
    publish_books(ws, (item.location.ref for item in evidence))
    return [find_entry(ws, item.location.entry.id) for item in evidence]


def _confirm_entry(ws: Workspace, location: EntryLocation) -> None:
    scope, kind = location.ref.scope, location.ref.kind
    if location.entry.id in ws.documents.books.get(scope, kind).forgotten_ids:
        raise InvalidInput(
            f"{location.entry.id} was forgotten in {kind} of {scope}",
            hint=f"delete its `lineage:forgotten` line in {BookRef(scope, kind).path}, or forget it again",
        )
    ws.documents.books.confirm(scope, kind, location.entry.id, ws.now)
    ws.documents.books.roll_over(scope, kind)


def _find_pending(ws: Workspace, prefix: str) -> EntryLocation:
    try:
        return find_entry(ws, prefix, PENDING)
    except NotFoundError:
        location = find_entry(ws, prefix)
    problem = f"{location.entry.id} doesn't wait: it stands in {location.ref.path}"
    raise InvalidInput(problem, hint="`lineage book list --pending`")


def _build_evidence(ws: Workspace, location: EntryLocation) -> Evidence:
    turn = _load_turn(ws, location.entry)
    in_force = ws.documents.books.get(location.ref.scope, location.ref.kind).entries
    replaces = tuple(entry.body for entry in in_force if entry.id in location.entry.supersedes)
    role, turn_at = (turn.role, turn.at) if turn else (None, None)
    return Evidence(location, parse_quote(location.entry), location.entry.origin, role, turn_at, replaces)


def _load_turn(ws: Workspace, entry: Entry) -> Turn | None:
    """Return the turn behind the entry's link, None if it is gone or the entry has no such link."""
    match = _LINK.fullmatch(entry.origin or "")
    document = load_readable_document(ws, match[1]) if match and match[2] and naming.parse_path(match[1]) else None
    if match is None or not isinstance(document, Artifact):
        return None
    return next((turn for turn in transcript.parse_turns(document.body) if turn.id == match[2]), None)
