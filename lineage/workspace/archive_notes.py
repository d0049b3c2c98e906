"""The notes of the archive by month: a projection of its bundles, like MEMORY.md.

A month's note holds the hash of the month's contents. It is written last: without it the next run writes all again.
"""

from collections.abc import Iterator, Mapping
from functools import partial

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
    """Bring the notes of every month up to its bundles, and return the months that changed."""
    members = group_archived_by_month(ws)
    notes = list_notes(ws)
    months = sorted({*members, *notes})
    return [month for month in months if _publish_month(ws, month, members.get(month, {}), notes.get(month, set()))]


def render_month_notes(ws: Workspace, month: str, members: Mapping[str, Member]) -> Iterator[tuple[str, bytes]]:
    """Yield the desired notes of a month, its own last, by key. Damaged artifacts have none."""
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


def _publish_month(ws: Workspace, month: str, members: Mapping[str, Member], notes: set[str]) -> bool:
    store, month_note = ws.documents.store, month_path(month)
    blob = read_or_none(store, month_note)
    contents = parse_contents_hash(blob.data) if blob else None
    wanted = {note_path(path) for path in members}
    if notes - {month_note} == wanted and contents == (_format_contents(members) if members else None):
        return False
    for key in sorted(notes - {month_note} - wanted):
        store.delete(key)
    for key, data in render_month_notes(ws, month, members):
        update(store, key, partial(_replace_note, key, data))
    if not members and contents is not None:
        store.delete(month_note)
    return True


def _replace_note(key: str, data: bytes, old: bytes | None) -> bytes | None:
    # A note that the user wrote at the month's place stays.
    is_ours = old is None or note_to_artifact_path(key) is not None or parse_contents_hash(old) is not None
    return data if is_ours else None


def _format_contents(members: Mapping[str, Member]) -> str:
    return hash_contents({path: member.sha256 for path, member in members.items()})


def group_archived_by_month(ws: Workspace) -> dict[str, dict[str, Member]]:
    """Return each month's archived artifacts by path."""
    months: dict[str, dict[str, Member]] = {}
    for path, member in ws.documents.archives.list_members().items():
        months.setdefault(month_of(path), {})[path] = member
    return months


def list_notes(ws: Workspace) -> dict[str, set[str]]:
    """Return the keys of each month's notes, its own among them."""
    months: dict[str, set[str]] = {}
    for entry in ws.documents.store.list(ARCHIVE):
        month = find_month(entry.key)
        if month and (note_to_artifact_path(entry.key) or entry.key == month_path(month)):
            months.setdefault(month, set()).add(entry.key)
    return months
