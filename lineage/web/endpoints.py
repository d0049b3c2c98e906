"""Endpoints of the API and of pages: parse, check, run in a thread, answer. Errors become answers here."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from lineage.app.locations import format_location
from lineage.app.request_model import check_request
from lineage.errors import EngineMissing, InvalidInput, LineageError, NotFoundError, RemovedError
from lineage.store import BusyError
from lineage.web import request_input
from lineage.web.guard import LOGIN_PATH, has_bearer_key
from lineage.web.links import SERVER
from lineage.web.rendering import render_template
from lineage.web.routes import SMALL_BODY, Page, Redirect, Reply, Route, WebCall
from lineage.web.service import COOKIE, SESSION_SECONDS, Service

Result = TypeVar("Result")
Endpoint = Callable[[Request], Awaitable[Response]]
Handler = Callable[[Request, Exception], Awaitable[Response]]

_MAX_CONCURRENT = 8
_WRONG_KEY_DELAY_SECONDS = 1.0  # makes guessing slow
_CSRF = "csrf"
# the first that fits counts: a class stands before its bases
_STATUS_CODES: tuple[tuple[type[LineageError], int], ...] = (
    (request_input.BodyTooLarge, 413), (request_input.BodyTimeout, 408), (request_input.UnsupportedMediaType, 415),
    (InvalidInput, 400), (NotFoundError, 404), (RemovedError, 410), (BusyError, 503), (EngineMissing, 503),
    (LineageError, 409),
)  # fmt: skip


class ForgedRequest(LineageError):
    """A change came without a CSRF value of our own pages."""

    default_hint = "send `X-CSRF-Token`, the `csrf` of /api/status, or `Authorization: Bearer TOKEN`"


class AsciiJsonResponse(JSONResponse):
    """JSON in ASCII, so that lone surrogates survive."""

    def render(self, content: Any) -> bytes:
        """Return the value as ASCII JSON."""
        return json.dumps(content, allow_nan=False).encode("ascii")


class UseCaseThreads:
    """A bounded number of threads for use cases: the event loop only reads and writes sockets."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None  # made in the event loop, which is not there yet

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run the work in a thread and return its result."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_MAX_CONCURRENT)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def find_status(error: LineageError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, ForgedRequest):
        return 403
    return next(status for kind, status in _STATUS_CODES if isinstance(error, kind))


def check_csrf(service: Service, request: Request, csrf: str) -> None:
    """Raise ForgedRequest if a change brings neither a CSRF value of our pages nor the access key."""
    cookie = request_input.read_cookie(request.headers, COOKIE)
    if not (has_bearer_key(service, request.headers) or service.is_valid_csrf(cookie, csrf)):
        raise ForgedRequest("this change doesn't come from a page of this server")


def build_api_endpoint(route: Route, service: Service, threads: UseCaseThreads) -> Endpoint:
    """Return the endpoint of one route of the API."""

    async def answer(request: Request) -> Response:
        try:
            use_case = await _parse_api_call(route, service, request)
            work = partial(service.run_use_case, use_case, writes=route.writes, needs_index=route.needs_index)
            value = await threads.run(work)
        except LineageError as error:
            return render_api_error(error)
        return AsciiJsonResponse(*value) if isinstance(value, Reply) else AsciiJsonResponse(value)

    return answer


async def _parse_api_call(route: Route, service: Service, request: Request) -> partial[Any]:
    values = request_input.read_address(request, is_change=route.is_change)
    if route.is_change:
        check_csrf(service, request, request.headers.get("x-csrf-token", ""))
        values = _join(values, await request_input.read_json(request, route.max_bytes))
    return _bind(route, service, request, values, is_text=not route.is_change)


def _bind(
    target: Route | Page, service: Service, request: Request, values: Mapping[str, Any], *, is_text: bool
) -> partial[Any]:
    """Return the use case of a call: it takes the workspace. Raises InvalidInput for an impossible request."""
    asked = check_request(target.model, values, is_text=is_text)
    given = {name: getattr(asked, name) for name in asked.model_fields_set}
    return partial(target.run, call=WebCall(service=service, csrf=_make_csrf(service, request)), **given)


def _join(address: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a change. Raises InvalidInput if one comes twice."""
    if both := sorted(address.keys() & body.keys()):
        raise InvalidInput(f"{both[0]} is there twice", hint="give it once")
    return {**address, **body}


def _make_csrf(service: Service, request: Request) -> str:
    return service.make_csrf(request_input.read_cookie(request.headers, COOKIE))


def render_api_error(error: LineageError) -> Response:
    """Return an error as the API formats it."""
    return AsciiJsonResponse({"error": {"message": error.message, "hint": error.hint}}, find_status(error))


def build_page_endpoint(page: Page, service: Service, threads: UseCaseThreads) -> Endpoint:
    """Return the endpoint of one page."""

    async def answer(request: Request) -> Response:
        try:
            use_case = await _parse_page_call(page, service, request)
            work = partial(service.run_use_case, use_case, writes=page.is_change, needs_index=True)
            result = await threads.run(work)
        except LineageError as error:
            return render_error_page(service, error)
        if isinstance(result, Redirect):
            return RedirectResponse(result.to, 303)
        values = {**_base_values(service, _make_csrf(service, request), page.path), **result.values}
        return HTMLResponse(await threads.run(partial(render_template, result.template, values)))

    return answer


async def _parse_page_call(page: Page, service: Service, request: Request) -> partial[Any]:
    values = request_input.read_address(request, is_change=page.is_change)
    if page.is_change:
        fields = await request_input.read_form(request, SMALL_BODY, page.list_fields)
        check_csrf(service, request, fields.pop(_CSRF, ""))
        values = _join(values, fields)
    return _bind(page, service, request, values, is_text=True)


def render_error_page(service: Service, error: LineageError) -> Response:
    """Return an error as a page."""
    values = {**_base_values(service, "", ""), "error": error, "status": find_status(error)}
    return HTMLResponse(render_template("error.html", values), find_status(error))


def build_login_endpoint(service: Service) -> Endpoint:
    """Return the login: it exchanges the access key for a cookie hidden from scripts and from other sites."""

    async def answer(request: Request) -> Response:
        csrf = _make_csrf(service, request)
        if request.method != "POST":
            return _render_login(service, csrf, wrong=False)
        try:
            fields = await request_input.read_form(request, SMALL_BODY)
            check_csrf(service, request, fields.get(_CSRF, ""))
        except LineageError as error:
            return render_error_page(service, error)
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
    nav = (("Sessions", SERVER.home()), ("Memory", SERVER.memory()), ("Status", "/status"), ("Help", "/help"))
    return {"csrf": csrf, "path": path, "root": root, "query": "", "to": SERVER, "is_live": True, "nav": nav}
