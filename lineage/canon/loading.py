"""Documents as they lie in a store, however long: what does not fit into memory is gone through, and never held."""

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from lineage.core.documents import Document, head_of, parsed, parsed_long
from lineage.store import ConflictError, MissingError, Store, digest_of


class Loaded(NamedTuple):
    """A document, the SHA-256 of its file in hex, what the store lists for that, and the file as far as its frontmatter
    goes at least."""

    document: Document
    sha256: str
    stamp: str
    head: bytes


def loaded(store: Store, path: str) -> Loaded | None:
    """What lies at a path, None where nothing does. Raises FormatError where it breaks its contract.

    Going through a body that isn't held raises ConflictError where the file was replaced since.
    """
    try:
        with store.opened(path) as found:
            if found.data is not None:
                return Loaded(parsed(found.data, path), sha256(found.data).hexdigest(), found.stamp, found.data)
            stamp = found.stamp
    except MissingError:
        return None

    def pieces() -> Iterator[bytes]:
        with store.opened(path) as again:
            if again.stamp != stamp:
                raise ConflictError(f"{path} was replaced while it was read")
            yield from again.pieces

    return Loaded(parsed_long(pieces, path), digest_of(pieces()), stamp, head_of(pieces()))
