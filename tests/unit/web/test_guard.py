"""The door of `lineage serve`, asked without a server: every refusal, and the headers of every answer.

Fails without any one of: the Host check, its `len(hosts) != 1`, the length of an address, the same-origin check (either
half), the access key, the check of CSRF values, the limit of a body, its media type.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lineage.web.application import build_application
from lineage.web.guard import SECURITY_HEADERS
from lineage.web.routes import SMALL_BODY, Reply
from lineage.web.service import COOKIE, Service

KEY = "an-access-key-that-nobody-guesses"
HOST = (b"host", b"127.0.0.1:8080")
JSON = (b"content-type", b"application/json")
Headers = tuple[tuple[bytes, bytes], ...]


def run_nothing(*_: object, **__: object) -> Reply:
    """Answer in a use case's place: whatever gets here has passed the door."""
    return Reply({}, 200)


def make_service(*, access_key: str | None = None) -> Service:
    return Service(root=Path("/nowhere"), run_in_workspace=run_nothing, clock=lambda: 0.0, access_key=access_key)


def ask(
    service: Service, path: str, *headers: tuple[bytes, bytes], method: str = "GET", body: bytes = b""
) -> tuple[int, dict[str, str]]:
    """Return status and headers of an answer; `headers` are sent as they are, doubles too."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    target, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": target, "raw_path": target.encode(), "query_string": query.encode(), "root_path": "",
        "headers": list(headers), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8080),
    }  # fmt: skip
    asyncio.run(build_application(service)(scope, receive, send))
    start = next(message for message in sent if message["type"] == "http.response.start")
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}


def test_a_request_that_names_this_server_is_answered() -> None:
    status, headers = ask(make_service(), "/api/openapi.json", HOST)
    assert status == 200
    assert {name: headers.get(name.lower()) for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)


@pytest.mark.parametrize(
    "headers",
    [(), (HOST, HOST), (HOST, (b"host", b"evil.example")), ((b"host", b"evil.example"),), ((b"host", b""),)],
    ids=["none", "twice", "own and foreign", "foreign", "empty"],
)
def test_anything_but_one_own_host_is_refused(headers: Headers) -> None:
    status, answered = ask(make_service(), "/api/openapi.json", *headers)
    assert status == 421
    assert answered["x-frame-options"] == "DENY"


def test_an_address_that_is_too_long_is_refused() -> None:
    assert ask(make_service(), "/api/search?q=" + "a" * 8192, HOST)[0] == 414


@pytest.mark.parametrize(
    "headers",
    [
        ((b"origin", b"https://evil.example"),),
        ((b"origin", b"null"),),
        ((b"origin", b"file://127.0.0.1:8080"),),
        ((b"sec-fetch-site", b"cross-site"),),
        ((b"sec-fetch-site", b"same-site"), (b"origin", b"http://127.0.0.1:8080")),
    ],
)
def test_a_change_that_another_site_sends_is_refused(headers: Headers) -> None:
    service = make_service()
    own = (b"x-csrf-token", service.make_csrf("").encode())
    status, _ = ask(service, "/api/entries", HOST, JSON, own, *headers, method="POST", body=b'{"text": "Keep it."}')
    assert status == 403


def test_a_change_needs_the_csrf_value_of_our_pages() -> None:
    service, body = make_service(), b'{"text": "Keep it."}'
    right = (b"x-csrf-token", service.make_csrf("").encode())
    for forged in ((), ((b"x-csrf-token", b"0" * 64),), ((b"x-csrf-token", service.make_csrf("other").encode()),)):
        assert ask(service, "/api/entries", HOST, JSON, *forged, method="POST", body=body)[0] == 403
    assert ask(service, "/api/entries", HOST, JSON, right, method="POST", body=body)[0] < 400


def test_a_form_needs_the_csrf_value_of_our_pages() -> None:
    service, form = make_service(), (b"content-type", b"application/x-www-form-urlencoded")
    for csrf, status in (("", 403), ("0" * 64, 403), (service.make_csrf("other"), 403)):
        body = f"csrf={csrf}".encode()
        assert ask(service, "/entries/0123456789abcdef/pin", HOST, form, method="POST", body=body)[0] == status


def test_where_there_is_an_access_key_nothing_is_told_without_it() -> None:
    service = make_service(access_key=KEY)
    assert ask(service, "/api/openapi.json", HOST)[0] == 401
    assert ask(service, "/", HOST)[0] == 303
    assert ask(service, "/api/entries", HOST, JSON, method="POST", body=b"{}")[0] == 401
    for wrong in (b"Bearer wrong", b"Basic " + KEY.encode(), b"Bearer "):
        assert ask(service, "/api/openapi.json", HOST, (b"authorization", wrong))[0] == 401
    assert ask(service, "/api/openapi.json", HOST, (b"authorization", f"Bearer {KEY}".encode()))[0] == 200
    cookie = service.create_session_cookie()
    assert ask(service, "/api/openapi.json", HOST, (b"cookie", f"{COOKIE}={cookie}".encode()))[0] == 200
    assert ask(service, "/api/openapi.json", HOST, (b"cookie", f"{COOKIE}=9{cookie}".encode()))[0] == 401


def test_a_body_is_json_and_no_larger_than_it_may_be() -> None:
    service = make_service()
    own = (b"x-csrf-token", service.make_csrf("").encode())

    def post(body: bytes, *headers: tuple[bytes, bytes]) -> int:
        return ask(service, "/api/entries", HOST, own, *headers, method="POST", body=body)[0]

    assert post(b'{"text": "a"}', (b"content-type", b"text/plain")) == 415
    assert post(b'{"text": "a"}') == 415
    assert post(b" " * (SMALL_BODY + 1), JSON) == 413
    assert post(b'{"text": NaN}', JSON) == 400
    assert post(b'{"text": "a", "unknown": 1}', JSON) == 400


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_no_get_reaches_a_change(method: str) -> None:
    assert ask(make_service(), "/api/sessions/x/remove", HOST, method=method)[0] in (404, 405)
