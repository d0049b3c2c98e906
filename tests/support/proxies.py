"""A proxy between a client and an object store: it does as it is told with each request, one after another."""

import http.client
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PASS, LOST, CUT = "pass", "lost", "cut"
BUSY, COLLIDED, GONE = "503 SlowDown", "409 ConditionalRequestConflict", "404 NoSuchKey"
"""What becomes of a request: it goes through; done, and the answer lost; cut off before it is done; or not done, and
answered like this."""


@dataclass
class FaultyProxy:
    """`faults` says what becomes of a request, by its method and path; `without` are headers that it drops. `requests`
    are those that were made, `METHOD path`, in order."""

    port: int = 0
    faults: Callable[[str, str], str] = lambda method, path: PASS
    without: frozenset[str] = frozenset()
    requests: list[str] = field(default_factory=list)

    def fail_next(self, fault: str, method: str, times: int = 1) -> None:
        """The next requests of a method fail, as often as that."""
        left = iter(range(times))
        self.faults = lambda found, path: fault if found == method and next(left, None) is not None else PASS

    def fail_always(self, fault: str) -> None:
        self.faults = lambda method, path: fault

    def fail_after(self, count: int, fault: str) -> None:
        """So many requests go through, and none after them."""
        left = iter(range(count))
        self.faults = lambda method, path: PASS if next(left, None) is not None else fault


@contextmanager
def run_proxy(port: int) -> Iterator[FaultyProxy]:
    """A proxy in front of the server on a port."""
    proxy = FaultyProxy()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy, port))
    server.daemon_threads = True
    proxy.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(proxy: FaultyProxy, port: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer goes out whole: in two pieces the second would wait for the first's receipt
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            proxy.requests.append(f"{self.command} {path}")
            fault = proxy.faults(self.command, path)
            if fault == CUT:
                self._hang_up()
            elif fault not in (PASS, LOST):
                status, _, code = fault.partition(" ")
                self._answer(int(status), {}, f"<Error><Code>{code}</Code></Error>".encode())
            else:
                headers = {name: value for name, value in self.headers.items() if name.lower() not in proxy.without}
                status, found, data = _forward(port, self.command, self.path, headers, body)
                if fault == LOST:
                    self._hang_up()
                else:
                    self._answer(status, found, data)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

        def _hang_up(self) -> None:
            self.close_connection = True
            self.connection.close()

        def _answer(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", headers.get("Content-Length", "0") if not data else str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    return Handler


def _forward(
    port: int, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()
