"""The provider `openai` against a real server: what it sends, and every way of failing, each with its reason.

Fails without the check of count, index or length, of the answer's size, of the time in all, without the refusal of
redirects, and where a key or what the server says of an error gets into a message.
"""

import json
import socket
import time
from collections.abc import Iterator

import pytest

from lineage.extraction.embedding.port import EmbeddingError
from lineage.extraction.embedding.remote import RemoteEmbedder
from tests.support.embedding_server import EmbeddingServer, embed_text, run_embedding_server

KEY = "made-up-key-0123456789"


@pytest.fixture
def served() -> Iterator[EmbeddingServer]:
    with run_embedding_server() as running:
        yield running


def reason(remote: RemoteEmbedder, *texts: str) -> str:
    with pytest.raises(EmbeddingError) as caught:
        remote.embed(texts or ("one",))
    assert caught.value.__cause__ is None
    assert KEY not in f"{caught.value!r}{remote!r}"
    return caught.value.reason


def test_vectors_come_in_the_order_of_the_texts(served: EmbeddingServer) -> None:
    assert served.make_client(key=KEY).embed(["cat", "ship"]) == [embed_text("cat"), embed_text("ship")]
    assert (served.texts, served.keys) == (["cat", "ship"], [f"Bearer {KEY}"])
    served.make_client().embed(["x"])
    assert served.keys[-1] is None
    assert (served.make_client("m").model, served.make_client().host) == ("openai:m", "127.0.0.1")


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_a_refusal_is_told_by_its_number_alone(served: EmbeddingServer, status: int) -> None:
    served.response = lambda: (status, f"you sent {KEY}".encode(), {})
    assert reason(served.make_client(key=KEY)) == f"HTTP {status}"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"{}", b'{"data": 7}', b'{"data": []}', b'{"data": [{"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": ["x"]}]}', b'{"data": [{"index": 0, "embedding": null}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]}', b"[" * 100_000,
        b'{"data": [{"index": [], "embedding": [1]}]}',
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_unreadable(served: EmbeddingServer, body: bytes) -> None:
    served.response = lambda: (200, body, {})
    assert reason(served.make_client()) == "unreadable answer"


def test_vectors_of_different_lengths_are_none(served: EmbeddingServer) -> None:
    items = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    served.response = lambda: (200, json.dumps({"data": items}).encode(), {})
    assert reason(served.make_client(), "a", "b") == "unreadable answer"


def test_an_answer_without_an_end_is_cut_off(served: EmbeddingServer) -> None:
    served.response = lambda: (200, b" " * (2 << 20), {})
    assert reason(served.make_client()) == "unreadable answer"


def test_a_redirect_is_not_followed(served: EmbeddingServer) -> None:
    with run_embedding_server() as other:
        served.response = lambda: (307, b"", {"Location": f"{other.url}/embeddings"})
        assert reason(served.make_client(key=KEY)) == "HTTP 307"
        assert other.calls == 0


def test_nobody_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert reason(RemoteEmbedder(f"http://127.0.0.1:{port}/v1", "m", KEY)) == "unreachable"


def test_who_takes_too_long_is_left(served: EmbeddingServer) -> None:
    served.on_request = lambda _: time.sleep(1)
    assert reason(served.make_client(seconds=0.1)) == "timed out"


def test_the_time_is_that_of_the_whole_answer(served: EmbeddingServer) -> None:
    served.response, served.chunk_bytes, served.pause_seconds = (lambda: (200, b" " * 100, {})), 1, 0.02
    assert reason(served.make_client(seconds=0.2)) == "timed out"


def test_a_machine_s_own_endpoint_is_asked_without_a_proxy(
    served: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert served.make_client().embed(["cat"]) == [embed_text("cat")]
