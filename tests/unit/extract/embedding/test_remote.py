"""The provider `openai` against a real server: what it sends, and every way of failing, each with its reason.

Fails without the check of count, index or length, of the answer's size, of the time in all, without the refusal of
redirects, and where a key or what the server says of an error gets into a message.
"""

import json
import socket
import time
from collections.abc import Iterator

import pytest

from lineage.extract.embedding.port import NoVectors
from lineage.extract.embedding.remote import Remote
from tests.support.embedding import Endpoint, endpoint, vector

KEY = "made-up-key-0123456789"


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


def reason(remote: Remote, *texts: str) -> str:
    with pytest.raises(NoVectors) as caught:
        remote.embed(texts or ("one",))
    assert caught.value.__cause__ is None
    assert KEY not in f"{caught.value!r}{remote!r}"
    return caught.value.reason


def test_vectors_come_in_the_order_of_the_texts(served: Endpoint) -> None:
    assert served.remote(key=KEY).embed(["cat", "ship"]) == [vector("cat"), vector("ship")]
    assert (served.texts, served.keys) == (["cat", "ship"], [f"Bearer {KEY}"])
    served.remote().embed(["x"])
    assert served.keys[-1] is None
    assert (served.remote("m").model, served.remote().place) == ("openai:m", "127.0.0.1")


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_a_refusal_is_told_by_its_number_alone(served: Endpoint, status: int) -> None:
    served.answer = lambda: (status, f"you sent {KEY}".encode(), {})
    assert reason(served.remote(key=KEY)) == f"HTTP {status}"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"{}", b'{"data": 7}', b'{"data": []}', b'{"data": [{"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": ["x"]}]}', b'{"data": [{"index": 0, "embedding": null}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]}', b"[" * 100_000,
        b'{"data": [{"index": [], "embedding": [1]}]}',
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_unreadable(served: Endpoint, body: bytes) -> None:
    served.answer = lambda: (200, body, {})
    assert reason(served.remote()) == "unreadable answer"


def test_vectors_of_different_lengths_are_none(served: Endpoint) -> None:
    items = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    served.answer = lambda: (200, json.dumps({"data": items}).encode(), {})
    assert reason(served.remote(), "a", "b") == "unreadable answer"


def test_an_answer_without_an_end_is_cut_off(served: Endpoint) -> None:
    served.answer = lambda: (200, b" " * (2 << 20), {})
    assert reason(served.remote()) == "unreadable answer"


def test_a_redirect_is_not_followed(served: Endpoint) -> None:
    with endpoint() as other:
        served.answer = lambda: (307, b"", {"Location": f"{other.url}/embeddings"})
        assert reason(served.remote(key=KEY)) == "HTTP 307"
        assert other.calls == 0


def test_nobody_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert reason(Remote(f"http://127.0.0.1:{port}/v1", "m", KEY)) == "unreachable"


def test_who_takes_too_long_is_left(served: Endpoint) -> None:
    served.before = lambda _: time.sleep(1)
    assert reason(served.remote(seconds=0.1)) == "timed out"


def test_the_time_is_that_of_the_whole_answer(served: Endpoint) -> None:
    served.answer, served.piece, served.pause = (lambda: (200, b" " * 100, {})), 1, 0.02
    assert reason(served.remote(seconds=0.2)) == "timed out"


def test_a_machine_s_own_endpoint_is_asked_without_a_proxy(served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert served.remote().embed(["cat"]) == [vector("cat")]
