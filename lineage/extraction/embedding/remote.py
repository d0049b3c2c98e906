"""The provider `openai`: any endpoint with OpenAI's `POST …/embeddings`.

The key goes to the configured host alone: no redirect is followed. Answers are untrusted and checked.
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
_HEAD_BYTES = 1 << 16  # of an answer besides its vectors
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class RemoteEmbedder:
    """A model behind an address, `url` without `/embeddings`. No message contains the key."""

    url: str
    name: str
    key: str = field(default="", repr=False)
    seconds: float = 10.0

    @property
    def model(self) -> str:
        """The provider and the model's name."""
        return f"openai:{self.name}"

    @property
    def host(self) -> str:
        """The host of the address."""
        return urlsplit(self.url).hostname or ""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, see `Embedder.embed`."""
        data = json.dumps({"model": self.name, "input": list(texts)}).encode()
        key = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        headers = {"Content-Type": "application/json", **key}
        request = urllib.request.Request(f"{self.url.rstrip('/')}/embeddings", data, headers)
        return _parse_vectors(self._request(request, _HEAD_BYTES + len(texts) * _MAX_BYTES_PER_TEXT), len(texts))

    def _request(self, request: urllib.request.Request, max_bytes: int) -> bytes:
        """Return the body of an answer. The text of an error is not repeated: it may quote the request."""
        try:
            no_proxy = [urllib.request.ProxyHandler({})] if is_loopback(self.host) else []
            opener = urllib.request.build_opener(_NoRedirect, *no_proxy)
            with opener.open(request, timeout=self.seconds) as answer:
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
    """Return the body. Raises EmbeddingError over `max_bytes` and after the deadline."""
    data = bytearray()
    # The socket's time-out starts anew with each chunk; the deadline bounds the sum.
    while chunk := answer.read1(_CHUNK):
        data += chunk
        if len(data) > max_bytes:
            raise EmbeddingError(UNREADABLE)
        if time.monotonic() > deadline:
            raise EmbeddingError(TOO_SLOW)
    return bytes(data)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A handler that turns redirects into errors."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        """Follow no redirect."""


def _parse_vectors(data: bytes, count: int) -> list[Vector]:
    try:
        items = json.loads(data)["data"]
        by_index: dict[int, Vector] = {item["index"]: list(map(float, item["embedding"])) for item in items}
        vectors = [by_index[index] for index in range(count)]
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise EmbeddingError(UNREADABLE) from None
    if len(items) != count or len(set(map(len, vectors))) != 1:
        raise EmbeddingError(UNREADABLE)
    return vectors
