"""Books and their entries, the import of notes, and the state of the whole workspace."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from lineage.app.locations import format_location
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.errors import InvalidInput
from lineage.pipeline.capture.model_quota import read_usage
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory import books
from lineage.pipeline.memory.book_overviews import list_books
from lineage.pipeline.memory.migrate_notes import MigrationRequest, migrate_notes
from lineage.pipeline.memory.remember import Memo, RememberResult, remember
from lineage.pipeline.memory.waiting_entries import Evidence, confirm_entries, load_evidence
from lineage.web import models
from lineage.web.routes import GET, PATCH, POST, Reply, Route, WebCall
from lineage.workspace.lookup import read_status
from lineage.workspace.workspace import Workspace

_ACCEPTED = ("remembered", "pending", "known")
Ids = Annotated[Sequence[str], Field(max_length=50)]
EntryId = Annotated[str, Field(description="An entry's id, or the beginning of it.")]


def _migrate(
    ws: Workspace, call: WebCall, *, paths: Annotated[list[str], Field(max_length=100)], agent_id: str | None = None,
    dry_run: bool = False,
) -> Any:  # fmt: skip
    """Import notes. Files are read for a local client only, as transcripts are."""
    if not call.service.is_local:
        raise InvalidInput("paths are files of this machine", hint="run `lineage memory migrate` there")
    files = tuple(map(Path, paths))
    if not files or not all(path.is_absolute() and "\0" not in str(path) for path in files):
        raise InvalidInput("a path isn't absolute", hint="give whole paths of files or folders, at least one")
    asked = MigrationRequest(paths=files, root=call.service.root, agent_id=agent_id, is_dry_run=dry_run)
    found = migrate_notes(ws, asked, call.service.caller)
    is_whole = all(one.is_complete for one in found)
    return {"dry_run": dry_run, "whole": is_whole, "files": [one.as_json() for one in found]}


def _list_books(
    ws: Workspace, call: WebCall, *,
    scope: Annotated[str | None, Field(description="Only the books of one scope.")] = None,
) -> Any:  # fmt: skip
    return {"books": [book.as_json() for book in list_books(ws, scope)]}


def _list_entries(
    ws: Workspace, call: WebCall, *, kind: Annotated[str, Field(description="Which book of the scope.")],
    scope: Annotated[str, Field(description="global, project/NAME, agent/ID, peer/ID or session/TOKEN.")] = GLOBAL,
    shelf: Annotated[str, Field(description=f"`{PENDING}` for what waits, a year for that archive.")] = "",
) -> Any:  # fmt: skip
    ref = BookRef(scope, kind, shelf)
    found = books.read_contents(ws, ref)
    head = {"scope": ref.scope, "kind": ref.kind, "shelf": ref.shelf, "path": ref.path}
    entries = [place.as_json() for place in found.entries]
    return {**head, "entries": entries, "forgotten": sorted(found.forgotten), "problems": list(found.problems)}


def _list_pending(ws: Workspace, call: WebCall) -> Any:
    return {"entries": [place.as_json() for book in list_books(ws) for place in book.waiting]}


def _remember(
    ws: Workspace, call: WebCall, *, text: str, scope: str | None = None, kind: str = "note",
    agent_id: str = DEFAULT_AGENT, project: str | None = None, tags: Ids = (), supersedes: Ids = (),
    about: Ids = (),
) -> Any:  # fmt: skip
    memo = Memo(
        text=text, scope=scope, kind=kind, agent_id=agent_id, project=project, tags=tuple(tags),
        supersedes=tuple(supersedes), about=tuple(about),
    )  # fmt: skip
    outcome = remember(ws, memo, call.service.caller)
    return Reply(asdict(outcome), 201 if outcome.status in _ACCEPTED else 409)


def _get_entry(ws: Workspace, call: WebCall, *, id: EntryId) -> Any:
    return _answer(books.find_entry(ws, id))


def _edit(ws: Workspace, call: WebCall, *, id: EntryId, text: str) -> Any:
    return _answer(books.edit_entry(ws, id, text, call.service.caller))


def _set_done(ws: Workspace, call: WebCall, *, id: EntryId, done: bool = True) -> Any:
    return _answer(books.set_task_done(ws, id, is_done=done))


def _pin(ws: Workspace, call: WebCall, *, id: EntryId, pinned: bool = True) -> Any:
    return _answer(books.pin_entry(ws, id, pinned=pinned, caller=call.service.caller))


def _move(ws: Workspace, call: WebCall, *, id: EntryId, scope: str) -> Any:
    return _answer(books.move_entry(ws, id, scope, call.service.caller))


def _forget(ws: Workspace, call: WebCall, *, id: EntryId) -> Any:
    return _answer(books.forget_entry(ws, id, call.service.caller))


def _get_evidence(ws: Workspace, call: WebCall, *, id: EntryId) -> Any:
    (evidence,) = load_evidence(ws, [id])
    return models.dump_evidence(evidence, hash_evidence(evidence))


def _confirm(ws: Workspace, call: WebCall, *, id: EntryId, seen: str) -> Any:
    return _answer(confirm_evidence(ws, call, id, seen))


def _answer(place: books.EntryLocation) -> dict[str, Any]:
    return {"entry": place.as_json()}


def _get_status(ws: Workspace, call: WebCall) -> Any:
    where = format_location(call.service.root)
    return {"workspace": where, "csrf": call.csrf, **read_status(ws), "model": read_usage(ws)}


def _verify(ws: Workspace, call: WebCall) -> Any:
    return {"findings": [asdict(finding) for finding in verify(ws)]}


def _get_document(ws: Workspace, call: WebCall) -> Any:
    return call.service.openapi_document


def hash_evidence(evidence: Evidence) -> str:
    """Return a hash of all shown evidence of a pending entry: it changes if any part does."""
    location = evidence.location
    source = (evidence.quote, evidence.link, evidence.role, evidence.turn_at, evidence.replaces)
    shown = (*source, location.entry._asdict(), location.ref.path)
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def confirm_evidence(ws: Workspace, call: WebCall, entry_id: str, seen: str) -> books.EntryLocation:
    """Put the pending entry in force as shown. Raises InvalidInput if it changed since."""
    shown = load_evidence(ws, [entry_id])
    if not hmac.compare_digest(hash_evidence(shown[0]).encode(), seen.encode()):
        entry_id = shown[0].location.entry.id
        raise InvalidInput(f"{entry_id} isn't what was shown", hint="look at it again, then confirm it")
    return confirm_entries(ws, shown, call.service.caller)[0]


ROUTES = (
    Route(GET, "/books", "listBooks", "The books, with how many entries each has.",
        answer=models.Books, run=_list_books, needs_index=False),
    Route(GET, "/entries", "listEntries", "The entries of a book.",
        answer=models.ReadBook, run=_list_entries, needs_index=False),
    Route(POST, "/entries", "addEntry", "Remember a text. What is said here counts as the user's.",
        answer=RememberResult, run=_remember,
        statuses={201: "It is remembered, waits, or was known.",
        409: "Nothing was written; `reason` and `hint` say why."}),
    Route(GET, "/entries/{id}", "getEntry", "An entry.", answer=models.OneEntry, run=_get_entry),
    Route(PATCH, "/entries/{id}", "editEntry", "Give an entry another text.", answer=models.OneEntry, run=_edit),
    Route(POST, "/entries/{id}/done", "tickTask", "Tick a task, or open it again.",
        answer=models.OneEntry, run=_set_done),
    Route(POST, "/entries/{id}/pin", "pinEntry", "Keep an entry from rolling over, or let it.",
        answer=models.OneEntry, run=_pin),
    Route(POST, "/entries/{id}/demote", "demoteEntry", "Move an entry to another scope.",
        answer=models.OneEntry, run=_move),
    Route(POST, "/entries/{id}/forget", "forgetEntry", "Forget an entry; it doesn't come back.",
        answer=models.OneEntry, run=_forget),
    Route(GET, "/entries/{id}/evidence", "getEvidence",
        "What has to be seen of an entry that waits: the words it came from, who said them and where.",
        answer=models.ShownEvidence, run=_get_evidence),
    Route(POST, "/entries/{id}/confirm", "confirmEntry",
        "Put in force what waits, as it was shown: `seen` comes from its evidence.",
        answer=models.OneEntry, run=_confirm),
    Route(GET, "/pending", "listPending", "The entries that wait for the user.",
        answer=models.Entries, run=_list_pending, needs_index=False),
    Route(GET, "/status", "getStatus",
        "What the workspace holds and what is unfinished; `csrf` is what changes bring along.",
        answer=dict[str, Any], run=_get_status),
    Route(GET, "/verify", "verify", "Every promise of the format that is broken. Reads all files.",
        answer=models.Findings, run=_verify),
    Route(GET, "/openapi.json", "getOpenApi", "This document.",
        answer=dict[str, Any], run=_get_document, needs_index=False),
    Route(POST, "/migrate", "migrateNotes",
        "Bring notes into books, as `lineage memory migrate` does; the files stay. On this machine alone, and for "
        "the user alone: what is dry changes nothing. `whole` says that nothing was left out.",
        answer=models.Migrated, run=_migrate),
)  # fmt: skip
