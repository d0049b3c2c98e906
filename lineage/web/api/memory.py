"""Books and their entries, the import of notes, and the state of the whole workspace."""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lineage.app.locations import format_location
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef
from lineage.errors import InvalidInput
from lineage.pipeline.capture.model_quota import read_usage
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory import books
from lineage.pipeline.memory.migrate_notes import STATES, MigrationRequest, migrate_notes
from lineage.pipeline.memory.remember import Memo, remember
from lineage.web import models
from lineage.web.routes import GET, PATCH, POST, Reply, Route, RouteParameter, WebCall
from lineage.web.schema import ANYTHING, BOOLEAN, COUNTS, INTEGER, TEXT, Schema, list_of, nullable, one_of, record
from lineage.workspace.lookup import read_status
from lineage.workspace.workspace import Workspace

_MAX_PATHS = 100
_ACCEPTED = ("remembered", "pending", "known")
_ID = RouteParameter("id", "An entry's id, or the beginning of it.", required=True)
_SCOPE = RouteParameter("scope", "global, project/NAME, agent/ID, peer/ID or session/TOKEN.", default=GLOBAL)


def _migrate(ws: Workspace, call: WebCall) -> Any:
    """Import notes. Files are read for a local client only, as transcripts are."""
    if not call.service.is_local:
        raise InvalidInput("paths are files of this machine", hint="run `lineage book migrate` there")
    paths = tuple(map(Path, call.body["paths"]))
    if not paths or not all(path.is_absolute() and "\0" not in str(path) for path in paths):
        raise InvalidInput("a path isn't absolute", hint="give whole paths of files or folders, at least one")
    is_dry = call.body.get("dry_run", False)
    asked = MigrationRequest(paths=paths, root=call.service.root, agent_id=call.body.get("agent_id"), is_dry_run=is_dry)
    found = migrate_notes(ws, asked, call.service.caller)
    is_whole = all(one.is_complete for one in found)
    return {"dry_run": is_dry, "whole": is_whole, "files": [one.as_json() for one in found]}


_MIGRATED_ENTRY = record(
    {"line": INTEGER, "scope": TEXT, "kind": TEXT, "state": one_of(*STATES), "reason": nullable(TEXT)}
)
_MIGRATED_FILE: Schema = record({
    "path": TEXT, "skipped": nullable(TEXT), "problem": nullable(TEXT), "counts": COUNTS, "redactions": COUNTS,
    "entries": list_of(_MIGRATED_ENTRY),
})  # fmt: skip


def _list_books(ws: Workspace, call: WebCall) -> Any:
    return {"books": [book.as_json() for book in books.list_books(ws, call.text("scope") or None)]}


def _list_entries(ws: Workspace, call: WebCall) -> Any:
    ref = BookRef(call.text("scope"), call.text("kind"), call.text("shelf"))
    shelf = books.read_contents(ws, ref)
    head = {"scope": ref.scope, "kind": ref.kind, "shelf": ref.shelf, "path": ref.path}
    entries = [place.as_json() for place in shelf.entries]
    return {**head, "entries": entries, "forgotten": sorted(shelf.forgotten), "problems": list(shelf.problems)}


def _remember(ws: Workspace, call: WebCall) -> Any:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in call.body.items()}
    outcome = remember(ws, Memo(**values), call.service.caller)
    return Reply(asdict(outcome), 201 if outcome.status in _ACCEPTED else 409)


def _get_evidence(ws: Workspace, call: WebCall) -> Any:
    (evidence,) = books.load_evidence(ws, [call.text("id")])
    return models.dump_evidence(evidence, hash_evidence(evidence))


def hash_evidence(evidence: books.Evidence) -> str:
    """Return a hash of all shown evidence of a pending entry: it changes if any part does."""
    location = evidence.location
    source = (evidence.quote, evidence.link, evidence.role, evidence.turn_at, evidence.replaces)
    shown = (*source, location.entry._asdict(), location.ref.path)
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def confirm_evidence(ws: Workspace, call: WebCall, entry_id: str, seen: str) -> books.EntryLocation:
    """Put the pending entry in force as shown. Raises InvalidInput if it changed since."""
    shown = books.load_evidence(ws, [entry_id])
    if not hmac.compare_digest(hash_evidence(shown[0]).encode(), seen.encode()):
        entry_id = shown[0].location.entry.id
        raise InvalidInput(f"{entry_id} isn't what was shown", hint="look at it again, then confirm it")
    return books.confirm_entries(ws, shown, call.service.caller)[0]


_MEMO_BODY = record(
    {"text": TEXT},
    {
        "scope": nullable(TEXT), "kind": TEXT, "agent_id": TEXT, "project": nullable(TEXT),
        "tags": {**list_of(TEXT), "maxItems": 50}, "supersedes": {**list_of(TEXT), "maxItems": 50},
    },
)  # fmt: skip
_ENTRY_RESPONSE: Schema = record({"entry": models.ENTRY})
_BOOK_RESPONSE: Schema = record({
    "scope": TEXT, "kind": TEXT, "shelf": TEXT, "path": TEXT, "entries": list_of(models.ENTRY),
    "forgotten": list_of(TEXT), "problems": list_of(TEXT),
})  # fmt: skip


def _change_route(
    path: str, name: str, about: str, body: Schema, change: Callable[[Workspace, WebCall], Any], method: str = POST
) -> Route:
    def run(ws: Workspace, call: WebCall) -> Any:
        return {"entry": change(ws, call).as_json()}

    return Route(
        method, f"/entries/{{id}}{path}", name, about, parameters=(_ID,), body=body,
        response=_ENTRY_RESPONSE, run=run,
    )  # fmt: skip


ROUTES = (
    Route(GET, "/books", "listBooks", "The books, with how many entries each has.",
        parameters=(RouteParameter("scope", "Only the books of one scope."),),
        response=record({"books": list_of(models.BOOK)}), run=_list_books, needs_index=False),
    Route(GET, "/entries", "listEntries", "The entries of a book.",
        parameters=(
            _SCOPE, RouteParameter("kind", "Which book of the scope.", required=True),
            RouteParameter("shelf", f"`{PENDING}` for what waits, a year for that archive."),
        ), response=_BOOK_RESPONSE, run=_list_entries, needs_index=False),
    Route(POST, "/entries", "addEntry", "Remember a text. What is said here counts as the user's.",
        body=_MEMO_BODY, response=models.REMEMBERED, run=_remember,
        statuses={201: "It is remembered, waits, or was known.",
        409: "Nothing was written; `reason` and `hint` say why."}),
    Route(GET, "/entries/{id}", "getEntry", "An entry.", parameters=(_ID,), response=_ENTRY_RESPONSE, needs_index=False,
        run=lambda ws, call: {"entry": books.find_entry(ws, call.text("id")).as_json()}),
    _change_route("", "editEntry", "Give an entry another text.", record({"text": TEXT}), method=PATCH,
        change=lambda ws, call: books.edit_entry(ws, call.text("id"), call.body["text"], call.service.caller)),
    _change_route("/done", "tickTask", "Tick a task, or open it again.", record({}, {"done": BOOLEAN}),
        lambda ws, call: books.set_task_done(ws, call.text("id"), is_done=call.body.get("done", True))),
    _change_route("/pin", "pinEntry", "Keep an entry from rolling over, or let it.", record({}, {"pinned": BOOLEAN}),
        lambda ws, call: books.pin_entry(
            ws, call.text("id"), pinned=call.body.get("pinned", True), caller=call.service.caller
        )),
    _change_route("/demote", "demoteEntry", "Move an entry to another scope.", record({"scope": TEXT}),
        lambda ws, call: books.demote_entry(ws, call.text("id"), call.body["scope"], call.service.caller)),
    _change_route("/forget", "forgetEntry", "Forget an entry; it doesn't come back.", record({}),
        lambda ws, call: books.forget_entry(ws, call.text("id"), call.service.caller)),
    Route(GET, "/entries/{id}/evidence", "getEvidence",
        "What has to be seen of an entry that waits: the words it came from, who said them and where.",
        parameters=(_ID,), response=models.EVIDENCE, run=_get_evidence),
    _change_route(
        "/confirm", "confirmEntry", "Put in force what waits, as it was shown: `seen` comes from its evidence.",
        record({"seen": TEXT}), lambda ws, call: confirm_evidence(ws, call, call.text("id"), call.body["seen"]),
    ),
    Route(GET, "/pending", "listPending", "The entries that wait for the user.",
        response=record({"entries": list_of(models.ENTRY)}), needs_index=False,
        run=lambda ws, _: {"entries": [place.as_json() for book in books.list_books(ws) for place in book.waiting]}),
    Route(GET, "/status", "getStatus",
        "What the workspace holds and what is unfinished; `csrf` is what changes bring along.",
        response={"type": "object", "required": ["workspace", "csrf"], "properties": {"workspace": TEXT, "csrf": TEXT}},
        run=lambda ws, call: {
            "workspace": format_location(call.service.root), "csrf": call.csrf, **read_status(ws),
            "model": read_usage(ws),
        }),
    Route(GET, "/verify", "verify", "Every promise of the format that is broken. Reads all files.",
        response=record({"findings": list_of(models.FINDING)}),
        run=lambda ws, _: {"findings": [asdict(finding) for finding in verify(ws)]}),
    Route(GET, "/openapi.json", "getOpenApi", "This document.", response=ANYTHING,
        run=lambda _, call: call.service.openapi_document, needs_index=False),
    Route(POST, "/migrate", "migrateNotes",
        "Bring notes into books, as `lineage book migrate` does; the files stay. On this machine alone, and for "
        "the user alone: what is dry changes nothing. `whole` says that nothing was left out.",
        body=record(
            {"paths": {**list_of(TEXT), "maxItems": _MAX_PATHS}}, {"agent_id": nullable(TEXT), "dry_run": BOOLEAN}
        ), response=record({"dry_run": BOOLEAN, "whole": BOOLEAN, "files": list_of(_MIGRATED_FILE)}), run=_migrate),
)  # fmt: skip
