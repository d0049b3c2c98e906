"""The notes of the archive, kept up with its bundles: a projection like MEMORY.md, by month.

A month's note says what the notes of its month were made of. It is written last, so whoever was cut off is found out
and made up for by the next.
"""

from collections.abc import Iterator, Mapping

from lineage.core.archive import ARCHIVE, archived_path, month_of, month_path, month_within, note_path
from lineage.core.bundle import Member
from lineage.core.documents import Artifact, parsed_as
from lineage.core.ledger import head
from lineage.errors import FormatError
from lineage.pipeline.house import House
from lineage.projection.archive_md import contents_of, month_note, note_of, said_of
from lineage.store import read_or_none, update


def publish_archive(house: House) -> list[str]:
    """Makes the notes of every month what its bundles say; which months had others."""
    members = archived_by_month(house)
    there = notes_there(house)
    return [month for month in sorted({*members, *there}) if _publish(house, month, members.get(month, {}), there)]


def notes_of(house: House, month: str, members: Mapping[str, Member]) -> Iterator[tuple[str, bytes]]:
    """The notes that a month should have, by key, the month's own last; none where nothing is archived of it. Damaged
    artifacts have none."""
    heads = []
    for path in members:
        try:
            blob = house.canon.archives.read(path)
            artifact = parsed_as(Artifact, blob.data, path) if blob else None
        except FormatError:
            continue
        if blob and artifact:
            heads.append(head(artifact))
            yield note_path(path), note_of(artifact, blob.data)
    if members:
        yield month_path(month), month_note(month, heads, _contents(members))


def _publish(house: House, month: str, members: Mapping[str, Member], there: Mapping[str, set[str]]) -> bool:
    own, found = month_path(month), there.get(month, set())
    blob = read_or_none(house.canon.store, own)
    said = said_of(blob.data) if blob else None
    wanted = {note_path(path) for path in members}
    if found - {own} == wanted and said == (_contents(members) if members else None):
        return False
    for key in sorted(found - {own} - wanted):
        house.canon.store.delete(key)
    for key, data in notes_of(house, month, members):
        _write(house, key, data)
    if not members and said is not None:
        house.canon.store.delete(own)
    return True


def _write(house: House, key: str, data: bytes) -> None:
    """A note as it should be; a note of somebody else's at the month's place stays."""

    def change(old: bytes | None) -> bytes | None:
        is_ours = old is None or archived_path(key) is not None or said_of(old) is not None
        return data if is_ours else None

    update(house.canon.store, key, change)


def _contents(members: Mapping[str, Member]) -> str:
    return contents_of({path: member.sha256 for path, member in members.items()})


def archived_by_month(house: House) -> dict[str, dict[str, Member]]:
    """Every archived artifact by path, by month."""
    months: dict[str, dict[str, Member]] = {}
    for path, member in house.canon.archives.members().items():
        months.setdefault(month_of(path), {})[path] = member
    return months


def notes_there(house: House) -> dict[str, set[str]]:
    """The keys of the notes that each month has, the month's own among them."""
    months: dict[str, set[str]] = {}
    for entry in house.canon.store.list(ARCHIVE):
        month = month_within(entry.key)
        if month and (archived_path(entry.key) or entry.key == month_path(month)):
            months.setdefault(month, set()).add(entry.key)
    return months
