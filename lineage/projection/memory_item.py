"""The item of memory that MEMORY.md and the context of a session show."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """An item to show.

    `text` is untrusted, `trust` a computed tag, `label` a description of the text, `link` a path in the workspace. If
    not all items fit, those of the lowest `rank` are kept. `entry_id` is that of an entry of a book.
    """

    text: str
    trust: str = ""
    label: str = ""
    link: str = ""
    rank: int = 0
    entry_id: str = ""
