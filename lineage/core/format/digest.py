"""What happened in a run of turns, condensed: the material of summaries and fallback sentences."""

from collections.abc import Sequence
from typing import NamedTuple


class Digest(NamedTuple):
    """All texts are one-line or paragraph strings out of sanitized turns; tuples are in order of appearance,
    and so are `requests`, which are told again each time where the turns aren't held.

    `ending` says who had the last word: `reply`, `request`, `call` (a tool call without an answer) or `result`.
    """

    turns: int = 0
    requests: Sequence[str] = ()
    replies: int = 0
    last_reply: str = ""
    edited_files: tuple[str, ...] = ()
    read_files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[tuple[str, int], ...] = ()
    errors: int = 0
    decisions: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    open_items: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ending: str = "reply"
