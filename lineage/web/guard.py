"""Access control, and the headers of every answer: every request passes here.

- A Host header must name this server: a foreign name rebound to this address asks for another site.
- If there is an access key, a client sends it, or the cookie it was exchanged for. It never stands in an address.
- A change comes from a page of ours: its Origin is this server's, and no other site made the browser send it.
- Answers are never stored, framed or sniffed; a page runs and loads only files of this server.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lineage.web.request_input import read_cookie
from lineage.web.service import COOKIE, Service

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin", "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}  # fmt: skip
SAFE_METHODS = ("GET", "HEAD")
LOGIN_PATH = "/login"

_PUBLIC_PATHS = ("/login", "/static/style.css", "/static/lineage.js", "/static/icon.svg")
_SAME_SITES = ("", "same-origin", "none")
_MAX_URL_BYTES = 8192


class Guard:
    """The application behind access control."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it before the application sees it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._find_refusal(scope)
            await (refusal or self._app)(scope, receive, _with_headers(send))

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._service.is_own_host(hosts[0]):
            return _build_refusal(scope, 421, "this server doesn't go by that name", "name it with `--allow-host`")
        if len(scope["raw_path"]) + len(scope["query_string"]) > _MAX_URL_BYTES:
            return _build_refusal(scope, 414, "the address is too long", "ask for less at once")
        if scope["method"] not in SAFE_METHODS and not is_same_origin(headers, hosts[0]):
            return _build_refusal(scope, 403, "another site asks for a change", "use a page of this server")
        if self._is_authenticated(headers) or scope["path"] in _PUBLIC_PATHS:
            return None
        return self._refuse_anonymous(scope)

    def _is_authenticated(self, headers: Headers) -> bool:
        if self._service.access_key is None:
            return True
        return has_bearer_key(self._service, headers) or self._service.is_session_cookie(read_cookie(headers, COOKIE))

    def _refuse_anonymous(self, scope: Scope) -> Response:
        if _is_api(scope) or scope["method"] not in SAFE_METHODS:
            return _build_refusal(scope, 401, "this needs the access key", "send it as `Authorization: Bearer KEY`")
        return RedirectResponse(LOGIN_PATH, 303)


def is_same_origin(headers: Mapping[str, str], host: str) -> bool:
    """Return whether a request shows no sign of another site. Programs send no such headers; every browser does."""
    origin = headers.get("origin")
    return headers.get("sec-fetch-site", "") in _SAME_SITES and (
        origin is None or (urlsplit(origin).scheme in ("http", "https") and urlsplit(origin).netloc == host)
    )


def has_bearer_key(service: Service, headers: Mapping[str, str]) -> bool:
    """Return whether the request brings the access key itself: no browser sends that unasked."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return kind.lower() == "bearer" and service.is_access_key(given.strip())


def _is_api(scope: Scope) -> bool:
    return str(scope["path"]).startswith("/api/")


def _build_refusal(scope: Scope, status: int, message: str, hint: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    if _is_api(scope):
        return JSONResponse({"error": {"message": message, "hint": hint}}, status, headers)
    return PlainTextResponse(f"{message}\n{hint}\n", status, headers)


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
        await send(message)

    return sent
