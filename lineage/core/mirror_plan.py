"""What a mirror has to do: two listings against what was in step the last time.

Names and stamps alone decide here; where both sides hold something, and one of it may be new, their contents do
(core/mirror_contents.py).
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from lineage.core import naming
from lineage.core.archive import ARCHIVE, month_within
from lineage.core.book_paths import BOOKS, PENDING
from lineage.core.mirrored import Sort, in_order, is_rendered, sort_of
from lineage.core.privacy import session_scope

_OWN_BOOKS = (f"{BOOKS}{session_scope('')}", f"{BOOKS}{PENDING}/{session_scope('')}")

Stamps = Mapping[str, str]


class Synced(NamedTuple):
    """The stamps that a file had on both sides when it was the same on both."""

    here: str
    there: str


class Action(Enum):
    """`COPY` to the side that never had it; `RESTORE` to the one that lost it; `DELETE` where the other side did;
    `MEET`: the contents decide; `FORGET` what is gone on both sides."""

    COPY = "copy"
    RESTORE = "restore"
    DELETE = "delete"
    MEET = "meet"
    FORGET = "forget"


class Step(NamedTuple):
    """One thing to do. `to_here` says which side is written, where it is one."""

    key: str
    action: Action
    to_here: bool


def is_mirrored(key: str) -> bool:
    """Whether a file goes to the other side: neither what each side makes itself, MEMORY.md and the archive, nor what
    a sync client left among lineage's own files.

    >>> [is_mirrored(key) for key in ("Plans.md", "MEMORY.md", "books/global/note 2.md", "archive/2026-01/2026-01.md")]
    [True, False, False, False]
    """
    if key.startswith((naming.MEMORY, BOOKS)):
        return sort_of(key) is not Sort.NOTE
    return not is_rendered(key) and month_within(key) is None


def owners(key: str) -> frozenset[str]:
    """The tokens of the sessions whose file it is, by its name; none for a tombstone, which stays.

    >>> sorted(owners("memory/claims/h7k3n4p2m2x6q3r5.md")), sorted(owners("memory/tombstones/h7k3n4p2m2x6q3r5.md"))
    (['h7k3n4p2m2x6q3r5'], [])
    """
    if not key.startswith((naming.MEMORY, ARCHIVE, *_OWN_BOOKS)) or key.startswith(naming.TOMBSTONES):
        return frozenset()
    return frozenset(naming.tokens_in(key))


def planned(here: Stamps, there: Stamps, synced: Mapping[str, Synced], removed: frozenset[str]) -> Iterator[Step]:
    """The steps, in the order of copying; none for files of removed sessions, which go by another way."""
    for key in in_order({*here, *there, *synced}):
        if owners(key).isdisjoint(removed):
            step = _step(key, here.get(key), there.get(key), synced.get(key))
            if step:
                yield step


def _step(key: str, here: str | None, there: str | None, synced: Synced | None) -> Step | None:
    if here is not None and there is not None:
        return None if synced == (here, there) else Step(key, Action.MEET, to_here=False)
    if here is None and there is None:
        return Step(key, Action.FORGET, to_here=False)
    to_here = here is None
    if synced is None:
        return Step(key, Action.COPY, to_here)
    if sort_of(key) is Sort.BOOK:
        return Step(key, Action.MEET, to_here)
    is_unchanged = synced.there == there if to_here else synced.here == here
    if sort_of(key) is Sort.NOTE and is_unchanged:
        return Step(key, Action.DELETE, not to_here)
    return Step(key, Action.RESTORE, to_here)


def lost(side: Stamps, synced: Mapping[str, Synced], removed: frozenset[str]) -> int:
    """How many files have gone from a side that no removal explains."""
    return sum(owners(key).isdisjoint(removed) for key in synced.keys() - side.keys())
