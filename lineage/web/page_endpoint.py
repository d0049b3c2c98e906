"""From a page to an endpoint, and the way in where there is a token."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lineage.app.locations import format_location
from lineage.errors import InvalidInput, LineageError
from lineage.web import request_input
from lineage.web.api_endpoint import Endpoint, UseCaseThreads, check_csrf, find_status
from lineage.web.guard import LOGIN_PATH
from lineage.web.pages.page import Page, Redirect
from lineage.web.render import render_template
from lineage.web.routes import GET, SMALL_BODY, WebCall
from lineage.web.service import COOKIE, SESSION_SECONDS, Service

_CSRF = "csrf"
_WRONG_KEY_DELAY_SECONDS = 1.0


def build_endpoint(page: Page, service: Service, threads: UseCaseThreads) -> Endpoint:
    """The endpoint of one page."""

    async def answer(request: Request) -> Response:
        try:
            call = await _parse_call(page, service, request)
            work = partial(service.run_use_case, lambda ws: page.run(ws, call), writes=page.is_change, needs_index=True)
            found = await threads.run(work)
        except LineageError as error:
            return render_error(service, error)
        if isinstance(found, Redirect):
            return RedirectResponse(found.to, 303)
        values = {**_base_values(service, call.csrf, page.path), **found.values}
        return HTMLResponse(await threads.run(partial(render_template, found.template, values)))

    return answer


async def _parse_call(page: Page, service: Service, request: Request) -> WebCall:
    values = request_input.parse_parameters(request, page.parameters)
    csrf = service.make_csrf(request_input.read_cookie(request.headers, COOKIE))
    if page.method == GET:
        return WebCall(service=service, values=values, csrf=csrf)
    fields = await request_input.read_form(request, SMALL_BODY)
    check_csrf(service, request, fields.pop(_CSRF, ""))
    unknown = sorted(fields.keys() - set(page.fields))
    if unknown:
        raise InvalidInput(f"unknown field {unknown[0][:60]!r}", hint="load the page again")
    return WebCall(service=service, values=values, csrf=csrf, body=fields)


def render_error(service: Service, error: LineageError) -> Response:
    """An error as a page tells it."""
    values = {**_base_values(service, "", ""), "error": error, "status": find_status(error)}
    return HTMLResponse(render_template("error.html", values), find_status(error))


def build_login_endpoint(service: Service) -> Endpoint:
    """Changes the token for a cookie that no script can read and no other site can make a browser send."""

    async def answer(request: Request) -> Response:
        csrf = service.make_csrf(request_input.read_cookie(request.headers, COOKIE))
        if request.method != "POST":
            return _render_login(service, csrf, wrong=False)
        try:
            fields = await request_input.read_form(request, SMALL_BODY)
            check_csrf(service, request, fields.get(_CSRF, ""))
        except LineageError as error:
            return render_error(service, error)
        if not service.is_access_key(fields.get("token", "").strip()):
            await asyncio.sleep(_WRONG_KEY_DELAY_SECONDS)
            return _render_login(service, csrf, wrong=True)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, service.create_session_cookie(), SESSION_SECONDS, httponly=True, samesite="strict")
        return answer

    return answer


def _render_login(service: Service, csrf: str, *, wrong: bool) -> Response:
    values = {**_base_values(service, csrf, LOGIN_PATH), "wrong": wrong}
    return HTMLResponse(render_template("login.html", values), 401 if wrong else 200)


def _base_values(service: Service, csrf: str, path: str) -> Mapping[str, Any]:
    """What every page has: where it is, and what its forms bring along; one that asks for the token tells nothing."""
    return {
        "csrf": csrf,
        "path": path,
        "root": "" if path == LOGIN_PATH else format_location(service.root),
        "query": "",
    }
