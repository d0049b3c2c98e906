"""A workspace served to tests: a real server on a real socket, in a thread, and a client that says what it does."""

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import uvicorn

from lineage.app import listener
from lineage.app.workspace import run_in_workspace
from lineage.harness.detect_caller import Caller
from lineage.web.api import PREFIX, ROUTES
from lineage.web.application import build_config
from lineage.web.openapi import build_document
from lineage.web.service import Service

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_SECONDS = 20.0


@dataclass(frozen=True)
class HttpResponse:
    """What came back: status, headers (names in lower case), body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


def check_answer(operation: str, value: Any) -> None:
    """Raise ValidationError if a value is not what the OpenAPI document says of an operation's answer."""
    document = json.loads(json.dumps(build_document(ROUTES, PREFIX)))
    (found,) = [one for path in document["paths"].values() for one in path.values() if one["operationId"] == operation]
    first = next(answer for status, answer in found["responses"].items() if status < "300")
    schema = {**first["content"]["application/json"]["schema"], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


class WebClient:
    """A program that talks to the server; `csrf` is asked for once."""

    def __init__(self, host: str, port: int, **headers: str) -> None:
        self.host, self.port, self.headers = host, port, headers
        self._csrf: str | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> HttpResponse:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_SECONDS)
        sent = {name.replace("_", "-"): value for name, value in {**self.headers, **headers}.items()}
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return HttpResponse(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> HttpResponse:
        return self.request("GET", path + (f"?{urlencode(query)}" if query else ""))

    @property
    def read_csrf(self) -> str:
        if self._csrf is None:
            self._csrf = str(self.get("/api/status").json["csrf"])
        return self._csrf

    def send_json(self, path: str, value: Any, method: str = "POST") -> HttpResponse:
        return self.request(method, path, json.dumps(value).encode(), Content_Type=JSON, X_CSRF_Token=self.read_csrf)

    def post_form(self, path: str, **fields: str) -> HttpResponse:
        """A form, as a page sends it."""
        data = urlencode({"csrf": self.read_csrf, **fields}).encode()
        return self.request("POST", path, data, Content_Type=FORM, Origin=self.url)


@contextmanager
def serve_workspace(
    root: Path, *, token: str | None = None, caller: Caller | None = None, is_local: bool = True, **more: Any
) -> Iterator[WebClient]:
    """A client of a server that serves `root` until the block ends."""
    with listener.bind_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        known = {"access_key": token, "caller": caller, "is_local": is_local, **more}
        service = Service(root=root, run_in_workspace=run_in_workspace, clock=time.time, **known)
        server = uvicorn.Server(build_config(service))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        _wait_until_ready(lambda: server.started)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            yield WebClient("127.0.0.1", port, **headers)
        finally:
            server.should_exit = True
            thread.join(_SECONDS)


def _wait_until_ready(is_so: Any) -> None:
    deadline = time.monotonic() + _SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)


def read_form_field(page: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return found[1]
