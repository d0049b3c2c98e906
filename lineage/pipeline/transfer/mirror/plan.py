"""What a mirror has to do: two listings against what was in step the last time.

Names and stamps alone decide here; where both sides hold something, and one of it may be new, their contents do
(core/mirror_contents.py).
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS, PENDING
from lineage.core.base.privacy import session_scope
from lineage.core.transfer.archive_paths import ARCHIVE, find_month
from lineage.pipeline.transfer.file_kinds import FileKind, classify_file, is_memory_md, sort_for_copying

_OWN_BOOKS = (f"{BOOKS}{session_scope('')}", f"{BOOKS}{PENDING}/{session_scope('')}")

Stamps = Mapping[str, str]


class SyncedStamps(NamedTuple):
    """The stamps that a file had on both sides when it was the same on both."""

    here: str
    there: str


class MirrorAction(Enum):
    """`COPY` to the side that never had it; `RESTORE` to the one that lost it; `DELETE` where the other side did;
    `MERGE`: the contents decide; `FORGET` what is gone on both sides."""

    COPY = "copy"
    RESTORE = "restore"
    DELETE = "delete"
    MERGE = "meet"
    FORGET = "forget"


class MirrorStep(NamedTuple):
    """One thing to do. `to_here` says which side is written, where it is one."""

    key: str
    action: MirrorAction
    to_here: bool


def is_mirrored(key: str) -> bool:
    """Whether a file goes to the other side: neither what each side makes itself, MEMORY.md and the archive, nor what
    a sync client left among lineage's own files.

    >>> [is_mirrored(key) for key in ("Plans.md", "MEMORY.md", "books/global/note 2.md", "archive/2026-01/2026-01.md")]
    [True, False, False, False]
    """
    if key.startswith((naming.MEMORY, BOOKS)):
        return classify_file(key) is not FileKind.NOTE
    return not is_memory_md(key) and find_month(key) is None


def find_owner_tokens(key: str) -> frozenset[str]:
    """The tokens of the sessions whose file it is, by its name; none for a tombstone, which stays.

    >>> (sorted(find_owner_tokens("memory/claims/h7k3n4p2m2x6q3r5.md")),
    ... sorted(find_owner_tokens("memory/tombstones/h7k3n4p2m2x6q3r5.md")))
    (['h7k3n4p2m2x6q3r5'], [])
    """
    if not key.startswith((naming.MEMORY, ARCHIVE, *_OWN_BOOKS)) or key.startswith(naming.TOMBSTONES):
        return frozenset()
    return frozenset(naming.find_tokens(key))


def plan_mirror(
    here: Stamps, there: Stamps, synced: Mapping[str, SyncedStamps], removed: frozenset[str]
) -> Iterator[MirrorStep]:
    """The steps, in the order of copying; none for files of removed sessions, which go by another way."""
    for key in sort_for_copying({*here, *there, *synced}):
        if find_owner_tokens(key).isdisjoint(removed):
            step = _plan_step(key, here.get(key), there.get(key), synced.get(key))
            if step:
                yield step


def _plan_step(key: str, here: str | None, there: str | None, synced: SyncedStamps | None) -> MirrorStep | None:
    if here is not None and there is not None:
        return None if synced == (here, there) else MirrorStep(key, MirrorAction.MERGE, to_here=False)
    if here is None and there is None:
        return MirrorStep(key, MirrorAction.FORGET, to_here=False)
    to_here = here is None
    if synced is None:
        return MirrorStep(key, MirrorAction.COPY, to_here)
    if classify_file(key) is FileKind.BOOK:
        return MirrorStep(key, MirrorAction.MERGE, to_here)
    is_unchanged = synced.there == there if to_here else synced.here == here
    if classify_file(key) is FileKind.NOTE and is_unchanged:
        return MirrorStep(key, MirrorAction.DELETE, not to_here)
    return MirrorStep(key, MirrorAction.RESTORE, to_here)


def count_lost(side: Stamps, synced: Mapping[str, SyncedStamps], removed: frozenset[str]) -> int:
    """How many files have gone from a side that no removal explains."""
    return sum(find_owner_tokens(key).isdisjoint(removed) for key in synced.keys() - side.keys())
