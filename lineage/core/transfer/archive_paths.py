"""Where archived artifacts lie, by name alone.

    archive/2026-01/2026-01.md                 the month's list of what was archived, a projection
    archive/2026-01/memory/<stem>--<kind>.md   what links to the artifact lead to, a projection
    archive/2026-01/bundles/<slot>-<n>.zip     a bundle with the artifacts, byte for byte, under their own paths
    archive/2026-01/bundles/<slot>-<n>.json    its description once more, so that a listing need not open it

An artifact's month is that of its own stem. A bundle never changes: what has to is written as the next revision of its
slot, and the highest revision is in force, so that names alone say which one that is after a crash between the two.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.base import naming

if TYPE_CHECKING:
    from lineage.core.transfer.bundle import Bundle, Member

ARCHIVE = "archive/"

_MONTH = r"\d{4}-\d\d"
_REVISION = re.compile(rf"{ARCHIVE}({_MONTH})/bundles/([0-9a-f]{{16}})-([1-9]\d{{0,8}})\.(zip|json)")
_MANAGED_FILE = re.compile(rf"{ARCHIVE}({_MONTH})/(?:(bundles/)|(memory/)|(\1\.md$))")


class ArchiveRevision(NamedTuple):
    """One revision of a slot: a bundle of a month."""

    month: str
    slot: str
    revision: int

    @property
    def path(self) -> str:
        return f"{bundles_folder(self.month)}{self.slot}-{self.revision}.zip"

    @property
    def catalog_path(self) -> str:
        return f"{bundles_folder(self.month)}{self.slot}-{self.revision}.json"

    @property
    def next_revision(self) -> "ArchiveRevision":
        return self._replace(revision=self.revision + 1)


def is_archivable(path: str) -> bool:
    """Whether a path is that of an artifact, which an archive can hold; manifests stay where they are."""
    name = naming.parse_path(path)
    return name is not None and name.kind in naming.ARTIFACT_KINDS


def month_of(path: str) -> str:
    """The month whose archive an artifact belongs to.

    >>> month_of("memory/2026-03-28T22-34-06.792Z--h7k3n4p2m2x6q3r5--summary.md")
    '2026-03'
    """
    return path.removeprefix(naming.MEMORY)[:7]


def bundles_folder(month: str) -> str:
    return f"{ARCHIVE}{month}/bundles/"


def month_path(month: str) -> str:
    """The note that lists what was archived of a month."""
    return f"{ARCHIVE}{month}/{month}.md"


def note_path(path: str) -> str:
    """The note that a link to an archived artifact leads to: Obsidian finds it by the end of its path."""
    return f"{ARCHIVE}{month_of(path)}/{path}"


def parse_revision(key: str) -> tuple[ArchiveRevision, bool] | None:
    """The part that a key belongs to, and whether it is the bundle itself; None for anything else."""
    match = _REVISION.fullmatch(key)
    return (ArchiveRevision(match[1], match[2], int(match[3])), match[4] == "zip") if match else None


def is_archive_bundle(key: str) -> bool:
    """Whether a key is that of a bundle of the archive."""
    found = parse_revision(key)
    return found is not None and found[1]


def note_to_artifact_path(key: str) -> str | None:
    """The artifact that a note of the archive stands for, by the note's key; None for anything else."""
    path = key[len(ARCHIVE) + 8 :]
    return path if is_archivable(path) and note_path(path) == key else None


def find_month(key: str) -> str | None:
    """The month whose archive a key lies in, where lineage keeps files; None elsewhere in the folder."""
    match = _MANAGED_FILE.match(key)
    return match[1] if match else None


def latest_revisions(parts: Iterable[ArchiveRevision]) -> list[ArchiveRevision]:
    """The highest revision of each slot, in order."""
    newest = {(part.month, part.slot): part for part in sorted(parts)}
    return sorted(newest.values())


def select_members(bundle: "Bundle", members: "tuple[Member, ...]") -> "Bundle":
    """The description of a bundle that holds these members of it only."""
    tokens = {name.token for member in members if (name := naming.parse_path(member.path))}
    held = tuple(session for session in bundle.sessions if session.session_token in tokens)
    return bundle._replace(members=members, sessions=held)
