"""What `verify` asks of the archive, beside what it asks of every artifact. (law 2)"""

from collections.abc import Iterator
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.times import shift_time, to_date
from lineage.core.transfer.archive_paths import ARCHIVE, find_month, month_path, note_to_artifact_path, parse_revision
from lineage.documents.archive.archives import Catalog
from lineage.documents.bundle_zip import OWN_LIMITS, read_description
from lineage.errors import FormatError
from lineage.projection.archive_md import parse_contents_hash
from lineage.store import read_or_none
from lineage.workspace.archive_notes import group_archived_by_month, list_notes, render_month_notes
from lineage.workspace.workspace import Workspace

_RECOVER = "lineage recover"
_REINDEX = "lineage reindex"
_RESTORE = "restore the bundle from a backup or git"
_MOVE_AWAY = "move it away"


class ArchiveFault(NamedTuple):
    """What is wrong in the archive; `is_must` where data is lost or leaked else."""

    is_must: bool
    path: str
    what: str
    mend: str


def check_archive(ws: Workspace) -> Iterator[ArchiveFault]:
    """Bundles that can't be opened or are out of force, catalogs that say something else, artifacts that lie in two
    places, names that aren't ours, and notes that aren't what the bundles say."""
    archives = ws.documents.archives
    for path, what in archives.find_damaged().items():
        yield ArchiveFault(True, path, what, _RESTORE)
    removed = ws.documents.tombstones.list_tokens()
    for part in archives.find_superseded():
        yield _check_superseded(ws, part.path, removed)
    for catalog in archives.iter_catalogs():
        yield from _check_catalog(ws, catalog)
    yield from _check_strays(ws)
    yield from _check_duplicates(ws)
    yield from _check_notes(ws, removed)


def _check_superseded(ws: Workspace, path: str, removed: frozenset[str]) -> ArchiveFault:
    blob = read_or_none(ws.documents.base, path)
    bundle = read_description(blob.data, OWN_LIMITS) if blob else None
    for session in bundle.sessions if bundle else ():
        if session.session_token in removed:
            return _build_returned_fault(path, session.session_token)
    return ArchiveFault(False, path, "an older revision: left behind, or brought back", _RECOVER)


def _build_returned_fault(path: str, token: str) -> ArchiveFault:
    return ArchiveFault(True, path, "a removed session's file came back", f"lineage remove {token} --again")


def _check_catalog(ws: Workspace, catalog: Catalog) -> Iterator[ArchiveFault]:
    blob = read_or_none(ws.documents.base, catalog.revision.path)
    if blob and read_description(blob.data, OWN_LIMITS) not in (None, catalog.bundle):
        yield ArchiveFault(
            True, catalog.revision.catalog_path, "is not what its bundle holds", f"delete it, then {_RECOVER}"
        )


def _check_strays(ws: Workspace) -> Iterator[ArchiveFault]:
    parts = {found for entry in ws.documents.base.list(ARCHIVE) if (found := parse_revision(entry.key))}
    for entry in ws.documents.base.list(ARCHIVE):
        part = parse_revision(entry.key)
        if part and (part[0], True) not in parts:
            yield ArchiveFault(False, entry.key, "lists a bundle that is not there", _RECOVER)
        elif not part and _is_stray(entry.key):
            yield ArchiveFault(False, entry.key, "not a name of ours: a sync's leftover?", _MOVE_AWAY)
    for catalog in ws.documents.archives.iter_catalogs():
        if (catalog.revision, False) not in parts:
            yield ArchiveFault(False, catalog.revision.path, "its catalog is missing", _RECOVER)


def _is_stray(key: str) -> bool:
    month = find_month(key)
    return month is not None and not note_to_artifact_path(key) and key != month_path(month)


def _check_duplicates(ws: Workspace) -> Iterator[ArchiveFault]:
    """An artifact that is archived has no plain file."""
    archives = ws.documents.archives
    for path in archives.list_members():
        plain = read_or_none(ws.documents.base, path)
        try:
            kept = archives.read(path) if plain else None
        except FormatError:
            continue
        if plain and kept:
            yield _build_duplicate_fault(path, is_same=plain.data == kept.data)


def _build_duplicate_fault(path: str, *, is_same: bool) -> ArchiveFault:
    if not is_same:
        return ArchiveFault(True, path, "is archived with other content", "restore the right one from a backup or git")
    name = naming.parse_path(path)
    day_after = to_date(shift_time(name.captured_at, days=1)) if name else ""
    return ArchiveFault(False, path, "is archived, and there still", f"lineage archive --before {day_after}")


def _check_notes(ws: Workspace, removed: frozenset[str]) -> Iterator[ArchiveFault]:
    members, there = group_archived_by_month(ws), list_notes(ws)
    for month in sorted({*members, *there}):
        held = members.get(month, {})
        wanted = dict(render_month_notes(ws, month, held))
        for key in sorted({*wanted, *there.get(month, ())}):
            blob = read_or_none(ws.documents.store, key)
            is_damaged = key not in wanted and note_to_artifact_path(key) in held
            if wanted.get(key) != (blob.data if blob else None) and not is_damaged:
                yield _build_note_fault(key, blob.data if blob else None, removed)


def _build_note_fault(key: str, data: bytes | None, removed: frozenset[str]) -> ArchiveFault:
    name = naming.parse_path(note_to_artifact_path(key) or "")
    if name and name.token in removed:
        return _build_returned_fault(key, name.token)
    if data is not None and not note_to_artifact_path(key) and parse_contents_hash(data) is None:
        return ArchiveFault(
            False, key, "somebody else's note, where the list of a month belongs", f"{_MOVE_AWAY}, then {_REINDEX}"
        )
    if data is None:
        return ArchiveFault(False, key, "is missing", _REINDEX)
    return ArchiveFault(False, key, "is not what the bundles say", f"delete it, then {_REINDEX}")
