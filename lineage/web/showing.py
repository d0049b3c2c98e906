"""From a page to an endpoint, and the way in where there is a token."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lineage.app.places import shown
from lineage.errors import InvalidInput, LineageError
from lineage.web import asking
from lineage.web.answering import Endpoint, Threads, check_forgery, status_of
from lineage.web.guard import LOGIN
from lineage.web.pages.page import Moved, Page
from lineage.web.rendering import rendered
from lineage.web.routes import GET, SMALL, Call
from lineage.web.service import COOKIE, SESSION_SECONDS, Service

_CSRF = "csrf"
_SECONDS_AFTER_A_GUESS = 1.0


def endpoint(page: Page, service: Service, threads: Threads) -> Endpoint:
    """The endpoint of one page."""

    async def answer(request: Request) -> Response:
        try:
            call = await _called(page, service, request)
            work = partial(service.within, lambda house: page.act(house, call), writes=page.changes, needs_index=True)
            found = await threads.run(work)
        except LineageError as error:
            return failure(service, error)
        if isinstance(found, Moved):
            return RedirectResponse(found.to, 303)
        values = {**_frame(service, call.csrf, page.path), **found.values}
        return HTMLResponse(await threads.run(partial(rendered, found.template, values)))

    return answer


async def _called(page: Page, service: Service, request: Request) -> Call:
    values = asking.parameters(request, page.parameters)
    csrf = service.csrf(asking.cookie_of(request.headers, COOKIE))
    if page.method == GET:
        return Call(service=service, values=values, csrf=csrf)
    fields = await asking.form(request, SMALL)
    check_forgery(service, request, fields.pop(_CSRF, ""))
    unknown = sorted(fields.keys() - set(page.fields))
    if unknown:
        raise InvalidInput(f"unknown field {unknown[0][:60]!r}", hint="load the page again")
    return Call(service=service, values=values, csrf=csrf, body=fields)


def failure(service: Service, error: LineageError) -> Response:
    """An error as a page tells it."""
    values = {**_frame(service, "", ""), "error": error, "status": status_of(error)}
    return HTMLResponse(rendered("error.html", values), status_of(error))


def login(service: Service) -> Endpoint:
    """Changes the token for a cookie that no script can read and no other site can make a browser send."""

    async def answer(request: Request) -> Response:
        csrf = service.csrf(asking.cookie_of(request.headers, COOKIE))
        if request.method != "POST":
            return _asked(service, csrf, wrong=False)
        try:
            fields = await asking.form(request, SMALL)
            check_forgery(service, request, fields.get(_CSRF, ""))
        except LineageError as error:
            return failure(service, error)
        if not service.is_token(fields.get("token", "").strip()):
            await asyncio.sleep(_SECONDS_AFTER_A_GUESS)
            return _asked(service, csrf, wrong=True)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, service.new_session(), SESSION_SECONDS, httponly=True, samesite="strict")
        return answer

    return answer


def _asked(service: Service, csrf: str, *, wrong: bool) -> Response:
    values = {**_frame(service, csrf, LOGIN), "wrong": wrong}
    return HTMLResponse(rendered("login.html", values), 401 if wrong else 200)


def _frame(service: Service, csrf: str, path: str) -> Mapping[str, Any]:
    """What every page has: where it is, and what its forms bring along; one that asks for the token tells nothing."""
    return {"csrf": csrf, "path": path, "root": "" if path == LOGIN else shown(service.root), "query": ""}
