"""What MEMORY.md and the context of a new session show of books."""

from typing import NamedTuple


class MemoryItem(NamedTuple):
    """Something that is shown. `text` is anybody's; `trust` is a computed tag, `about` says what the text is, `link`
    is a path of the workspace. Where not all items fit, those of the lowest `rank` are kept."""

    text: str
    trust: str = ""
    label: str = ""
    link: str = ""
    rank: int = 0
