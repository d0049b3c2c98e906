"""An embedding model for tests: a real HTTP server that speaks OpenAI's protocol, and whose vectors follow from words.

Words that mean the same share a component, so that what is near can be told by reading.
"""

import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lineage.extraction.embedding.port import EmbeddingModel
from lineage.extraction.embedding.remote import RemoteEmbedder
from lineage.pipeline.maintenance.reindex import ensure_indexed
from lineage.workspace.workspace import Workspace
from tests.support.workspace import open_test_workspace

DIMENSION = 64
_SYNONYMS = (
    {"records", "rows", "lines", "line", "row"},
    {"vanish", "lost", "drop", "drops", "disappear"},
    {"feline", "cat", "kitten"},
    {"vessel", "boat", "ship", "schiff", "bateau", "船"},
)


def embed_text(text: str, dimension: int = DIMENSION) -> list[float]:
    """The words of a text, counted by what they mean; never nothing."""
    found = [0.0] * (dimension - 1) + [0.01]
    for word in re.findall(r"\w+", text.lower()):
        place = next((number for number, words in enumerate(_SYNONYMS) if word in words), None)
        hashed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % (dimension - len(_SYNONYMS) - 1)
        found[len(_SYNONYMS) + hashed if place is None else place] += 0.2 if place is None else 1.0
    return found


@dataclass
class EmbeddingServer:
    """What the server was asked, and how it answers: `answer` gives status and body, where the test wants other ones;
    `before` is called with each request's texts first. What it says comes in pieces of `piece` bytes, each followed by
    a `pause`."""

    url: str = ""
    dimension: int = DIMENSION
    chunk_bytes: int = 1 << 20
    pause_seconds: float = 0.0
    texts: list[str] = field(default_factory=list)
    calls: int = 0
    keys: list[str | None] = field(default_factory=list)
    on_request: Callable[[Sequence[str]], object] = lambda _: None
    response: Callable[[], tuple[int, bytes, dict[str, str]]] | None = None

    def make_client(self, name: str = "words-1", key: str = "", seconds: float = 10) -> RemoteEmbedder:
        return RemoteEmbedder(self.url, name, key, seconds)

    def handle(self, body: dict[str, Any], key: str | None) -> tuple[int, bytes, dict[str, str]]:
        self.calls += 1
        self.keys.append(key)
        self.texts += body["input"]
        self.on_request(body["input"])
        if self.response:
            return self.response()
        data = [{"index": place, "embedding": embed_text(t, self.dimension)} for place, t in enumerate(body["input"])]
        return 200, json.dumps({"data": data[::-1], "model": body["model"]}).encode(), {}


@contextmanager
def run_embedding_server() -> Iterator[EmbeddingServer]:
    """A server on this machine for as long as the block runs."""
    served = EmbeddingServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, data, headers = served.handle(body, self.headers["Authorization"])
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):  # who asked has gone
                for start in range(0, len(data), served.chunk_bytes):
                    self.wfile.write(data[start : start + served.chunk_bytes])
                    time.sleep(served.pause_seconds)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served.url = f"http://127.0.0.1:{server.server_port}/v1"
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def open_embedding_workspace(
    root: Path, served: EmbeddingServer, *, name: str = "words-1", batch: int = 4, **more: Any
) -> Iterator[Workspace]:
    """A workspace whose embedding model is the endpoint's."""
    with open_test_workspace(root, **more) as ws:
        ensure_indexed(ws)
        embedding = EmbeddingModel(served.make_client(name), batch_size=batch)
        yield replace(ws, vector_file=root / ".lineage" / "vectors.db", embedding=embedding)
