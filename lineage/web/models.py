"""The shapes of the API's answers, unless a dataclass is the shape, and the conversion of a value to its shape."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from typing_extensions import TypedDict  # pydantic takes typing's own from Python 3.12 on

from lineage.app.changed_files import count_changed_files, list_touched
from lineage.app.request_model import OneOf
from lineage.core.format.checkpoint import Checkpoint
from lineage.index import Hit, SessionRow
from lineage.pipeline.maintenance.findings import VerifyFinding
from lineage.pipeline.memory.migrate_notes import STATES
from lineage.pipeline.memory.waiting_entries import Evidence
from lineage.pipeline.search.found_passages import load_passages
from lineage.pipeline.search.session_view import SessionPart, SessionView
from lineage.projection.context_block import SectionUsage
from lineage.web.display import name_entry, strip_markup
from lineage.workspace.workspace import Workspace

Counts = dict[str, int]

Error = TypedDict("Error", {"message": str, "hint": str})
Failure = TypedDict("Failure", {"error": Error})

Sessions = TypedDict("Sessions", {"sessions": list[SessionRow]})
Relative = TypedDict("Relative", {
    "tie": str, "session_id": str, "session_token": str | None, "title": str | None, "memory_sentence": str | None,
})  # fmt: skip
View = TypedDict("View", {
    "session": SessionRow, "revision": int, "turns": int, "captures": list[SessionPart],
    "compactions": list[SessionPart], "relatives": list[Relative], "unread": list[str],
})  # fmt: skip
InputPart = TypedDict("InputPart", {"label": str, "language": str, "old": str | None, "text": str})
ReadTurn = TypedDict("ReadTurn", {
    "number": int, "id": str, "role": str, "at": str | None, "name": str, "input": str, "error": bool,
    "thinking": bool, "text": str, "call": int | None, "parts": list[InputPart],
})  # fmt: skip
Turns = TypedDict("Turns", {"session": SessionRow, "first": int, "total": int, "turns": list[ReadTurn]})
File = TypedDict("File", {"session": SessionRow, "kind": str, "path": str, "text": str})
FoundCheckpoint = TypedDict("FoundCheckpoint", {"checkpoint": Checkpoint | None})
SavedCheckpoint = TypedDict("SavedCheckpoint", {"checkpoint": Checkpoint})
Context = TypedDict("Context", {
    "text": str, "tokens": int, "budget": int, "sections": list[SectionUsage], "unread": list[str],
})  # fmt: skip
Day = TypedDict("Day", {"day": str, "captures": int})
Days = TypedDict("Days", {"days": list[Day]})

Superseding = TypedDict("Superseding", {"on": str, "by": str, "text": str})
ReadEntry = TypedDict("ReadEntry", {
    "id": str, "scope": str, "kind": str, "shelf": str, "path": str, "line": int, "at": str | None,
    "updated": str | None, "trust": str, "source": str, "tool": str | None, "from": str | None, "tags": list[str],
    "supersedes": list[str], "about": list[str], "seen": int, "first": str | None,
    "last": str | None, "state": str, "superseded": Superseding | None, "text": str,
})  # fmt: skip
OneEntry = TypedDict("OneEntry", {"entry": ReadEntry})
Entries = TypedDict("Entries", {"entries": list[ReadEntry]})
Book = TypedDict("Book", {
    "scope": str, "kind": str, "path": str, "entries": int, "waiting": int, "archived": int, "forgotten": int,
    "problems": list[str], "in_use": int, "stale": int, "superseded": int, "done": int, "forgettings": int,
})  # fmt: skip
Books = TypedDict("Books", {"books": list[Book]})
ReadBook = TypedDict("ReadBook", {
    "scope": str, "kind": str, "shelf": str, "path": str, "entries": list[ReadEntry], "forgotten": list[str],
    "problems": list[str],
})  # fmt: skip
ShownEvidence = TypedDict("ShownEvidence", {
    "entry": ReadEntry, "quote": str, "link": str | None, "role": str | None, "said_at": str | None,
    "replaces": list[str], "seen": str,
})  # fmt: skip

EntryHit = TypedDict("EntryHit", {
    "id": str, "scope": str, "book": str, "shelf": str, "trust": str, "source": str, "from": str | None,
    "tags": list[str], "about": list[str], "standing": bool, "done": bool | None,
})  # fmt: skip
ReadPassage = TypedDict("ReadPassage", {"path": str, "kind": str, "turns": list[int] | None, "text": str})
SnippetPart = TypedDict("SnippetPart", {"text": str, "matched": bool})
Changed = TypedDict("Changed", {"changed": int, "files": int})
SearchHit = TypedDict("SearchHit", {
    "session_id": str | None, "session_token": str | None, "agent_id": str | None, "kind": str, "path": str,
    "turns": list[int] | None, "score": float, "snippet": str, "parts": list[SnippetPart],
    "passages": list[ReadPassage], "project": str | None,
    "membership_ts": str | None, "title": str | None, "outcome": str | None, "memory_sentence": str | None,
    "superseded": Superseding | None, "changed_since": Changed | None, "entry": EntryHit | None,
})  # fmt: skip
Results = TypedDict("Results", {"query": str, "mode": str, "notes": list[str], "results": list[SearchHit]})

Findings = TypedDict("Findings", {"findings": list[VerifyFinding]})
MigratedEntry = TypedDict("MigratedEntry", {
    "line": int, "scope": str, "kind": str, "state": Annotated[str, OneOf(STATES)], "reason": str | None,
})  # fmt: skip
MigratedFile = TypedDict("MigratedFile", {
    "path": str, "skipped": str | None, "problem": str | None, "counts": Counts, "redactions": Counts,
    "entries": list[MigratedEntry],
})  # fmt: skip
Migrated = TypedDict("Migrated", {"dry_run": bool, "whole": bool, "files": list[MigratedFile]})


def dump_view(view: SessionView) -> dict[str, Any]:
    """Return a session with its lineage as JSON."""
    names = ("session_token", "title", "memory_sentence")
    relatives = [
        {"tie": one.tie, "session_id": one.session_id, **{name: getattr(one.session, name, None) for name in names}}
        for one in view.relatives
    ]
    return {**asdict(view), "relatives": relatives}


def dump_evidence(evidence: Evidence, seen: str) -> dict[str, Any]:
    """Return the evidence of a pending entry as JSON. A confirmation sends `seen` back: it stands for all of this."""
    source = {"quote": evidence.quote, "link": evidence.link, "role": evidence.role, "said_at": evidence.turn_at}
    return {"entry": evidence.location.as_json(), **source, "replaces": list(evidence.replaces), "seen": seen}


def dump_hits(ws: Workspace, hits: Sequence[Hit], query: str) -> list[dict[str, Any]]:
    """Return search results as JSON, with the passages of each."""
    passages, changes = load_passages(ws, hits, query), count_changed_files(list_touched(hits))
    return [
        _dump_hit(hit)
        | {"passages": [one.as_json() for one in found], "changed_since": asdict(changed) if changed else None}
        for hit, found, changed in zip(hits, passages, changes, strict=True)
    ]


def _dump_hit(hit: Hit) -> dict[str, Any]:
    hit = replace(hit, snippet=" ".join(hit.snippet.split()))
    parts = [{"text": strip_markup(text), "matched": matched} for text, matched in hit.split_snippet() if text]
    named = {"title": name_entry(hit.entry.text), "entry": hit.entry.as_json()} if hit.entry else {"entry": None}
    return hit.as_json() | {"parts": parts, **named}
