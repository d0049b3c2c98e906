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

import uvicorn

from lineage.app import serving, with_house
from lineage.harness.callers import Caller
from lineage.web.application import configured
from lineage.web.service import Service

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_SECONDS = 20.0


@dataclass(frozen=True)
class Answer:
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


class Client:
    """A program that talks to the server; `csrf` is asked for once."""

    def __init__(self, host: str, port: int, **headers: str) -> None:
        self.host, self.port, self.headers = host, port, headers
        self._csrf: str | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_SECONDS)
        sent = {name.replace("_", "-"): value for name, value in {**self.headers, **headers}.items()}
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> Answer:
        return self.ask("GET", path + (f"?{urlencode(query)}" if query else ""))

    @property
    def csrf(self) -> str:
        if self._csrf is None:
            self._csrf = str(self.get("/api/status").json["csrf"])
        return self._csrf

    def send(self, path: str, value: Any, method: str = "POST") -> Answer:
        return self.ask(method, path, json.dumps(value).encode(), Content_Type=JSON, X_CSRF_Token=self.csrf)

    def post(self, path: str, **fields: str) -> Answer:
        """A form, as a page sends it."""
        data = urlencode({"csrf": self.csrf, **fields}).encode()
        return self.ask("POST", path, data, Content_Type=FORM, Origin=self.url)


@contextmanager
def served(
    root: Path, *, token: str | None = None, caller: Caller | None = None, is_local: bool = True, **more: Any
) -> Iterator[Client]:
    """A client of a server that serves `root` until the block ends."""
    with serving.bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        known = {"token": token, "caller": caller, "is_local": is_local, **more}
        service = Service(root=root, run=with_house, clock=time.time, **known)
        server = uvicorn.Server(configured(service))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        _wait_until(lambda: server.started)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            yield Client("127.0.0.1", port, **headers)
        finally:
            server.should_exit = True
            thread.join(_SECONDS)


def _wait_until(is_so: Any) -> None:
    deadline = time.monotonic() + _SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.01)


def field(page: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return found[1]
