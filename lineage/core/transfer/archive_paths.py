"""Paths of archived artifacts and of the bundles that hold them.

    archive/2026-01/2026-01.md                 the list of the month's archived artifacts, a projection
    archive/2026-01/memory/<stem>--<kind>.md   the target of links to the artifact, a projection
    archive/2026-01/bundles/<slot>-<n>.zip     a bundle with the artifacts, byte for byte, under their own paths
    archive/2026-01/bundles/<slot>-<n>.json    a copy of its description, so that a listing need not open it

The month of an artifact is that of its own stem. A bundle never changes: a change is written as the next revision of
its slot. The highest revision is in force, so that after a crash between the two the names alone decide.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lineage.core.base import naming

ARCHIVE = "archive/"

_MONTH = r"\d{4}-\d\d"
_REVISION = re.compile(rf"{ARCHIVE}({_MONTH})/bundles/([0-9a-f]{{16}})-([1-9]\d{{0,8}})\.(zip|json)")
_MANAGED_FILE = re.compile(rf"{ARCHIVE}({_MONTH})/(?:(bundles/)|(memory/)|(\1\.md$))")


@dataclass(frozen=True, slots=True, order=True)
class ArchiveRevision:
    """One revision of a slot: a bundle of a month."""

    month: str
    slot: str
    revision: int

    @property
    def path(self) -> str:
        """The path of the bundle."""
        return f"{bundles_folder(self.month)}{self.slot}-{self.revision}.zip"

    @property
    def catalog_path(self) -> str:
        """The path of the copy of its description."""
        return f"{bundles_folder(self.month)}{self.slot}-{self.revision}.json"

    @property
    def next_revision(self) -> "ArchiveRevision":
        """The next revision of the slot."""
        return replace(self, revision=self.revision + 1)


def is_archivable(path: str) -> bool:
    """Return whether a path is that of an artifact. Manifests are never archived."""
    name = naming.parse_path(path)
    return name is not None and name.kind in naming.ARTIFACT_KINDS


def month_of(path: str) -> str:
    """Return the month of an artifact's archive.

    >>> month_of("memory/2026-03-28T22-34-06.792Z--h7k3n4p2m2x6q3r5--summary.md")
    '2026-03'
    """
    return path.removeprefix(naming.MEMORY)[:7]


def bundles_folder(month: str) -> str:
    """Return the folder of a month's bundles, with its final slash."""
    return f"{ARCHIVE}{month}/bundles/"


def month_path(month: str) -> str:
    """Return the path of the note that lists a month's archived artifacts."""
    return f"{ARCHIVE}{month}/{month}.md"


def note_path(path: str) -> str:
    """Return the path of the note in place of an archived artifact: Obsidian finds it by the end of its path."""
    return f"{ARCHIVE}{month_of(path)}/{path}"


def parse_revision(key: str) -> tuple[ArchiveRevision, bool] | None:
    """Return the revision of a key and whether it is the bundle itself, or None for anything else."""
    match = _REVISION.fullmatch(key)
    return (ArchiveRevision(match[1], match[2], int(match[3])), match[4] == "zip") if match else None


def is_archive_bundle(key: str) -> bool:
    """Return whether a key is that of a bundle of the archive."""
    parsed = parse_revision(key)
    return parsed is not None and parsed[1]


def note_to_artifact_path(key: str) -> str | None:
    """Return the path of the archived artifact behind a note of the archive, or None for anything else."""
    path = key[len(f"{ARCHIVE}2026-01/") :]
    return path if is_archivable(path) and note_path(path) == key else None


def find_month(key: str) -> str | None:
    """Return the month of a key that lineage manages in the archive, or None for any other key."""
    match = _MANAGED_FILE.match(key)
    return match[1] if match else None


def latest_revisions(revisions: Iterable[ArchiveRevision]) -> list[ArchiveRevision]:
    """Return the highest revision of each slot, sorted."""
    latest = {(revision.month, revision.slot): revision for revision in sorted(revisions)}
    return sorted(latest.values())
