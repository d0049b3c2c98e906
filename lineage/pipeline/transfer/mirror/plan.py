"""The plan of a mirror: two listings are compared with the last synced state.

Names and stamps decide here. If both sides hold a file and one version may be new, the contents decide (file_merge.py).
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS, PENDING, session_scope
from lineage.core.transfer.archive_paths import ARCHIVE, find_month
from lineage.pipeline.transfer.file_kinds import FileKind, classify_file, is_memory_md, sort_for_copying
from lineage.workspace.book_folders import CLAIM_NOTE

_OWN_BOOKS = (f"{BOOKS}{session_scope('')}", f"{BOOKS}{PENDING}/{session_scope('')}")

Stamps = Mapping[str, str]


class SyncedStamps(NamedTuple):
    """The stamps of a file on both sides at its last sync."""

    here: str
    there: str


class MirrorAction(Enum):
    """The change of a step.

    `COPY` to the side that never had the file, `RESTORE` to the side that lost it, `DELETE` after the other side,
    `MERGE` by content, `FORGET` a file gone on both sides.
    """

    COPY = "copy"
    RESTORE = "restore"
    DELETE = "delete"
    MERGE = "meet"
    FORGET = "forget"


class MirrorStep(NamedTuple):
    """A step for one file. `to_here` is the written side, if it is one."""

    key: str
    action: MirrorAction
    to_here: bool


def is_mirrored(key: str) -> bool:
    """Return whether a file goes to the other side.

    False for MEMORY.md and the archive: each side makes its own, and for a sync client's copies.

    >>> [is_mirrored(key) for key in ("Plans.md", "MEMORY.md", "books/global/note 2.md", "archive/2026-01/2026-01.md")]
    [True, False, False, False]
    """
    if key.startswith((naming.MEMORY, BOOKS)) and not key.endswith(f"/{CLAIM_NOTE}"):
        return classify_file(key) is not FileKind.NOTE
    return not is_memory_md(key) and find_month(key) is None


def find_owner_tokens(key: str) -> frozenset[str]:
    """Return the tokens of the sessions that a file belongs to, by its name; none for a tombstone.

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
    """Yield the steps, in the order of copying. `propagate_removals` deletes the files of removed sessions."""
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
