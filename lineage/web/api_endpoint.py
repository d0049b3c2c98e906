"""Endpoints of the API: parse, check, run in a thread, answer. Errors become answers here."""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lineage.errors import EngineMissing, InvalidInput, LineageError, NotFoundError, RemovedError
from lineage.store import BusyError
from lineage.web import request_input
from lineage.web.guard import has_bearer_key
from lineage.web.routes import Reply, Route, WebCall
from lineage.web.service import COOKIE, Service
from lineage.workspace.workspace import Workspace

Result = TypeVar("Result")
Endpoint = Callable[[Request], Awaitable[Response]]
Handler = Callable[[Request, Exception], Awaitable[Response]]

_MAX_CONCURRENT = 8
_STATUS_CODES: tuple[tuple[type[LineageError], int], ...] = (
    (request_input.BodyTooLarge, 413),
    (request_input.BodyTimeout, 408),
    (request_input.UnsupportedMediaType, 415),
    (InvalidInput, 400),
    (NotFoundError, 404),
    (RemovedError, 410),
    (BusyError, 503),
    (EngineMissing, 503),
    (LineageError, 409),
)


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
        self._limiter: anyio.CapacityLimiter | None = None

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
    if has_bearer_key(service, request.headers) or service.is_valid_csrf(
        request_input.read_cookie(request.headers, COOKIE), csrf
    ):
        return
    raise ForgedRequest("this change doesn't come from a page of this server")


def build_endpoint(route: Route, service: Service, threads: UseCaseThreads) -> Endpoint:
    """Return the endpoint of one route of the API."""

    async def answer(request: Request) -> Response:
        try:
            call = await _parse_call(route, service, request)
            use_case = partial(_run_route, route, call)
            work = partial(service.run_use_case, use_case, writes=route.writes, needs_index=route.needs_index)
            value, status = await threads.run(work)
        except LineageError as error:
            return render_error(error)
        return AsciiJsonResponse(value, status)

    return answer


async def _parse_call(route: Route, service: Service, request: Request) -> WebCall:
    values = request_input.parse_parameters(request, route.parameters)
    csrf = service.make_csrf(request_input.read_cookie(request.headers, COOKIE))
    if not route.is_change:
        return WebCall(service=service, values=values, csrf=csrf)
    check_csrf(service, request, request.headers.get("x-csrf-token", ""))
    return WebCall(service=service, values=values, csrf=csrf, body=await request_input.read_json(request, route))


def _run_route(route: Route, call: WebCall, ws: Workspace) -> Reply:
    value = route.run(ws, call)
    return value if isinstance(value, Reply) else Reply(value, 200)


def render_error(error: LineageError) -> Response:
    """Return an error as the API formats it."""
    return AsciiJsonResponse({"error": {"message": error.message, "hint": error.hint}}, find_status(error))
