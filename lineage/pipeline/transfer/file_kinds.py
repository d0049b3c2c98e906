"""What a workspace's keys are to whoever copies them into another store, and in which order they go.

Tombstones go first, so that nothing comes back; a claim before what it claims, artifacts before the manifest that names
them; what people write last. MEMORY.md is rendered where it lies, never copied.
"""

from collections.abc import Iterable
from enum import IntEnum

from lineage.core.base import naming
from lineage.core.base.book_paths import parse_book_path
from lineage.core.base.identity import DEFAULT_AGENT
from lineage.core.transfer.archive_paths import is_archive_bundle


class FileKind(IntEnum):
    """The sorts of files, in the order in which they are copied."""

    TOMBSTONE = 0
    CLAIM = 1
    ARTIFACT = 2
    MANIFEST = 3
    BOOK = 4
    NOTE = 5


def classify_file(key: str) -> FileKind:
    """The sort of a file by its name; whatever is none of lineage's is a note.

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
    """Keys in the order in which they are copied."""
    return sorted(keys, key=lambda key: (classify_file(key), key))


def is_memory_md(key: str) -> bool:
    """Whether a file is an agent's MEMORY.md, which every workspace renders itself."""
    return key == naming.memory_md_path(DEFAULT_AGENT) or naming.parse_agent(key) is not None


def is_immutable(key: str) -> bool:
    """Whether a file is written once, as the stores take it."""
    return classify_file(key) <= FileKind.ARTIFACT or is_archive_bundle(key)
