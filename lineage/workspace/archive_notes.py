"""The archive's monthly notes; a month's own, written last, has a hash that shows a cut-off run."""

from collections.abc import Iterator, Mapping

from lineage.core.capture.ledger import build_head
from lineage.core.format.documents import Artifact, parse_document_as
from lineage.core.transfer import archive_paths
from lineage.core.transfer.bundle import Member
from lineage.errors import FormatError
from lineage.projection.archive_md import hash_contents, parse_contents_hash, render_artifact_note, render_month_note
from lineage.store import read_or_none, update
from lineage.workspace.workspace import Workspace


def publish_archive_notes(ws: Workspace) -> list[str]:
    """Write the notes of every month from its bundles. Return the months with a change."""
    months, notes = group_archived_by_month(ws), list_notes(ws)
    return [
        month
        for month in sorted({*months, *notes})
        if _publish_month(ws, month, months.get(month, {}), notes.get(month, set()))
    ]


def render_month_notes(ws: Workspace, month: str, members: Mapping[str, Member]) -> Iterator[tuple[str, bytes]]:
    """Yield the notes of a month by key, its own last; none if empty. A damaged artifact has no note."""
    heads = []
    for path in members:
        try:
            blob = ws.documents.archives.read(path)
            artifact = parse_document_as(Artifact, blob.data, path) if blob else None
        except FormatError:  # `verify` reports it
            continue
        if blob and artifact:
            heads.append(build_head(artifact))
            yield archive_paths.note_path(path), render_artifact_note(artifact, blob.data)
    if members:
        yield archive_paths.month_path(month), render_month_note(month, heads, _hash_members(members))


def group_archived_by_month(ws: Workspace) -> dict[str, dict[str, Member]]:
    """Return every archived artifact by path, by month."""
    months: dict[str, dict[str, Member]] = {}
    for path, member in ws.documents.archives.list_members().items():
        months.setdefault(archive_paths.month_of(path), {})[path] = member
    return months


def list_notes(ws: Workspace) -> dict[str, set[str]]:
    """Return the keys of the existing notes by month, the month's own included."""
    months: dict[str, set[str]] = {}
    for entry in ws.documents.base.list(archive_paths.ARCHIVE):
        month = archive_paths.find_month(entry.key)
        if month and (archive_paths.note_to_artifact_path(entry.key) or entry.key == archive_paths.month_path(month)):
            months.setdefault(month, set()).add(entry.key)
    return months


def _publish_month(ws: Workspace, month: str, members: Mapping[str, Member], notes: set[str]) -> bool:
    store, own_key = ws.documents.base, archive_paths.month_path(month)
    blob = read_or_none(store, own_key)
    published = parse_contents_hash(blob.data) if blob else None
    expected = {archive_paths.note_path(path) for path in members}
    if notes - {own_key} == expected and published == (_hash_members(members) if members else None):
        return False
    # the own note last: its hash says that all others are written
    for key in sorted(notes - {own_key} - expected):
        store.delete(key)
    for key, data in render_month_notes(ws, month, members):

        def change(old: bytes | None, key: str = key, data: bytes = data) -> bytes | None:
            # somebody else's note in the place of the month's list stays
            is_note = archive_paths.note_to_artifact_path(key) is not None
            is_ours = old is None or is_note or parse_contents_hash(old) is not None
            return data if is_ours else None

        update(store, key, change)
    if not members and published is not None:
        store.delete(own_key)
    return True


def _hash_members(members: Mapping[str, Member]) -> str:
    return hash_contents({path: member.sha256 for path, member in members.items()})
