"""The store's protocol and its errors. (scale.md: the store protocol)"""

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from lineage.errors import LineageError, WorkspaceError

_UNUSABLE_CHARACTER = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_RESERVED_CHARACTERS = frozenset("/\\:")
_MAX_PART_BYTES = 255


Data = bytes | Iterable[bytes]
"""What is written: bytes, or the same in pieces, which can be gone through more than once."""


class Blob(NamedTuple):
    """What a key holds; `version` is what `replace` compares, `stamp` what `list` shows for the key."""

    data: bytes
    version: str
    stamp: str


class BlobStream(NamedTuple):
    """What a key holds, its stamp as in `Blob`: `data` where that is held, `pieces` of it in any case, for once."""

    data: bytes | None
    stamp: str
    chunks: Iterator[bytes]


class StoredKey(NamedTuple):
    """A key in a listing. `stamp` changes whenever the content may have changed; equal stamps mean equal content."""

    key: str
    stamp: str


class ExistsError(LineageError):
    """`create` found the key taken."""


class MissingError(LineageError):
    """The key holds nothing."""


class BusyError(LineageError):
    """A mutex is held by somebody else, and waiting was not wanted."""


class ConflictError(LineageError):
    """`replace` found another version than the one it was given, or nothing."""

    default_hint = "somebody else wrote at the same time: run the command again"


class StoreUnavailable(WorkspaceError):
    """A store behind a network does not answer, though it was asked again for a while, or it refuses whoever asks:
    credentials that ran out are renewed. What was asked of it can wait."""

    default_hint = "check the network and the endpoint, then run the command again; what waits in the spool is kept"


class Store(Protocol):
    """Durable bytes under keys like `memory/x.md`. One conformance suite holds every implementation to this.

    Every method raises WorkspaceError where the world fails: no permission, no space, an unusable key.
    """

    @property
    def is_remote(self) -> bool:
        """Whether it lies behind a network: each call waits for an answer, and a mutex passes on when its holder stands
        still for long, which the holder may not know. Elsewhere a mutex is its process's for as long as that runs."""
        ...

    def create(self, key: str, data: Data, *, frozen: bool = False) -> str:
        """Writes a key that is free; durable on return. `frozen` says that it will never be replaced.

        Data in pieces are written as they come; a store in a bucket joins them first, and so do dictionaries.

        Returns the version. Raises ExistsError where the key is taken: of many writers exactly one succeeds.
        """
        ...

    def read(self, key: str) -> Blob:
        """What the key holds, always one whole write. Raises MissingError."""
        ...

    def open(self, key: str) -> AbstractContextManager[BlobStream]:
        """`read`, where what is too long to be held is told piece by piece: one whole write too, whatever becomes of
        the key meanwhile. Raises MissingError."""
        ...

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        """Compare-and-swap: writes where the key still has `version`; durable on return. `frozen` as in `create`.

        Returns the new version. Raises ConflictError where the key changed or is gone.
        """
        ...

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        """The keys that begin with `prefix` (which ends in `/`) and sort behind `after`, in order. An empty one
        means all but what is hidden, as `.lineage/` and `.git/` are."""
        ...

    def stat_all(self, prefix: str) -> dict[str, str]:
        """What `list` shows below a prefix, the stamp by the key, in no order."""
        ...

    def is_empty(self, prefix: str) -> bool:
        """Return whether `list` shows nothing below a prefix, at the cost of one key at most."""
        ...

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens where there is none. Durable on return."""
        ...

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Mutual exclusion between all users of this store, released when its holder dies.

        Raises BusyError where somebody holds it and `wait` is False. It saves work and makes sequences of calls safe
        from each other; what keeps a single key safe is `replace`.
        """
        ...

    def world_readable(self) -> tuple[str, ...]:
        """The keys of a private store that others on this machine can read."""
        ...

    def residual_copies(self) -> tuple[str, ...]:
        """What may go on holding what was deleted here, for people: no store reaches it."""
        ...

    def collect_garbage(self) -> int:
        """Collects what writers that died left behind and nobody will use; how much it was."""
        ...


def join_chunks(data: Data) -> bytes:
    """Data as bytes."""
    return data if isinstance(data, bytes) else b"".join(data)


def iter_chunks(data: Data) -> Iterable[bytes]:
    """Data in pieces: one, where they are bytes."""
    return (data,) if isinstance(data, bytes) else data


def validate_key(key: str) -> str:
    """The key itself, or WorkspaceError: relative, no `..`, no empty, absolute, unprintable or overlong part."""
    if not all(map(_is_part, key.split("/"))):
        raise WorkspaceError(
            f"not a usable path in a workspace: {key[:120]!r}",
            hint="paths are relative to the workspace root",
        )
    return key


def validate_prefix(prefix: str) -> str:
    """The prefix itself, or WorkspaceError: empty, or a key's folders, ending in `/`."""
    if not prefix:
        return prefix
    if not prefix.endswith("/"):
        raise WorkspaceError(f"not a folder of keys: {prefix[:120]!r}", hint="a prefix ends in `/`")
    validate_key(prefix[:-1])
    return prefix


def is_listed(key: str, prefix: str) -> bool:
    """Whether a listing of `prefix` shows a key: hidden folders and files only where they are asked for."""
    return key.startswith(prefix) and (bool(prefix) or not key.startswith("."))


def _is_part(part: str) -> bool:
    """Whether a file can have this name everywhere; names that end in a dot or a space cannot, nor can `.` and `..`."""
    is_text = part.isprintable() or _UNUSABLE_CHARACTER.search(part) is None
    return (
        is_text
        and part[-1:] not in ("", ".", " ")
        and _RESERVED_CHARACTERS.isdisjoint(part)
        and len(part.encode()) <= _MAX_PART_BYTES
    )
