"""The checks of the archive: bundles, their catalogs, and the notes of months."""

from collections.abc import Iterator

from lineage.core.base import naming
from lineage.core.base.times import shift_time, to_date
from lineage.core.transfer.archive_paths import ARCHIVE, find_month, month_path, note_to_artifact_path, parse_revision
from lineage.documents.bundle_zip import OWN_LIMITS, read_description
from lineage.errors import FormatError
from lineage.pipeline.maintenance.findings import (
    MOVE_AWAY,
    MUST,
    RECOVER,
    REINDEX,
    SHOULD,
    VerifyFinding,
    build_returned_finding,
)
from lineage.projection.archive_md import parse_contents_hash
from lineage.store import read_or_none
from lineage.workspace.archive_notes import group_archived_by_month, list_notes, render_month_notes
from lineage.workspace.workspace import Workspace

_RESTORE_BUNDLE = "restore the bundle from a backup or git"


def check_archive(ws: Workspace) -> Iterator[VerifyFinding]:
    """Yield the faults of bundles, catalogs, archived artifacts with a plain file, file names and notes."""
    archives = ws.documents.archives
    for path, message in archives.find_damaged().items():
        yield VerifyFinding(MUST, path, message, _RESTORE_BUNDLE)
    removed = ws.documents.tombstones.list_tokens()
    for revision in archives.find_superseded():
        yield _check_superseded(ws, revision.path, removed)
    for catalog in archives.iter_catalogs():
        blob = read_or_none(ws.documents.base, catalog.revision.path)
        if blob and read_description(blob.data, OWN_LIMITS) not in (None, catalog.bundle):
            path = catalog.revision.catalog_path
            yield VerifyFinding(MUST, path, "is not what its bundle holds", f"delete it, then {RECOVER}")
    yield from _check_names(ws)
    yield from _check_duplicates(ws)
    yield from _check_notes(ws, removed)


def _check_superseded(ws: Workspace, path: str, removed: frozenset[str]) -> VerifyFinding:
    blob = read_or_none(ws.documents.base, path)
    bundle = read_description(blob.data, OWN_LIMITS) if blob else None
    for session in bundle.sessions if bundle else ():
        if session.session_token in removed:
            return build_returned_finding(path, session.session_token)
    return VerifyFinding(SHOULD, path, "an older revision: left behind, or brought back", RECOVER)


def _check_names(ws: Workspace) -> Iterator[VerifyFinding]:
    keys = [entry.key for entry in ws.documents.base.list(ARCHIVE)]
    files = {parsed for key in keys if (parsed := parse_revision(key))}
    for key in keys:
        parsed, month = parse_revision(key), find_month(key)
        if parsed and (parsed[0], True) not in files:
            yield VerifyFinding(SHOULD, key, "lists a bundle that is not there", RECOVER)
        elif not parsed and month and not note_to_artifact_path(key) and key != month_path(month):
            yield VerifyFinding(SHOULD, key, "not a name of ours: a sync's leftover?", MOVE_AWAY)
    for catalog in ws.documents.archives.iter_catalogs():
        if (catalog.revision, False) not in files:
            yield VerifyFinding(SHOULD, catalog.revision.path, "its catalog is missing", RECOVER)


def _check_duplicates(ws: Workspace) -> Iterator[VerifyFinding]:
    """Yield a fault for each archived artifact with a plain file."""
    for path in ws.documents.archives.list_members():
        plain = read_or_none(ws.documents.base, path)
        try:
            archived = ws.documents.archives.read(path) if plain else None
        except FormatError:  # reported with the bundle's members
            continue
        if plain and archived and plain.data != archived.data:
            remedy = "restore the right one from a backup or git"
            yield VerifyFinding(MUST, path, "is archived with other content", remedy)
        elif plain and archived:
            name = naming.parse_path(path)
            next_day = to_date(shift_time(name.captured_at, days=1)) if name else ""
            yield VerifyFinding(SHOULD, path, "is archived, and there still", f"lineage archive --before {next_day}")


def _check_notes(ws: Workspace, removed: frozenset[str]) -> Iterator[VerifyFinding]:
    months, notes = group_archived_by_month(ws), list_notes(ws)
    for month in sorted({*months, *notes}):
        members = months.get(month, {})
        expected = dict(render_month_notes(ws, month, members))
        for key in sorted({*expected, *notes.get(month, ())}):
            blob = read_or_none(ws.documents.base, key)
            # a damaged artifact has no note to compare; `verify` reports the artifact itself
            is_damaged = key not in expected and note_to_artifact_path(key) in members
            if expected.get(key) != (blob.data if blob else None) and not is_damaged:
                yield _build_note_finding(key, blob.data if blob else None, removed)


def _build_note_finding(key: str, data: bytes | None, removed: frozenset[str]) -> VerifyFinding:
    path = note_to_artifact_path(key)
    name = naming.parse_path(path or "")
    if name and name.token in removed:
        return build_returned_finding(key, name.token)
    if data is None:
        return VerifyFinding(SHOULD, key, "is missing", REINDEX)
    if path is None and parse_contents_hash(data) is None:
        what = "somebody else's note, where the list of a month belongs"
        return VerifyFinding(SHOULD, key, what, f"{MOVE_AWAY}, then {REINDEX}")
    return VerifyFinding(SHOULD, key, "is not what the bundles say", f"delete it, then {REINDEX}")
