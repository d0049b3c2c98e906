"""Pages about memory: the panels, their buttons, and the evidence shown before a confirmation."""

import re
from collections.abc import Callable, Mapping
from functools import partial

from lineage.core.books.entry import DERIVED, USER_STATED
from lineage.errors import InvalidInput
from lineage.pipeline.memory import books
from lineage.pipeline.memory.remember import Memo, remember
from lineage.web.api.memory import confirm_evidence, hash_evidence
from lineage.web.pages import panels
from lineage.web.routes import POST, Page, Redirect, RouteParameter, TemplateView, WebCall
from lineage.workspace.workspace import Workspace

_BACK_PATH = re.compile(r"/memory|/sessions/[a-z2-7]{16}")
_ID = RouteParameter("id", "An entry's id.", required=True)
_STATES = (books.STANDING, books.PINNED, books.DONE, books.SUPERSEDED, books.WAITING)
_KINDS = ("note", "preference", "decision", "fact", "lesson", "task")


def _show_memory(ws: Workspace, call: WebCall) -> TemplateView:
    wanted = panels.EntryFilter(call.text("filter"), call.text("trust"), call.text("state"))
    said = books.find_entry(ws, call.text("from")).entry.body if call.text("from") else ""
    values = {
        "panels": panels.build_workspace_panels(ws, wanted), "filter": wanted, "trusts": (USER_STATED, DERIVED),
        "states": _STATES, "kinds": _KINDS, "scopes": panels.list_scopes(ws), "back": "/memory",
        "did": call.text("did"), "said": said,
    }  # fmt: skip
    return TemplateView("memory.html", values)


def _remember(ws: Workspace, call: WebCall) -> Redirect:
    scope, kind = call.body.get("scope") or None, call.body.get("kind") or "note"
    outcome = remember(ws, Memo(text=call.body.get("text", ""), scope=scope, kind=kind), call.service.caller)
    if outcome.id is None or outcome.status == "forgotten":
        raise InvalidInput(f"nothing was written: {outcome.reason or outcome.status}", hint=outcome.hint)
    return Redirect(f"/memory?did={outcome.status}#e-{outcome.id}")


def _show_confirmation(ws: Workspace, call: WebCall) -> TemplateView:
    (one,) = books.load_evidence(ws, [call.text("id")])
    return TemplateView("confirm.html", {"one": one, "seen": hash_evidence(one)})


def _confirm(ws: Workspace, call: WebCall) -> Redirect:
    place = confirm_evidence(ws, call, call.text("id"), call.body.get("seen", ""))
    return Redirect(f"/memory?did=confirmed#e-{place.entry.id}")


def _forget(ws: Workspace, call: WebCall) -> None:
    books.forget_entry(ws, call.text("id"), call.service.caller)


def _pin(ws: Workspace, call: WebCall, *, pinned: bool) -> books.EntryLocation:
    return books.pin_entry(ws, call.text("id"), pinned=pinned, caller=call.service.caller)


def _edit(ws: Workspace, call: WebCall) -> books.EntryLocation:
    return books.edit_entry(ws, call.text("id"), call.body.get("text", ""), call.service.caller)


def _demote(ws: Workspace, call: WebCall) -> books.EntryLocation:
    return books.demote_entry(ws, call.text("id"), call.body.get("scope", ""), call.service.caller)


ACTIONS: Mapping[str, tuple[str, Callable[[Workspace, WebCall], books.EntryLocation | None]]] = {
    "pin": ("pinned", partial(_pin, pinned=True)),
    "unpin": ("unpinned", partial(_pin, pinned=False)),
    "done": ("done", lambda ws, call: books.set_task_done(ws, call.text("id"))),
    "reopen": ("reopened", lambda ws, call: books.set_task_done(ws, call.text("id"), is_done=False)),
    "edit": ("edited", _edit),
    "demote": ("moved", _demote),
    "forget": ("forgotten", _forget),
}


def _build_action_page(name: str) -> Page:
    """Return the action of a button: it redirects to the page of the button, at the remaining entry."""
    said, deed = ACTIONS[name]

    def act(ws: Workspace, call: WebCall) -> Redirect:
        back = call.body.get("back", "")
        location = deed(ws, call)
        page = back if _BACK_PATH.fullmatch(back) else "/memory"
        return Redirect(f"{page}?did={said}" + (f"#e-{location.entry.id}" if location else ""))

    path = f"/entries/{{id}}/{name}"
    return Page(path, method=POST, run=act, parameters=(_ID,), fields=("back", "scope", "text"))


PAGES: tuple[Page, ...] = (
    Page("/memory", _show_memory,
        parameters=(
            RouteParameter("filter", "Words that an entry has."),
            RouteParameter("trust", "How far it is trusted.", choices=(USER_STATED, DERIVED)),
            RouteParameter("state", "Its state.", choices=_STATES),
            RouteParameter("did", "What was done."),
            RouteParameter("from", "An entry whose words are to be said anew."),
        )),
    Page("/entries", method=POST, run=_remember, fields=("text", "scope", "kind")),
    Page("/entries/{id}/confirm", _show_confirmation, parameters=(_ID,)),
    Page("/entries/{id}/confirm", method=POST, run=_confirm, parameters=(_ID,), fields=("seen",)),
    *map(_build_action_page, ACTIONS),
)  # fmt: skip
