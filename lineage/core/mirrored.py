"""What a workspace's keys are to whoever copies them into another store, and in which order they go.

Tombstones go first, so that nothing comes back; a claim before what it claims, artifacts before the manifest that names
them; what people write last. MEMORY.md is rendered where it lies, never copied.
"""

from collections.abc import Iterable
from enum import IntEnum

from lineage.core import naming
from lineage.core.archive import is_part
from lineage.core.book_paths import ref_of
from lineage.core.identity import DEFAULT_AGENT


class Sort(IntEnum):
    """The sorts of files, in the order in which they are copied."""

    TOMBSTONE = 0
    CLAIM = 1
    ARTIFACT = 2
    MANIFEST = 3
    BOOK = 4
    NOTE = 5


def sort_of(key: str) -> Sort:
    """The sort of a file by its name; whatever is none of lineage's is a note.

    >>> [sort_of(key).name for key in ("memory/tombstones/h7k3n4p2m2x6q3r5.md", "books/global/note.md", "Plans.md")]
    ['TOMBSTONE', 'BOOK', 'NOTE']
    """
    if naming.is_register(key):
        return Sort.TOMBSTONE if key.startswith(naming.TOMBSTONES) else Sort.CLAIM
    name = naming.parse_path(key)
    if name:
        return Sort.MANIFEST if name.kind == naming.MANIFEST else Sort.ARTIFACT
    return Sort.BOOK if ref_of(key) else Sort.NOTE


def in_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order in which they are copied."""
    return sorted(keys, key=lambda key: (sort_of(key), key))


def is_rendered(key: str) -> bool:
    """Whether a file is an agent's MEMORY.md, which every workspace renders itself."""
    return key == naming.memory_md_path(DEFAULT_AGENT) or naming.agent_of(key) is not None


def is_frozen(key: str) -> bool:
    """Whether a file is written once, as the stores take it."""
    return sort_of(key) <= Sort.ARTIFACT or is_part(key)
