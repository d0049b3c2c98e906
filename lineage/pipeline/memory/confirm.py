"""What waits is shown to the user with the words it came from, and put in force. (format: Books; reliability: poisoned
memory)"""

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
    """An entry that waits: the words that it was made of, who said them in which file (a wikilink) and when, and the
    texts of the entries that it would take the place of. What isn't known is None."""

    location: EntryLocation
    quote: str
    link: str | None
    role: str | None
    turn_at: str | None
    replaces: tuple[str, ...]


def load_evidence(ws: Workspace, prefixes: Sequence[str]) -> list[Evidence]:
    """What the user has to see of each entry before confirming it. Raises NotFoundError for one that isn't there,
    InvalidInput for one that doesn't wait."""
    return [_build_evidence(ws, _find_pending(ws, prefix)) for prefix in dict.fromkeys(prefixes)]


def confirm_entries(ws: Workspace, evidence: Sequence[Evidence], caller: Caller | None = None) -> list[EntryLocation]:
    """Puts in force what the user has seen. Raises LineageError from inside a harness, InvalidInput where an entry was
    changed since it was shown: it is confirmed as it was seen or not at all."""
    refuse_agents(caller, "confirm what waits for the user")
    for one in evidence:
        _check_unchanged(ws, one.location)
    for one in evidence:
        _confirm_entry(ws, one.location)
    publish_books(ws, (one.location.ref for one in evidence))
    return [find_entry(ws, one.location.entry.id) for one in evidence]


def _check_unchanged(ws: Workspace, location: EntryLocation) -> None:
    if _find_pending(ws, location.entry.id).entry != location.entry:
        raise InvalidInput(
            f"{location.entry.id} was changed since it was shown", hint=f"lineage book confirm {location.entry.id}"
        )


def _confirm_entry(ws: Workspace, location: EntryLocation) -> None:
    scope, kind = location.ref.scope, location.ref.kind
    forgotten = ws.documents.books.get(scope, kind).forgotten_ids
    if location.entry.id in forgotten:
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
        place = find_entry(ws, prefix)
    raise InvalidInput(
        f"{place.entry.id} doesn't wait: it stands in {place.ref.path}", hint="`lineage book list --pending`"
    )


def _build_evidence(ws: Workspace, location: EntryLocation) -> Evidence:
    turn = _load_turn(ws, location.entry)
    in_force = ws.documents.books.get(location.ref.scope, location.ref.kind).entries
    return Evidence(
        location,
        quote=parse_quote(location.entry),
        link=location.entry.origin,
        role=turn.role if turn else None,
        turn_at=turn.at if turn else None,
        replaces=tuple(entry.body for entry in in_force if entry.id in location.entry.supersedes),
    )


def _load_turn(ws: Workspace, entry: Entry) -> Turn | None:
    """The turn that the entry's link points at, None where there is none (any more)."""
    match = _LINK.fullmatch(entry.origin or "")
    document = load_readable_document(ws, match[1]) if match and match[2] and naming.parse_path(match[1]) else None
    if match is None or not isinstance(document, Artifact):
        return None
    return next((turn for turn in transcript.parse_turns(document.body) if turn.id == match[2]), None)
