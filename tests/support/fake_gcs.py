"""A stand-in for Google Cloud Storage: its XML API as far as lineage asks it, by its public documentation.

None of the servers that can be installed keeps Google's conditions over this interface. What this one can't show is
that Google does as it says; `lineage admin store-check gs://…` does. As a program: `python google.py PORT BUCKET`.
"""

import hashlib
import sys
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_CONDITION, _OWN = "x-goog-if-generation-match", "x-goog-meta-"
_PAGE = 1000


class _Object(NamedTuple):
    data: bytes
    generation: int
    e_tag: str
    metadata: dict[str, str]


class _Bucket:
    """What lies in the bucket; a write compares and puts in one step."""

    def __init__(self) -> None:
        self._objects: dict[str, _Object] = {}
        self._generations, self._lock = count(1), threading.Lock()

    def get(self, key: str) -> _Object | None:
        return self._objects.get(key)

    def put(self, key: str, data: bytes, own: dict[str, str], condition: str | None) -> _Object | None:
        """What is there now, None where the condition does not hold; the generation 0 is that of no object."""
        with self._lock:
            there = self._objects.get(key)
            if condition is not None and int(condition) != (there.generation if there else 0):
                return None
            e_tag = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
            self._objects[key] = _Object(data, next(self._generations), e_tag, own)
            return self._objects[key]

    def delete(self, key: str) -> bool:
        with self._lock:
            return self._objects.pop(key, None) is not None

    def list_objects(self, prefix: str, after: str) -> list[tuple[str, _Object]]:
        with self._lock:
            return sorted((key, o) for key, o in self._objects.items() if key.startswith(prefix) and key > after)


class _Handler(BaseHTTPRequestHandler):
    """One bucket; in another there is nothing."""

    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = -1, True  # an answer is one packet, and none waits for the last one's receipt
    bucket, name = _Bucket(), ""

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        own = {name: value for name, value in self.headers.items() if name.lower().startswith(_OWN)}
        if key := self._key():
            written = self.bucket.put(key, data, own, self.headers.get(_CONDITION))
            self._answer(200, _metadata_headers(written)) if written else self._refuse(412, "PreconditionFailed")

    def do_GET(self) -> None:
        if key := self._key():
            found = self.bucket.get(key)
            self._answer(200, _metadata_headers(found) | found.metadata, found.data) if found else self._refuse(
                404, "NoSuchKey"
            )
        elif key is not None:
            self._list({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})

    def do_DELETE(self) -> None:
        if key := self._key():
            self._answer(204, {}) if self.bucket.delete(key) else self._refuse(404, "NoSuchKey")

    def _key(self) -> str | None:
        """The key that is asked for, "" for the bucket itself; None where there is none, which is said."""
        name, _, key = unquote(urlsplit(self.path).path).removeprefix("/").partition("/")
        if name == self.name:
            return key
        self._refuse(404, "NoSuchBucket")
        return None

    def _list(self, asked: dict[str, str]) -> None:
        after = max(asked.get("start-after", ""), asked.get("continuation-token", ""))
        listed = self.bucket.list_objects(asked.get("prefix", ""), after)
        page = listed[:_PAGE]
        told = "".join(_list_entry_xml(key, found) for key, found in page)
        more = f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if listed[_PAGE:] else ""
        self._answer(200, {}, f"<ListBucketResult><Name>{self.name}</Name>{more}{told}</ListBucketResult>".encode())

    def _refuse(self, status: int, code: str) -> None:
        self._answer(status, {}, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    def _answer(self, status: int, headers: dict[str, str], data: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def _metadata_headers(found: _Object) -> dict[str, str]:
    times = {"Last-Modified": formatdate(usegmt=True)}
    return times | {"ETag": found.e_tag, "x-goog-generation": str(found.generation)}


def _list_entry_xml(key: str, found: _Object) -> str:
    times = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    about = f"<ETag>{escape(found.e_tag)}</ETag><Size>{len(found.data)}</Size>"
    return f"<Contents><Key>{escape(key)}</Key>{times}{about}</Contents>"


if __name__ == "__main__":
    _Handler.name = sys.argv[2]
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
