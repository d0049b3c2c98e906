"""The store's protocol, its values and its errors. (scale.md: the store protocol)."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lineage.errors import LineageError, WorkspaceError

_UNUSABLE_CHARACTER = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_RESERVED_CHARACTERS = frozenset("/\\:")
_MAX_PART_BYTES = 255

# Content to write: bytes, or an iterable of chunks that can be iterated more than once.
Data = bytes | Iterable[bytes]


@dataclass(frozen=True, slots=True)
class Blob:
    """The content of a key. `replace` compares `version`; `list` shows `stamp`."""

    data: bytes
    version: str
    stamp: str


@dataclass(frozen=True, slots=True)
class BlobStream:
    """The content of a key as chunks, to be read once. `data` is the same content if it is in memory already."""

    data: bytes | None
    stamp: str
    chunks: Iterator[bytes]


# A tuple: listings hold thousands, become dicts, and are sorted.
class StoredKey(NamedTuple):
    """A key in a listing. `stamp` changes whenever the content may have changed; equal stamps mean equal content."""

    key: str
    stamp: str


class ExistsError(LineageError):
    """`create` was called with a key that exists."""


class MissingError(LineageError):
    """The key does not exist."""


class BusyError(LineageError):
    """Another user holds the lock, and the caller does not wait."""


class ConflictError(LineageError):
    """`replace` was called with a version that the key no longer has."""

    default_hint = "somebody else wrote at the same time: run the command again"


class StoreUnavailable(WorkspaceError):
    """A remote store does not answer after retries, or refuses the credentials. The same call may succeed later."""

    default_hint = "check the network and the endpoint, then run the command again; what waits in the spool is kept"


class Store(Protocol):
    """Durable bytes under keys like `memory/x.md`. One conformance suite tests every implementation.

    Every method raises WorkspaceError for failures of the system: no permission, no space, an unusable key. The
    methods with a body suit stores without files.
    """

    @property
    def is_remote(self) -> bool:
        """Tell whether the store is behind a network.

        Then each call waits for an answer, and a lock passes on if its holder stands still for long, maybe without the
        holder's knowledge. In a local store a lock belongs to its process as long as that runs.
        """

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        """Write a free key and return its version; durable on return.

        `frozen` promises that the key is never replaced. A folder writes chunks one by one; a bucket joins them
        first. Raises ExistsError if the key exists: of many writers exactly one succeeds.
        """

    def read(self, key: str) -> Blob:
        """Return the content of the key, always that of one whole write. Raises MissingError."""

    def open(self, key: str) -> AbstractContextManager[BlobStream]:
        """Return the content of the key in chunks if it is too long for memory. Raises MissingError.

        The chunks are those of one whole write, also if the key changes meanwhile.
        """
        blob = self.read(key)
        return nullcontext(BlobStream(blob.data, blob.stamp, iter([blob.data])))

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        """Compare and swap: write if the key still has `version`, and return the new version; durable on return.

        `frozen` as in `create`. Raises ConflictError if the key changed or is gone.
        """

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        """Yield in order the keys that begin with `prefix` and sort behind `after`.

        A prefix ends in `/`. The empty prefix means all keys except hidden ones, like those of `.lineage/` and `.git/`.
        """

    def stat_all(self, prefix: str) -> dict[str, str]:
        """Return the stamps of all keys below a prefix, in no order."""
        return dict(self.list(prefix))

    def is_empty(self, prefix: str) -> bool:
        """Tell whether `list` shows nothing below a prefix, at the cost of one key at most."""
        return next(self.list(prefix), None) is None

    def delete(self, key: str) -> None:
        """Remove a key, if it exists; durable on return."""

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Hold a lock between all users of this store; it is released if its holder dies.

        Raises BusyError if another user holds it and `wait` is False. Locks save work and protect sequences of calls
        from each other; a single key is protected by `replace` alone.
        """

    def world_readable(self) -> tuple[str, ...]:
        """Return the keys of a private store that other users of this machine can read."""
        return ()

    def residual_copies(self) -> tuple[str, ...]:
        """Return, for people, the places out of the store's reach that may keep deleted content."""
        return ()

    def collect_garbage(self) -> int:
        """Delete leftovers of dead writers and return their number."""
        return 0

    def find_abandoned(self) -> tuple[str, ...]:
        """Return the keys of dead writers' files that are left; they are hidden from `list`."""
        return ()

    def merge_displaced(self, merge: Callable[[str, bytes, bytes], None]) -> None:
        """Call `merge(key, known, data)` for the words of a program in a file after that was replaced.

        `known` is the part of `data` that was there before. The same words may come twice after a crash.
        """
        del merge  # no program writes into an object of a bucket


def join_chunks(data: Data) -> bytes:
    """Return data as bytes."""
    return data if isinstance(data, bytes) else b"".join(data)


def iter_chunks(data: Data) -> Iterable[bytes]:
    """Return data as chunks; bytes are one chunk."""
    return (data,) if isinstance(data, bytes) else data


def validate_key(key: str) -> str:
    """Return the key. Raises WorkspaceError for an absolute one and for parts no file can be named like."""
    if not all(map(_is_part, key.split("/"))):
        raise WorkspaceError(
            f"not a usable path in a workspace: {key[:120]!r}", hint="paths are relative to the workspace root"
        )
    return key


def validate_prefix(prefix: str) -> str:
    """Return the prefix. Raises WorkspaceError unless it is empty, or the folders of a key with a `/` at the end."""
    if not prefix:
        return prefix
    if not prefix.endswith("/"):
        raise WorkspaceError(f"not a folder of keys: {prefix[:120]!r}", hint="a prefix ends in `/`")
    validate_key(prefix[:-1])
    return prefix


def is_listed(key: str, prefix: str) -> bool:
    """Tell whether a listing of `prefix` shows a key. Hidden keys need a prefix of their own."""
    return key.startswith(prefix) and (bool(prefix) or not key.startswith("."))


def _is_part(part: str) -> bool:
    """Tell whether a file can have this name on every system."""
    return (
        (part.isprintable() or _UNUSABLE_CHARACTER.search(part) is None)
        and part[-1:] not in ("", ".", " ")  # `..` too; Windows drops a dot or a space at the end
        and _RESERVED_CHARACTERS.isdisjoint(part)
        and len(part.encode()) <= _MAX_PART_BYTES
    )
