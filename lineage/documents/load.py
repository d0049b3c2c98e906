"""Stored files read back as typed documents."""

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from lineage.core.format.documents import Document, parse_document, parse_streamed_document, read_head
from lineage.store import ConflictError, MissingError, Store, compute_sha256


class LoadedDocument(NamedTuple):
    """A document with the SHA-256 of its file in hex, the file's stamp, and at least its frontmatter's bytes."""

    document: Document
    sha256: str
    stamp: str
    head: bytes


def load_stored_document(store: Store, path: str) -> LoadedDocument | None:
    """Return a path's document or None. Raises FormatError; ConflictError if a streamed file was replaced."""
    try:
        with store.open(path) as stream:
            if stream.data is not None:
                document = parse_document(stream.data, path)
                return LoadedDocument(document, sha256(stream.data).hexdigest(), stream.stamp, stream.data)
            stamp = stream.stamp
    except MissingError:
        return None

    def read_chunks() -> Iterator[bytes]:
        with store.open(path) as stream:
            if stream.stamp != stamp:
                raise ConflictError(f"{path} was replaced while it was read")
            yield from stream.chunks

    document = parse_streamed_document(read_chunks, path)
    return LoadedDocument(document, compute_sha256(read_chunks()), stamp, read_head(read_chunks()))
