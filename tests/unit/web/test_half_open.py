"""A request that does not come in time gives its connection back.

What each guard rests on: `_await_head` in `connection_made` and in `data_received`, `_stop_timer` at the end of a head.
"""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from lineage.web import application

pytestmark = pytest.mark.slow
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("here")(scope, receive, send)


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    monkeypatch.setattr(application, "_HEAD_SECONDS", 0.2)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(answer, http=application.BoundedProtocol, lifespan="off", log_level="critical")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()[:2]
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHo", REQUEST + b"GET / HT"])
def test_a_request_that_does_not_end_is_closed(address: tuple[str, int], begun: bytes) -> None:
    with socket.create_connection(address, timeout=20) as connection:
        connection.sendall(begun)
        while connection.recv(1000):
            pass


def test_a_request_that_comes_in_time_is_answered_and_so_is_a_later_one(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=20) as connection:
        for _ in range(2):
            connection.sendall(REQUEST)
            answered = b""
            while b"here" not in answered:
                part = connection.recv(1000)
                assert part, answered
                answered += part
            time.sleep(0.4)
