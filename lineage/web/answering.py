"""From a route of the API to an endpoint: read, check, run in a thread, answer. Errors become answers here."""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lineage.errors import EngineMissing, InvalidInput, LineageError, NotFoundError, RemovedError
from lineage.pipeline.house import House
from lineage.store import BusyError
from lineage.web import asking
from lineage.web.guard import is_bearer
from lineage.web.routes import Call, Reply, Route
from lineage.web.service import COOKIE, Service

Result = TypeVar("Result")
Endpoint = Callable[[Request], Awaitable[Response]]
Handler = Callable[[Request, Exception], Awaitable[Response]]

_MOST_AT_ONCE = 8
_STATUS: tuple[tuple[type[LineageError], int], ...] = (
    (asking.TooLarge, 413),
    (asking.TooSlow, 408),
    (asking.WrongKind, 415),
    (InvalidInput, 400),
    (NotFoundError, 404),
    (RemovedError, 410),
    (BusyError, 503),
    (EngineMissing, 503),
    (LineageError, 409),
)


class Forged(LineageError):
    """A change came without what only our own pages know."""

    default_hint = "send `X-CSRF-Token`, the `csrf` of /api/status, or `Authorization: Bearer TOKEN`"


class Json(JSONResponse):
    """JSON in ASCII: whatever a text holds, the bytes are those of the value."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False).encode("ascii")


class Threads:
    """A bounded number of threads for use cases: the event loop reads and writes sockets, nothing else."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def status_of(error: LineageError) -> int:
    """The status that an error is answered with."""
    if isinstance(error, Forged):
        return 403
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def check_forgery(service: Service, request: Request, given: str) -> None:
    """Raises Forged where a change brings neither what our pages know nor the token itself."""
    if is_bearer(service, request.headers) or service.is_csrf(asking.cookie_of(request.headers, COOKIE), given):
        return
    raise Forged("this change doesn't come from a page of this server")


def endpoint(route: Route, service: Service, threads: Threads) -> Endpoint:
    """The endpoint of one route of the API."""

    async def answer(request: Request) -> Response:
        try:
            call = await _called(route, service, request)
            use_case = partial(_acted, route, call)
            work = partial(service.within, use_case, writes=route.writes, needs_index=route.needs_index)
            value, status = await threads.run(work)
        except LineageError as error:
            return failure(error)
        return Json(value, status)

    return answer


async def _called(route: Route, service: Service, request: Request) -> Call:
    values = asking.parameters(request, route.parameters)
    csrf = service.csrf(asking.cookie_of(request.headers, COOKIE))
    if not route.changes:
        return Call(service=service, values=values, csrf=csrf)
    check_forgery(service, request, request.headers.get("x-csrf-token", ""))
    return Call(service=service, values=values, csrf=csrf, body=await asking.json_body(request, route))


def _acted(route: Route, call: Call, house: House) -> Reply:
    value = route.act(house, call)
    return value if isinstance(value, Reply) else Reply(value, 200)


def failure(error: LineageError) -> Response:
    """An error as the API tells it."""
    return Json({"error": {"message": error.message, "hint": error.hint}}, status_of(error))
