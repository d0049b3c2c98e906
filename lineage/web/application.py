"""The application: both tables behind the guard, and the loop that serves it."""

import asyncio
import socket
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route as Address
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from lineage.errors import LineageError, NotFoundError
from lineage.web import endpoints, openapi
from lineage.web.api import PREFIX, ROUTES
from lineage.web.guard import LOGIN_PATH, Guard
from lineage.web.pages import PAGES
from lineage.web.service import Service

STATIC = {"style.css": "text/css", "lineage.js": "text/javascript", "icon.svg": "image/svg+xml"}
_FOLDER = Path(__file__).parent / "static"
_MAX_CONNECTIONS = 64
_HEAD_SECONDS = 5.0


class UnexpectedError(LineageError):
    """A failure that no code expects."""

    default_hint = "what is known of it stands where the server runs"


class MethodNotAllowed(LineageError):
    """The address exists and does not take that method."""

    default_hint = "/api/openapi.json says what it takes"


def build_application(service: Service) -> ASGIApp:
    """Return the ASGI application of one workspace."""
    service = replace(service, openapi_document=openapi.build_document(ROUTES, PREFIX))
    threads = endpoints.UseCaseThreads()
    api = [
        (PREFIX + route.path, endpoints.build_api_endpoint(route, service, threads), route.method) for route in ROUTES
    ]
    pages = [(page.path, endpoints.build_page_endpoint(page, service, threads), page.method) for page in PAGES]
    tables = [Address(path, endpoint, methods=[method]) for path, endpoint, method in (*api, *pages)]
    static = [Address(f"/static/{name}", _build_static_endpoint(name), methods=["GET"]) for name in STATIC]
    door = [Address(LOGIN_PATH, endpoints.build_login_endpoint(service), methods=["GET", "POST"])]
    handlers = {HTTPException: _build_http_error_handler(service), Exception: _build_unexpected_handler(service)}
    return Guard(Starlette(routes=[*tables, *static, *door], exception_handlers=handlers), service)


def serve(service: Service, listener: socket.socket) -> None:
    """Serve until interrupted."""
    uvicorn.Server(build_config(service)).run(sockets=[listener])


class BoundedProtocol(H11Protocol):
    """HTTP that closes a connection with a late request: a few of these would take all there are.

    The time runs from the connection, or from the first byte of a later request, to the end of the request's head.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for the first request."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Stop the time at the end of a request's head; start it if only a part of one came."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time."""
        self._stop_timer()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def build_config(service: Service) -> uvicorn.Config:
    """Return the server's configuration: bounded, and without an access log, for addresses hold queries."""
    # without proxy_headers: any client could send them, and say that it is another
    return uvicorn.Config(
        build_application(service), http=BoundedProtocol, log_level="critical", access_log=False, ws="none",
        lifespan="off", proxy_headers=False, server_header=False, limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )  # fmt: skip


def _build_static_endpoint(name: str) -> endpoints.Endpoint:
    async def answer(_: Request) -> Response:
        return FileResponse(_FOLDER / name, media_type=STATIC[name])

    return answer


def _render_failure(service: Service, request: Request, error: LineageError, status: int) -> Response:
    if request.url.path.startswith(f"{PREFIX}/"):
        response = endpoints.render_api_error(error)
    else:
        response = endpoints.render_error_page(service, error)
    response.status_code = status
    return response


def _build_http_error_handler(service: Service) -> endpoints.Handler:
    async def answer(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 405:
            return _render_failure(service, request, MethodNotAllowed("this address doesn't take that"), status)
        missing = NotFoundError("nothing is here", hint="go back to the sessions")
        return _render_failure(service, request, missing, status)

    return answer


def _build_unexpected_handler(service: Service) -> endpoints.Handler:
    """Return a handler that prints the traceback to the terminal without values, for those may be unsanitized."""

    async def answer(request: Request, error: Exception) -> Response:
        frames = "".join(traceback.format_tb(error.__traceback__))
        sys.stderr.write(f"lineage: unexpected: {type(error).__name__}\n{frames}")
        return _render_failure(service, request, UnexpectedError(f"unexpected: {type(error).__name__}"), 500)

    return answer
