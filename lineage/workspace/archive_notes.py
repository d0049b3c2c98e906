"""The notes of the archive, kept up with its bundles: a projection like MEMORY.md, by month.

A month's note says what the notes of its month were made of. It is written last, so whoever was cut off is found out
and made up for by the next.
"""

from collections.abc import Iterator, Mapping

from lineage.core.capture.ledger import build_head
from lineage.core.format.documents import Artifact, parse_document_as
from lineage.core.transfer.archive_paths import (
    ARCHIVE,
    find_month,
    month_of,
    month_path,
    note_path,
    note_to_artifact_path,
)
from lineage.core.transfer.bundle import Member
from lineage.errors import FormatError
from lineage.projection.archive_md import hash_contents, parse_contents_hash, render_artifact_note, render_month_note
from lineage.store import read_or_none, update
from lineage.workspace.workspace import Workspace


def publish_archive_notes(ws: Workspace) -> list[str]:
    """Makes the notes of every month what its bundles say; which months had others."""
    members = group_archived_by_month(ws)
    there = list_notes(ws)
    return [month for month in sorted({*members, *there}) if _publish_month(ws, month, members.get(month, {}), there)]


def render_month_notes(ws: Workspace, month: str, members: Mapping[str, Member]) -> Iterator[tuple[str, bytes]]:
    """The notes that a month should have, by key, the month's own last; none where nothing is archived of it. Damaged
    artifacts have none."""
    heads = []
    for path in members:
        try:
            blob = ws.documents.archives.read(path)
            artifact = parse_document_as(Artifact, blob.data, path) if blob else None
        except FormatError:
            continue
        if blob and artifact:
            heads.append(build_head(artifact))
            yield note_path(path), render_artifact_note(artifact, blob.data)
    if members:
        yield month_path(month), render_month_note(month, heads, _format_contents(members))


def _publish_month(ws: Workspace, month: str, members: Mapping[str, Member], there: Mapping[str, set[str]]) -> bool:
    own, found = month_path(month), there.get(month, set())
    blob = read_or_none(ws.documents.store, own)
    said = parse_contents_hash(blob.data) if blob else None
    wanted = {note_path(path) for path in members}
    if found - {own} == wanted and said == (_format_contents(members) if members else None):
        return False
    for key in sorted(found - {own} - wanted):
        ws.documents.store.delete(key)
    for key, data in render_month_notes(ws, month, members):
        _write_note(ws, key, data)
    if not members and said is not None:
        ws.documents.store.delete(own)
    return True


def _write_note(ws: Workspace, key: str, data: bytes) -> None:
    """A note as it should be; a note of somebody else's at the month's place stays."""

    def change(old: bytes | None) -> bytes | None:
        is_ours = old is None or note_to_artifact_path(key) is not None or parse_contents_hash(old) is not None
        return data if is_ours else None

    update(ws.documents.store, key, change)


def _format_contents(members: Mapping[str, Member]) -> str:
    return hash_contents({path: member.sha256 for path, member in members.items()})


def group_archived_by_month(ws: Workspace) -> dict[str, dict[str, Member]]:
    """Every archived artifact by path, by month."""
    months: dict[str, dict[str, Member]] = {}
    for path, member in ws.documents.archives.list_members().items():
        months.setdefault(month_of(path), {})[path] = member
    return months


def list_notes(ws: Workspace) -> dict[str, set[str]]:
    """The keys of the notes that each month has, the month's own among them."""
    months: dict[str, set[str]] = {}
    for entry in ws.documents.store.list(ARCHIVE):
        month = find_month(entry.key)
        if month and (note_to_artifact_path(entry.key) or entry.key == month_path(month)):
            months.setdefault(month, set()).add(entry.key)
    return months
