"""The checks of the archive in `verify`, besides those of every artifact (law 2)."""

from collections.abc import Iterator
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.times import shift_time, to_date
from lineage.core.transfer.archive_paths import ARCHIVE, find_month, month_path, note_to_artifact_path, parse_revision
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


@dataclass(frozen=True, slots=True)
class ArchiveFault:
    """A fault of the archive and its remedy. `is_must` marks data lost or leaked."""

    is_must: bool
    path: str
    what: str
    mend: str


def check_archive(ws: Workspace) -> Iterator[ArchiveFault]:
    """Yield the faults of bundles, catalogs, archived artifacts with a plain file, file names and notes."""
    archives = ws.documents.archives
    for path, message in archives.find_damaged().items():
        yield ArchiveFault(True, path, message, _RESTORE)
    removed = ws.documents.tombstones.list_tokens()
    for revision in archives.find_superseded():
        yield _check_superseded(ws, revision.path, removed)
    for catalog in archives.iter_catalogs():
        blob = read_or_none(ws.documents.base, catalog.revision.path)
        if blob and read_description(blob.data, OWN_LIMITS) not in (None, catalog.bundle):
            path = catalog.revision.catalog_path
            yield ArchiveFault(True, path, "is not what its bundle holds", f"delete it, then {_RECOVER}")
    yield from _check_names(ws)
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


def _check_names(ws: Workspace) -> Iterator[ArchiveFault]:
    keys = [entry.key for entry in ws.documents.base.list(ARCHIVE)]
    files = {parsed for key in keys if (parsed := parse_revision(key))}
    for key in keys:
        parsed, month = parse_revision(key), find_month(key)
        if parsed and (parsed[0], True) not in files:
            yield ArchiveFault(False, key, "lists a bundle that is not there", _RECOVER)
        elif not parsed and month and not note_to_artifact_path(key) and key != month_path(month):
            yield ArchiveFault(False, key, "not a name of ours: a sync's leftover?", _MOVE_AWAY)
    for catalog in ws.documents.archives.iter_catalogs():
        if (catalog.revision, False) not in files:
            yield ArchiveFault(False, catalog.revision.path, "its catalog is missing", _RECOVER)


def _check_duplicates(ws: Workspace) -> Iterator[ArchiveFault]:
    """Yield a fault for each archived artifact with a plain file."""
    for path in ws.documents.archives.list_members():
        plain = read_or_none(ws.documents.base, path)
        try:
            archived = ws.documents.archives.read(path) if plain else None
        except FormatError:  # reported with the bundle's members
            continue
        if plain and archived and plain.data != archived.data:
            remedy = "restore the right one from a backup or git"
            yield ArchiveFault(True, path, "is archived with other content", remedy)
        elif plain and archived:
            name = naming.parse_path(path)
            next_day = to_date(shift_time(name.captured_at, days=1)) if name else ""
            yield ArchiveFault(False, path, "is archived, and there still", f"lineage archive --before {next_day}")


def _check_notes(ws: Workspace, removed: frozenset[str]) -> Iterator[ArchiveFault]:
    months, notes = group_archived_by_month(ws), list_notes(ws)
    for month in sorted({*months, *notes}):
        members = months.get(month, {})
        expected = dict(render_month_notes(ws, month, members))
        for key in sorted({*expected, *notes.get(month, ())}):
            blob = read_or_none(ws.documents.base, key)
            # a damaged artifact has no note to compare; `verify` reports the artifact itself
            is_damaged = key not in expected and note_to_artifact_path(key) in members
            if expected.get(key) != (blob.data if blob else None) and not is_damaged:
                yield _build_note_fault(key, blob.data if blob else None, removed)


def _build_note_fault(key: str, data: bytes | None, removed: frozenset[str]) -> ArchiveFault:
    path = note_to_artifact_path(key)
    name = naming.parse_path(path or "")
    if name and name.token in removed:
        return _build_returned_fault(key, name.token)
    if data is None:
        return ArchiveFault(False, key, "is missing", _REINDEX)
    if path is None and parse_contents_hash(data) is None:
        what = "somebody else's note, where the list of a month belongs"
        return ArchiveFault(False, key, what, f"{_MOVE_AWAY}, then {_REINDEX}")
    return ArchiveFault(False, key, "is not what the bundles say", f"delete it, then {_REINDEX}")
