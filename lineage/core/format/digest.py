"""The digest of a run of turns: the material of summaries and fallback sentences."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Digest:
    """The facts of a run of sanitized turns, in order of appearance.

    All texts are lines or paragraphs, but `last_reply` is the agent's last message. `asks` and `outcomes` are the
    synopsis with its odds, `commits` and `pull_requests` subjects with ids, `checks` the commands that passed when they
    ran last. `committed` and `opened` are the subjects among them that tell most of what was asked. `most_edited` are
    the base names of files with most edits, in the order of their number.
    `requests` may be read anew on each iteration. `ending` is the kind of the last turn: `reply`, `request`, `call` (a
    tool call without an answer) or `result`.
    """

    turns: int = 0
    requests: Sequence[str] = ()
    replies: int = 0
    asks: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    ask_odds: tuple[float, ...] = ()
    outcome_odds: tuple[float, ...] = ()
    last_reply: str = ""
    commits: tuple[str, ...] = ()
    pull_requests: tuple[str, ...] = ()
    committed: str = ""
    opened: str = ""
    checks: tuple[str, ...] = ()
    edited_files: tuple[str, ...] = ()
    most_edited: tuple[str, ...] = ()
    read_files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[tuple[str, int], ...] = ()
    errors: int = 0
    decisions: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    open_items: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ending: str = "reply"
