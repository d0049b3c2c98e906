"""The kinds of a workspace's files, and the order of their copies into another store.

Tombstones go first, so that no session comes back; claims before their sessions, artifacts before their manifest, notes
of people last. MEMORY.md is rendered in place, never copied.
"""

from collections.abc import Iterable
from enum import IntEnum

from lineage.core.base import naming
from lineage.core.base.book_paths import parse_book_path
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.transfer.archive_paths import is_archive_bundle


class FileKind(IntEnum):
    """The kinds of files, in the order of copying."""

    TOMBSTONE = 0
    CLAIM = 1
    ARTIFACT = 2
    MANIFEST = 3
    BOOK = 4
    NOTE = 5


def classify_file(key: str) -> FileKind:
    """Return the kind of a file by its name; a foreign file is a note.

    >>> ([classify_file(key).name for key in ("memory/tombstones/h7k3n4p2m2x6q3r5.md", "books/global/note.md",
    ... "Plans.md")])
    ['TOMBSTONE', 'BOOK', 'NOTE']
    """
    if naming.is_claim_or_tombstone(key):
        return FileKind.TOMBSTONE if key.startswith(naming.TOMBSTONES) else FileKind.CLAIM
    name = naming.parse_path(key)
    if name:
        return FileKind.MANIFEST if name.kind == naming.MANIFEST else FileKind.ARTIFACT
    return FileKind.BOOK if parse_book_path(key) else FileKind.NOTE


def sort_for_copying(keys: Iterable[str]) -> list[str]:
    """Return keys in the order of copying."""
    return sorted(keys, key=lambda key: (classify_file(key), key))


def is_memory_md(key: str) -> bool:
    """Return whether a file is an agent's MEMORY.md, rendered by every workspace itself."""
    return key == naming.memory_md_path(DEFAULT_AGENT) or naming.parse_agent(key) is not None


def is_immutable(key: str) -> bool:
    """Return whether a file is written once (`frozen` in `Store.create`)."""
    return classify_file(key) <= FileKind.ARTIFACT or is_archive_bundle(key)
