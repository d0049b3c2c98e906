"""Pages about memory: the panels, what their buttons do, and what is shown before something is confirmed."""

import re
from collections.abc import Callable, Mapping

from lineage.core.entry import DERIVED, USER_STATED
from lineage.errors import InvalidInput
from lineage.pipeline.house import House
from lineage.pipeline.knowledge import bookkeeping
from lineage.pipeline.knowledge.bookkeeping import DONE, PINNED, STANDING, SUPERSEDED, WAITING, found
from lineage.pipeline.knowledge.confirming import evidence
from lineage.pipeline.knowledge.remembering import Memo, remember
from lineage.web.api.memory import confirm_seen, seen_of
from lineage.web.pages import panels
from lineage.web.pages.page import Moved, Page, Shown
from lineage.web.routes import POST, Call, Parameter

_BACK = re.compile(r"/memory|/sessions/[a-z2-7]{16}")
_ID = Parameter(name="id", about="An entry's id.", required=True)
_STATES = (STANDING, PINNED, DONE, SUPERSEDED, WAITING)
_KINDS = ("note", "preference", "decision", "fact", "lesson", "task")


def _memory(house: House, call: Call) -> Shown:
    wanted = panels.Filter(call.text("filter"), call.text("trust"), call.text("state"))
    said = found(house, call.text("from")).entry.body if call.text("from") else ""
    return Shown(
        "memory.html",
        {
            "panels": panels.of_workspace(house, wanted),
            "filter": wanted,
            "trusts": (USER_STATED, DERIVED),
            "states": _STATES,
            "kinds": _KINDS,
            "scopes": panels.scopes(house),
            "back": "/memory",
            "did": call.text("did"),
            "said": said,
        },
    )


def _remember(house: House, call: Call) -> Moved:
    scope, kind = call.body.get("scope") or None, call.body.get("kind") or "note"
    outcome = remember(house, Memo(text=call.body.get("text", ""), scope=scope, kind=kind), call.service.caller)
    if outcome.id is None or outcome.status == "forgotten":
        raise InvalidInput(f"nothing was written: {outcome.reason or outcome.status}", hint=outcome.hint)
    return Moved(f"/memory?did={outcome.status}#e-{outcome.id}")


def _ask(house: House, call: Call) -> Shown:
    (one,) = evidence(house, [call.text("id")])
    return Shown("confirm.html", {"one": one, "seen": seen_of(one)})


def _confirm(house: House, call: Call) -> Moved:
    place = confirm_seen(house, call, call.text("id"), call.body.get("seen", ""))
    return Moved(f"/memory?did=confirmed#e-{place.entry.id}")


def _pin(house: House, call: Call) -> str:
    return bookkeeping.pin(house, call.text("id"), caller=call.service.caller).entry.id


def _unpin(house: House, call: Call) -> str:
    return bookkeeping.pin(house, call.text("id"), pinned=False, caller=call.service.caller).entry.id


def _done(house: House, call: Call) -> str:
    return bookkeeping.done(house, call.text("id")).entry.id


def _reopen(house: House, call: Call) -> str:
    return bookkeeping.done(house, call.text("id"), is_done=False).entry.id


def _edit(house: House, call: Call) -> str:
    return bookkeeping.edit(house, call.text("id"), call.body.get("text", ""), call.service.caller).entry.id


def _demote(house: House, call: Call) -> str:
    return bookkeeping.demote(house, call.text("id"), call.body.get("scope", ""), call.service.caller).entry.id


def _forget(house: House, call: Call) -> str:
    bookkeeping.forget(house, call.text("id"), call.service.caller)
    return ""


DEEDS: Mapping[str, tuple[str, Callable[[House, Call], str]]] = {
    "pin": ("pinned", _pin),
    "unpin": ("unpinned", _unpin),
    "done": ("done", _done),
    "reopen": ("reopened", _reopen),
    "edit": ("edited", _edit),
    "demote": ("moved", _demote),
    "forget": ("forgotten", _forget),
}


def _doing(name: str) -> Callable[[House, Call], Moved]:
    """What a button does, and back to the page that it stood on, at the entry that is left."""
    said, deed = DEEDS[name]

    def act(house: House, call: Call) -> Moved:
        back = call.body.get("back", "")
        entry_id = deed(house, call)
        page = back if _BACK.fullmatch(back) else "/memory"
        return Moved(f"{page}?did={said}" + (f"#e-{entry_id}" if entry_id else ""))

    return act


PAGES: tuple[Page, ...] = (
    Page(
        path="/memory",
        act=_memory,
        parameters=(
            Parameter(name="filter", about="Words that an entry has."),
            Parameter(name="trust", about="How far it is trusted.", choices=(USER_STATED, DERIVED)),
            Parameter(name="state", about="Its state.", choices=_STATES),
            Parameter(name="did", about="What was done."),
            Parameter(name="from", about="An entry whose words are to be said anew."),
        ),
    ),
    Page(path="/entries", method=POST, act=_remember, fields=("text", "scope", "kind")),
    Page(path="/entries/{id}/confirm", act=_ask, parameters=(_ID,)),
    Page(path="/entries/{id}/confirm", method=POST, act=_confirm, parameters=(_ID,), fields=("seen",)),
    *(
        Page(
            path=f"/entries/{{id}}/{name}",
            method=POST,
            act=_doing(name),
            parameters=(_ID,),
            fields=("back", "scope", "text"),
        )
        for name in DEEDS
    ),
)
