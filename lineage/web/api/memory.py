"""Books and their entries, and the state of the whole workspace."""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lineage.app.places import shown
from lineage.core.book_paths import GLOBAL, PENDING, BookRef
from lineage.errors import InvalidInput
from lineage.pipeline.capture.metering import usage
from lineage.pipeline.house import House
from lineage.pipeline.knowledge import bookkeeping
from lineage.pipeline.knowledge.bookkeeping import Place, found, opened, overview
from lineage.pipeline.knowledge.confirming import Evidence, confirm, evidence
from lineage.pipeline.knowledge.remembering import Memo, remember
from lineage.pipeline.lookup import status
from lineage.pipeline.upkeep.verification import verify
from lineage.web import shapes
from lineage.web.routes import GET, PATCH, POST, Call, Parameter, Reply, Route
from lineage.web.schema import ANYTHING, FLAG, TEXT, Schema, listed, maybe, record

_TAKEN = ("remembered", "pending", "known")
_ID = Parameter(name="id", about="An entry's id, or the beginning of it.", required=True)
_SCOPE = Parameter(name="scope", about="global, project/NAME, agent/ID, peer/ID or session/TOKEN.", default=GLOBAL)


def _books(house: House, call: Call) -> Any:
    return {"books": [shapes.book(book) for book in overview(house, call.text("scope") or None)]}


def _entries(house: House, call: Call) -> Any:
    ref = BookRef(call.text("scope"), call.text("kind"), call.text("shelf"))
    shelf = opened(house, ref)
    head = {"scope": ref.scope, "kind": ref.kind, "shelf": ref.shelf, "path": ref.path}
    entries = [place.as_json() for place in shelf.places]
    return {**head, "entries": entries, "forgotten": sorted(shelf.forgotten), "problems": list(shelf.problems)}


def _pending(house: House, _: Call) -> Any:
    return {"entries": [place.as_json() for book in overview(house) for place in book.waiting]}


def _entry(house: House, call: Call) -> Any:
    return {"entry": found(house, call.text("id")).as_json()}


def _remember(house: House, call: Call) -> Any:
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in call.body.items()}
    outcome = remember(house, Memo(**given), call.service.caller)
    return Reply(asdict(outcome), 201 if outcome.status in _TAKEN else 409)


def _changing(change: Callable[[House, Call], Place]) -> Callable[[House, Call], Any]:
    return lambda house, call: {"entry": change(house, call).as_json()}


def _edit(house: House, call: Call) -> Place:
    return bookkeeping.edit(house, call.text("id"), call.body["text"], call.service.caller)


def _done(house: House, call: Call) -> Place:
    return bookkeeping.done(house, call.text("id"), is_done=call.body.get("done", True))


def _pin(house: House, call: Call) -> Place:
    return bookkeeping.pin(house, call.text("id"), pinned=call.body.get("pinned", True), caller=call.service.caller)


def _demote(house: House, call: Call) -> Place:
    return bookkeeping.demote(house, call.text("id"), call.body["scope"], call.service.caller)


def _forget(house: House, call: Call) -> Place:
    return bookkeeping.forget(house, call.text("id"), call.service.caller)


def _confirm(house: House, call: Call) -> Place:
    return confirm_seen(house, call, call.text("id"), call.body["seen"])


def _evidence(house: House, call: Call) -> Any:
    (one,) = evidence(house, [call.text("id")])
    return shapes.evidence(one, seen_of(one))


def seen_of(one: Evidence) -> str:
    """What stands for all that a person is shown of an entry that waits: it changes where any of it does."""
    said = (one.quote, one.link, one.role, one.said_at, one.replaces, one.place.entry._asdict(), one.place.ref.path)
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def confirm_seen(house: House, call: Call, entry_id: str, seen: str) -> Place:
    """Puts in force what was shown, as it was shown. Raises InvalidInput where it has changed since."""
    shown = evidence(house, [entry_id])
    if not hmac.compare_digest(seen_of(shown[0]).encode(), seen.encode()):
        raise InvalidInput(f"{shown[0].place.entry.id} isn't what was shown", hint="look at it again, then confirm it")
    return confirm(house, shown, call.service.caller)[0]


def _status(house: House, call: Call) -> Any:
    return {"workspace": shown(call.service.root), "csrf": call.csrf, **status(house), "model": usage(house)}


def _verify(house: House, _: Call) -> Any:
    return {"findings": [asdict(finding) for finding in verify(house)]}


def _document(_: House, call: Call) -> Any:
    return call.service.document


_MEMO = record(
    {"text": TEXT},
    {
        "scope": maybe(TEXT), "kind": TEXT, "agent_id": TEXT, "project": maybe(TEXT),
        "tags": {**listed(TEXT), "maxItems": 50}, "supersedes": {**listed(TEXT), "maxItems": 50},
    },
)  # fmt: skip
_CHANGED: Schema = record({"entry": shapes.ENTRY})
_SHELF: Schema = record(
    {
        "scope": TEXT, "kind": TEXT, "shelf": TEXT, "path": TEXT, "entries": listed(shapes.ENTRY),
        "forgotten": listed(TEXT), "problems": listed(TEXT),
    }
)  # fmt: skip

ROUTES = (
    Route(
        method=GET, path="/books", name="listBooks", about="The books, with how many entries each has.",
        parameters=(Parameter(name="scope", about="Only the books of one scope."),),
        answer=record({"books": listed(shapes.BOOK)}), act=_books, needs_index=False,
    ),
    Route(
        method=GET, path="/entries", name="listEntries", about="The entries of a book.",
        parameters=(
            _SCOPE, Parameter(name="kind", about="Which book of the scope.", required=True),
            Parameter(name="shelf", about=f"`{PENDING}` for what waits, a year for that archive."),
        ),
        answer=_SHELF, act=_entries, needs_index=False,
    ),
    Route(
        method=POST, path="/entries", name="addEntry", about="Remember a text. What is said here counts as the user's.",
        body=_MEMO, answer=shapes.REMEMBERED, act=_remember,
        also={201: "It is remembered, waits, or was known.", 409: "Nothing was written; `reason` and `hint` say why."},
    ),
    Route(
        method=GET, path="/entries/{id}", name="getEntry", about="An entry.", parameters=(_ID,), answer=_CHANGED,
        act=_entry, needs_index=False,
    ),
    Route(
        method=PATCH, path="/entries/{id}", name="editEntry", about="Give an entry another text.", parameters=(_ID,),
        body=record({"text": TEXT}), answer=_CHANGED, act=_changing(_edit),
    ),
    Route(
        method=POST, path="/entries/{id}/done", name="tickTask", about="Tick a task, or open it again.",
        parameters=(_ID,), body=record({}, {"done": FLAG}), answer=_CHANGED, act=_changing(_done),
    ),
    Route(
        method=POST, path="/entries/{id}/pin", name="pinEntry", about="Keep an entry from rolling over, or let it.",
        parameters=(_ID,), body=record({}, {"pinned": FLAG}), answer=_CHANGED, act=_changing(_pin),
    ),
    Route(
        method=POST, path="/entries/{id}/demote", name="demoteEntry", about="Move an entry to another scope.",
        parameters=(_ID,), body=record({"scope": TEXT}), answer=_CHANGED, act=_changing(_demote),
    ),
    Route(
        method=POST, path="/entries/{id}/forget", name="forgetEntry", about="Forget an entry; it doesn't come back.",
        parameters=(_ID,), body=record({}), answer=_CHANGED, act=_changing(_forget),
    ),
    Route(
        method=GET, path="/entries/{id}/evidence", name="getEvidence",
        about="What has to be seen of an entry that waits: the words it came from, who said them and where.",
        parameters=(_ID,), answer=shapes.EVIDENCE, act=_evidence,
    ),
    Route(
        method=POST, path="/entries/{id}/confirm", name="confirmEntry",
        about="Put in force what waits, as it was shown: `seen` comes from its evidence.",
        parameters=(_ID,), body=record({"seen": TEXT}), answer=_CHANGED, act=_changing(_confirm),
    ),
    Route(
        method=GET, path="/pending", name="listPending", about="The entries that wait for the user.",
        answer=record({"entries": listed(shapes.ENTRY)}), act=_pending, needs_index=False,
    ),
    Route(
        method=GET, path="/status", name="getStatus",
        about="What the workspace holds and what is unfinished; `csrf` is what changes bring along.",
        answer={"type": "object", "required": ["workspace", "csrf"], "properties": {"workspace": TEXT, "csrf": TEXT}},
        act=_status,
    ),
    Route(
        method=GET, path="/verify", name="verify", about="Every promise of the format that is broken. Reads all files.",
        answer=record({"findings": listed(shapes.FINDING)}), act=_verify,
    ),
    Route(
        method=GET, path="/openapi.json", name="getOpenApi", about="This document.", answer=ANYTHING,
        act=_document, needs_index=False,
    ),
)  # fmt: skip
