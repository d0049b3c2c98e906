"""Pages about memory: the panels, their buttons, and the evidence shown before a confirmation."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from lineage.app.request_model import OneOf
from lineage.core.base.book_paths import KINDS
from lineage.core.books.entry import DERIVED, USER_STATED
from lineage.errors import InvalidInput
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory import books
from lineage.pipeline.memory.entry_writer import parse_quote
from lineage.pipeline.memory.explain_entry import trace_entry
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.memory.waiting_entries import load_evidence
from lineage.web import display
from lineage.web.api.memory import EntryId, confirm_evidence, hash_evidence
from lineage.web.pages import panels
from lineage.web.routes import POST, Page, Redirect, TemplateView, WebCall
from lineage.workspace.workspace import Workspace

_BACK_PATH = re.compile(r"/memory|/sessions/[a-z2-7]{16}|/entries/[0-9a-f]{16}")
_STATES = (books.STANDING, books.PINNED, books.DONE, books.STALE, books.SUPERSEDED, books.WAITING)
MAX_EDITED = 40_000
"""Bytes of an entry, escaped, that a form takes."""
MAX_SHOWN = 60_000
"""Bytes of the evidence that a page shows whole."""

_KINDS = ("note", "preference", "decision", "fact", "lesson", "task")


def _show_memory(
    ws: Workspace, call: WebCall, *, filter: str = "", trust: Annotated[str, OneOf(("", USER_STATED, DERIVED))] = "",
    state: Annotated[str, OneOf(("", *_STATES))] = "", group: Annotated[str, OneOf(panels.GROUPS)] = "",
    use: Annotated[str, OneOf(panels.USES)] = "", kind: str = "", page: Annotated[int, Field(ge=1, le=10_000)] = 1,
    did: str = "",
    source: Annotated[str, Field(alias="from", description="An entry whose words are to be said anew.")] = "",
) -> TemplateView:  # fmt: skip
    uses = ws.documents.recall_log.count_uses()
    wanted = panels.EntryFilter(filter, kind, trust, state, use, uses)
    named = (("filter", filter), ("kind", kind), ("trust", trust), ("state", state), ("use", use))
    asked = {name: value for name, value in named if value}
    values = {
        "panels": panels.build_workspace_panels(ws, wanted, group, page), "group": group, "page": page,
        "per_page": panels.PER_PAGE, "asked": asked, "filter": wanted, "trusts": (USER_STATED, DERIVED),
        "states": _STATES, "all_uses": panels.USES, "uses": uses, "kinds": _KINDS,
        "all_kinds": KINDS,
        "scopes": panels.list_scopes(ws), "scope_names": panels.name_scopes(ws), "here": "/memory", "did": did,
        "said": books.find_entry(ws, source).entry.body if source else "",
    }  # fmt: skip
    return TemplateView("memory.html", values)


def _show_entry(ws: Workspace, call: WebCall, *, id: EntryId, did: str = "") -> TemplateView:
    place = books.find_entry(ws, id)
    older, newer = trace_entry(ws, place)
    values = {
        "place": place, "quote": parse_quote(place.entry), "older": older, "newer": newer,
        "scopes": panels.list_scopes(ws), "back": f"/entries/{place.entry.id}", "did": did,
        "scope_names": panels.name_scopes(ws),
        "is_long": display.measure(place.entry.body) > MAX_EDITED,
    }  # fmt: skip
    return TemplateView("entry.html", values)


def _forget_chosen(
    ws: Workspace, call: WebCall, *, ids: Annotated[Sequence[str], Field(max_length=100)] = ()
) -> Redirect:
    if not ids:
        raise InvalidInput("nothing is chosen", hint="go back and tick what is to be forgotten")
    for one in ids:
        books.forget_entry(ws, one, call.service.caller)
    return Redirect("/memory?did=forgotten")


def _remember(ws: Workspace, call: WebCall, *, text: str = "", scope: str = "", kind: str = "") -> Redirect:
    memo = Memo(text=text, scope=scope or None, kind=kind or "note")
    outcome = remember(ws, memo, call.service.caller)
    if outcome.id is None or outcome.status == "forgotten":
        raise InvalidInput(f"nothing was written: {outcome.reason or outcome.status}", hint=outcome.hint)
    return Redirect(f"/memory?did={outcome.status}#e-{outcome.id}")


def _show_confirmation(ws: Workspace, call: WebCall, *, id: EntryId) -> TemplateView:
    (one,) = load_evidence(ws, [id])
    size = sum(map(display.measure, (one.location.entry.body, one.quote, *one.replaces)))
    # what can't be shown whole can't be confirmed
    values = {
        "one": one,
        "seen": hash_evidence(one),
        "is_long": size > MAX_SHOWN,
        "scope_names": panels.name_scopes(ws),
    }
    return TemplateView("confirm.html", values)


def _confirm(ws: Workspace, call: WebCall, *, id: EntryId, seen: str = "") -> Redirect:
    place = confirm_evidence(ws, call, id, seen)
    return Redirect(f"/memory?did=confirmed#e-{place.entry.id}")


class _Press(NamedTuple):
    """A button that was pressed: its entry, and its form's values."""

    ws: Workspace
    caller: Caller | None
    id: str
    scope: str
    text: str


def _forget(press: _Press) -> None:
    books.forget_entry(press.ws, press.id, press.caller)


ACTIONS: Mapping[str, tuple[str, Callable[[_Press], books.EntryLocation | None]]] = {
    "pin": ("pinned", lambda press: books.pin_entry(press.ws, press.id, pinned=True, caller=press.caller)),
    "unpin": ("unpinned", lambda press: books.pin_entry(press.ws, press.id, pinned=False, caller=press.caller)),
    "done": ("done", lambda press: books.set_task_done(press.ws, press.id)),
    "reopen": ("reopened", lambda press: books.set_task_done(press.ws, press.id, is_done=False)),
    "edit": ("edited", lambda press: books.edit_entry(press.ws, press.id, press.text, press.caller)),
    "demote": ("moved", lambda press: books.move_entry(press.ws, press.id, press.scope, press.caller)),
    "forget": ("forgotten", _forget),
}


def _build_action_page(name: str) -> Page:
    """Return the action of a button: it redirects to the page of the button, at the remaining entry."""
    said, deed = ACTIONS[name]

    def act(ws: Workspace, call: WebCall, *, id: EntryId, back: str = "", scope: str = "", text: str = "") -> Redirect:
        location = deed(_Press(ws, call.service.caller, id, scope, text))
        page = back if _BACK_PATH.fullmatch(back) else "/memory"
        return Redirect(f"{page}?did={said}" + (f"#e-{location.entry.id}" if location else ""))

    return Page(f"/entries/{{id}}/{name}", act, POST)


PAGES = (
    Page("/memory", _show_memory),
    Page("/entries", _remember, POST),
    Page("/memory/forget", _forget_chosen, POST),
    Page("/entries/{id}", _show_entry),
    Page("/entries/{id}/confirm", _show_confirmation),
    Page("/entries/{id}/confirm", _confirm, POST),
    *map(_build_action_page, ACTIONS),
)
