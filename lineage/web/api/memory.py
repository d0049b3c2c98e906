"""Books and their entries, and the state of the whole workspace."""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lineage.app.locations import format_location
from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.base.privacy import GLOBAL
from lineage.errors import InvalidInput
from lineage.pipeline.capture.model_quota import read_usage
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory import books
from lineage.pipeline.memory.books import EntryLocation, find_entry, list_books, read_contents
from lineage.pipeline.memory.confirm import Evidence, confirm_entries, load_evidence
from lineage.pipeline.memory.remember import Memo, remember
from lineage.web import models
from lineage.web.routes import GET, PATCH, POST, Reply, Route, RouteParameter, WebCall
from lineage.web.schema import ANYTHING, BOOLEAN, TEXT, Schema, list_of, nullable, record
from lineage.workspace.lookup import read_status
from lineage.workspace.workspace import Workspace

_ACCEPTED = ("remembered", "pending", "known")
_ID = RouteParameter(name="id", about="An entry's id, or the beginning of it.", required=True)
_SCOPE = RouteParameter(name="scope", about="global, project/NAME, agent/ID, peer/ID or session/TOKEN.", default=GLOBAL)


def _list_books(ws: Workspace, call: WebCall) -> Any:
    return {"books": [models.dump_book(book) for book in list_books(ws, call.text("scope") or None)]}


def _list_entries(ws: Workspace, call: WebCall) -> Any:
    ref = BookRef(call.text("scope"), call.text("kind"), call.text("shelf"))
    shelf = read_contents(ws, ref)
    head = {"scope": ref.scope, "kind": ref.kind, "shelf": ref.shelf, "path": ref.path}
    entries = [place.as_json() for place in shelf.entries]
    return {**head, "entries": entries, "forgotten": sorted(shelf.forgotten), "problems": list(shelf.problems)}


def _list_pending(ws: Workspace, _: WebCall) -> Any:
    return {"entries": [place.as_json() for book in list_books(ws) for place in book.waiting]}


def _get_entry(ws: Workspace, call: WebCall) -> Any:
    return {"entry": find_entry(ws, call.text("id")).as_json()}


def _remember(ws: Workspace, call: WebCall) -> Any:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in call.body.items()}
    outcome = remember(ws, Memo(**values), call.service.caller)
    return Reply(asdict(outcome), 201 if outcome.status in _ACCEPTED else 409)


def _returning_entry(change: Callable[[Workspace, WebCall], EntryLocation]) -> Callable[[Workspace, WebCall], Any]:
    return lambda ws, call: {"entry": change(ws, call).as_json()}


def _edit(ws: Workspace, call: WebCall) -> EntryLocation:
    return books.edit_entry(ws, call.text("id"), call.body["text"], call.service.caller)


def _tick_task(ws: Workspace, call: WebCall) -> EntryLocation:
    return books.set_task_done(ws, call.text("id"), is_done=call.body.get("done", True))


def _pin(ws: Workspace, call: WebCall) -> EntryLocation:
    return books.pin_entry(ws, call.text("id"), pinned=call.body.get("pinned", True), caller=call.service.caller)


def _demote(ws: Workspace, call: WebCall) -> EntryLocation:
    return books.demote_entry(ws, call.text("id"), call.body["scope"], call.service.caller)


def _forget(ws: Workspace, call: WebCall) -> EntryLocation:
    return books.forget_entry(ws, call.text("id"), call.service.caller)


def _confirm(ws: Workspace, call: WebCall) -> EntryLocation:
    return confirm_evidence(ws, call, call.text("id"), call.body["seen"])


def _get_evidence(ws: Workspace, call: WebCall) -> Any:
    (evidence,) = load_evidence(ws, [call.text("id")])
    return models.dump_evidence(evidence, hash_evidence(evidence))


def hash_evidence(evidence: Evidence) -> str:
    """Return a hash of all shown evidence of a pending entry: it changes if any part does."""
    shown = (
        evidence.quote,
        evidence.link,
        evidence.role,
        evidence.turn_at,
        evidence.replaces,
        evidence.location.entry._asdict(),
        evidence.location.ref.path,
    )
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def confirm_evidence(ws: Workspace, call: WebCall, entry_id: str, seen: str) -> EntryLocation:
    """Put the pending entry in force as shown. Raises InvalidInput if it changed since."""
    shown = load_evidence(ws, [entry_id])
    if not hmac.compare_digest(hash_evidence(shown[0]).encode(), seen.encode()):
        raise InvalidInput(
            f"{shown[0].location.entry.id} isn't what was shown", hint="look at it again, then confirm it"
        )
    return confirm_entries(ws, shown, call.service.caller)[0]


def _get_status(ws: Workspace, call: WebCall) -> Any:
    return {
        "workspace": format_location(call.service.root),
        "csrf": call.csrf,
        **read_status(ws),
        "model": read_usage(ws),
    }


def _verify(ws: Workspace, _: WebCall) -> Any:
    return {"findings": [asdict(finding) for finding in verify(ws)]}


def _get_openapi(_: Workspace, call: WebCall) -> Any:
    return call.service.openapi_document


_MEMO_BODY = record(
    {"text": TEXT},
    {
        "scope": nullable(TEXT), "kind": TEXT, "agent_id": TEXT, "project": nullable(TEXT),
        "tags": {**list_of(TEXT), "maxItems": 50}, "supersedes": {**list_of(TEXT), "maxItems": 50},
    },
)  # fmt: skip
_ENTRY_RESPONSE: Schema = record({"entry": models.ENTRY})
_BOOK_RESPONSE: Schema = record(
    {
        "scope": TEXT, "kind": TEXT, "shelf": TEXT, "path": TEXT, "entries": list_of(models.ENTRY),
        "forgotten": list_of(TEXT), "problems": list_of(TEXT),
    }
)  # fmt: skip

ROUTES = (
    Route(
        method=GET, path="/books", name="listBooks", about="The books, with how many entries each has.",
        parameters=(RouteParameter(name="scope", about="Only the books of one scope."),),
        response=record({"books": list_of(models.BOOK)}), run=_list_books, needs_index=False,
    ),
    Route(
        method=GET, path="/entries", name="listEntries", about="The entries of a book.",
        parameters=(
            _SCOPE, RouteParameter(name="kind", about="Which book of the scope.", required=True),
            RouteParameter(name="shelf", about=f"`{PENDING}` for what waits, a year for that archive."),
        ),
        response=_BOOK_RESPONSE, run=_list_entries, needs_index=False,
    ),
    Route(
        method=POST, path="/entries", name="addEntry", about="Remember a text. What is said here counts as the user's.",
        body=_MEMO_BODY, response=models.REMEMBERED, run=_remember,
        statuses={201: "It is remembered, waits, or was known.",
        409: "Nothing was written; `reason` and `hint` say why."},
    ),
    Route(
        method=GET, path="/entries/{id}", name="getEntry", about="An entry.", parameters=(_ID,),
        response=_ENTRY_RESPONSE,
        run=_get_entry, needs_index=False,
    ),
    Route(
        method=PATCH, path="/entries/{id}", name="editEntry", about="Give an entry another text.", parameters=(_ID,),
        body=record({"text": TEXT}), response=_ENTRY_RESPONSE, run=_returning_entry(_edit),
    ),
    Route(
        method=POST, path="/entries/{id}/done", name="tickTask", about="Tick a task, or open it again.",
        parameters=(_ID,), body=record({}, {"done": BOOLEAN}), response=_ENTRY_RESPONSE,
        run=_returning_entry(_tick_task),
    ),
    Route(
        method=POST, path="/entries/{id}/pin", name="pinEntry", about="Keep an entry from rolling over, or let it.",
        parameters=(_ID,), body=record({}, {"pinned": BOOLEAN}), response=_ENTRY_RESPONSE, run=_returning_entry(_pin),
    ),
    Route(
        method=POST, path="/entries/{id}/demote", name="demoteEntry", about="Move an entry to another scope.",
        parameters=(_ID,), body=record({"scope": TEXT}), response=_ENTRY_RESPONSE, run=_returning_entry(_demote),
    ),
    Route(
        method=POST, path="/entries/{id}/forget", name="forgetEntry", about="Forget an entry; it doesn't come back.",
        parameters=(_ID,), body=record({}), response=_ENTRY_RESPONSE, run=_returning_entry(_forget),
    ),
    Route(
        method=GET, path="/entries/{id}/evidence", name="getEvidence",
        about="What has to be seen of an entry that waits: the words it came from, who said them and where.",
        parameters=(_ID,), response=models.EVIDENCE, run=_get_evidence,
    ),
    Route(
        method=POST, path="/entries/{id}/confirm", name="confirmEntry",
        about="Put in force what waits, as it was shown: `seen` comes from its evidence.",
        parameters=(_ID,), body=record({"seen": TEXT}), response=_ENTRY_RESPONSE, run=_returning_entry(_confirm),
    ),
    Route(
        method=GET, path="/pending", name="listPending", about="The entries that wait for the user.",
        response=record({"entries": list_of(models.ENTRY)}), run=_list_pending, needs_index=False,
    ),
    Route(
        method=GET, path="/status", name="getStatus",
        about="What the workspace holds and what is unfinished; `csrf` is what changes bring along.",
        response={"type": "object", "required": ["workspace", "csrf"], "properties": {"workspace": TEXT, "csrf": TEXT}},
        run=_get_status,
    ),
    Route(
        method=GET, path="/verify", name="verify", about="Every promise of the format that is broken. Reads all files.",
        response=record({"findings": list_of(models.FINDING)}), run=_verify,
    ),
    Route(
        method=GET, path="/openapi.json", name="getOpenApi", about="This document.", response=ANYTHING,
        run=_get_openapi, needs_index=False,
    ),
)  # fmt: skip
