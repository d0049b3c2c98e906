"""The provider `openai`: any endpoint that takes `POST …/embeddings` as OpenAI's does.

The key goes to the configured host alone: no redirect is followed. An answer is a stranger's, and checked.
"""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from lineage.config.embedding import is_loopback
from lineage.extraction.embedding.port import EmbeddingError, Vector

UNREACHABLE = "unreachable"
TOO_SLOW = "timed out"
UNREADABLE = "unreadable answer"

_MAX_BYTES_PER_TEXT = 1 << 18  # of an answer: 8,192 components of 24 characters, and then some
_HEAD_BYTES = 1 << 16
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class RemoteEmbedder:
    """A model behind an address, `url` without `/embeddings`. The key stands in no message."""

    url: str
    name: str
    key: str = field(default="", repr=False)
    seconds: float = 10.0

    @property
    def model(self) -> str:
        return f"openai:{self.name}"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/embeddings",
            data=json.dumps({"model": self.name, "input": list(texts)}).encode(),
            headers={
                "Content-Type": "application/json",
                **({"Authorization": f"Bearer {self.key}"} if self.key else {}),
            },
        )
        return _parse_vectors(self._request(request, _HEAD_BYTES + len(texts) * _MAX_BYTES_PER_TEXT), len(texts))

    def _request(self, request: urllib.request.Request, max_bytes: int) -> bytes:
        """The body of an answer. What the endpoint says of an error is not repeated: it may quote what it was sent."""
        try:
            with _build_opener(self.host).open(request, timeout=self.seconds) as answer:
                return _read_body(answer, max_bytes, time.monotonic() + self.seconds)
        except urllib.error.HTTPError as error:
            with error:
                raise EmbeddingError(f"HTTP {error.code}") from None
        except TimeoutError:
            raise EmbeddingError(TOO_SLOW) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            is_slow = isinstance(getattr(error, "reason", None), TimeoutError)
            raise EmbeddingError(TOO_SLOW if is_slow else UNREACHABLE) from None


def _read_body(answer: http.client.HTTPResponse, max_bytes: int, deadline: float) -> bytes:
    """The body, of at most so many bytes, by a time: each piece alone would be waited for again."""
    data = bytearray()
    while piece := answer.read1(_CHUNK):
        data += piece
        if len(data) > max_bytes:
            raise EmbeddingError(UNREADABLE)
        if time.monotonic() > deadline:
            raise EmbeddingError(TOO_SLOW)
    return bytes(data)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An answer that points elsewhere is an error."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


def _build_opener(host: str) -> urllib.request.OpenerDirector:
    """What is meant for this machine goes by no proxy."""
    direct = [urllib.request.ProxyHandler({})] if is_loopback(host) else []
    return urllib.request.build_opener(_NoRedirect, *direct)


def _parse_vectors(data: bytes, count: int) -> list[Vector]:
    try:
        items = json.loads(data)["data"]
        found: dict[int, Vector] = {
            item["index"]: [float(component) for component in item["embedding"]] for item in items
        }
        vectors = [found[number] for number in range(count)]
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise EmbeddingError(UNREADABLE) from None
    if len(items) != count or len(set(map(len, vectors))) != 1:
        raise EmbeddingError(UNREADABLE)
    return vectors
