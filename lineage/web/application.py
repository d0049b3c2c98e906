"""The application: the two tables put behind the door, and the loop that serves it."""

import socket
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route as Address
from starlette.types import ASGIApp

from lineage.errors import LineageError, NotFoundError
from lineage.web import answering, openapi, showing
from lineage.web.api import PREFIX, ROUTES
from lineage.web.guard import LOGIN, Guard
from lineage.web.pages import PAGES
from lineage.web.service import Service

STATIC = {"style.css": "text/css", "lineage.js": "text/javascript", "icon.svg": "image/svg+xml"}
_FOLDER = Path(__file__).parent / "static"
_MOST_CONNECTIONS = 64


class Unexpected(LineageError):
    """Something that nobody expected."""

    default_hint = "what is known of it stands where the server runs"


class NotAllowed(LineageError):
    """An address doesn't take that method."""

    default_hint = "/api/openapi.json says what it takes"


def application(service: Service) -> ASGIApp:
    """The whole surface for one workspace."""
    service = replace(service, document=openapi.document(ROUTES, PREFIX))
    threads = answering.Threads()
    api = [
        Address(PREFIX + route.path, answering.endpoint(route, service, threads), methods=[route.method])
        for route in ROUTES
    ]
    pages = [Address(page.path, showing.endpoint(page, service, threads), methods=[page.method]) for page in PAGES]
    static = [Address(f"/static/{name}", _static(name), methods=["GET"]) for name in STATIC]
    door = [Address(LOGIN, showing.login(service), methods=["GET", "POST"])]
    handlers = {HTTPException: _elsewhere(service), Exception: _unexpected(service)}
    return Guard(Starlette(routes=[*api, *pages, *static, *door], exception_handlers=handlers), service)


def serve(service: Service, bound: socket.socket) -> None:
    """Serves until it is interrupted."""
    uvicorn.Server(configured(service)).run(sockets=[bound])


def configured(service: Service) -> uvicorn.Config:
    """How it is served: bounded, and without a log: addresses hold what was searched for."""
    return uvicorn.Config(
        application(service),
        log_level="critical",
        access_log=False,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )


def _static(name: str) -> answering.Endpoint:
    async def answer(_: Request) -> Response:
        return FileResponse(_FOLDER / name, media_type=STATIC[name])

    return answer


def _told(service: Service, request: Request, error: LineageError, status: int) -> Response:
    if request.url.path.startswith(f"{PREFIX}/"):
        response = answering.failure(error)
    else:
        response = showing.failure(service, error)
    response.status_code = status
    return response


def _elsewhere(service: Service) -> answering.Handler:
    async def answer(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        if status == 405:
            return _told(service, request, NotAllowed("this address doesn't take that"), status)
        return _told(service, request, NotFoundError("nothing is here", hint="go back to the sessions"), status)

    return answer


def _unexpected(service: Service) -> answering.Handler:
    """Where it happened goes to the terminal, without values: they may hold what nobody has sanitized."""

    async def answer(request: Request, error: Exception) -> Response:
        frames = "".join(traceback.format_tb(error.__traceback__))
        sys.stderr.write(f"lineage: unexpected: {type(error).__name__}\n{frames}")
        return _told(service, request, Unexpected(f"unexpected: {type(error).__name__}"), 500)

    return answer
