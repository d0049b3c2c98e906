"""Endpoints of pages, and the login if there is an access key."""

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
    """Return the endpoint of one page."""

    async def answer(request: Request) -> Response:
        try:
            call = await _parse_call(page, service, request)
            work = partial(service.run_use_case, lambda ws: page.run(ws, call), writes=page.is_change, needs_index=True)
            result = await threads.run(work)
        except LineageError as error:
            return render_error(service, error)
        if isinstance(result, Redirect):
            return RedirectResponse(result.to, 303)
        values = {**_base_values(service, call.csrf, page.path), **result.values}
        return HTMLResponse(await threads.run(partial(render_template, result.template, values)))

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
    """Return an error as a page."""
    values = {**_base_values(service, "", ""), "error": error, "status": find_status(error)}
    return HTMLResponse(render_template("error.html", values), find_status(error))


def build_login_endpoint(service: Service) -> Endpoint:
    """Return the login: it exchanges the access key for a cookie hidden from scripts and from other sites."""

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
    """Return the values of every page: its path and its CSRF value; a page that asks for the key gets nothing else."""
    root = "" if path == LOGIN_PATH else format_location(service.root)
    return {"csrf": csrf, "path": path, "root": root, "query": ""}
