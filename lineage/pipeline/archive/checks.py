"""What `verify` asks of the archive, beside what it asks of every artifact. (law 2)"""

from collections.abc import Iterator
from typing import NamedTuple

from lineage.canon.archives import Catalog
from lineage.canon.bundles import OWN_LIMITS, description_of
from lineage.core import naming
from lineage.core.archive import ARCHIVE, archived_path, month_path, month_within, parse_part
from lineage.core.times import day, shifted
from lineage.errors import FormatError
from lineage.pipeline.archive.notes import archived_by_month, notes_of, notes_there
from lineage.pipeline.house import House
from lineage.projection.archive_md import said_of
from lineage.store import read_or_none

_RECOVER = "lineage recover"
_REINDEX = "lineage reindex"
_RESTORE = "restore the bundle from a backup or git"
_AWAY = "move it away"


class Fault(NamedTuple):
    """What is wrong in the archive; `is_must` where data is lost or leaked else."""

    is_must: bool
    path: str
    what: str
    mend: str


def faults(house: House) -> Iterator[Fault]:
    """Bundles that can't be opened or are out of force, catalogs that say something else, artifacts that lie in two
    places, names that aren't ours, and notes that aren't what the bundles say."""
    archives = house.canon.archives
    for path, what in archives.damaged().items():
        yield Fault(True, path, what, _RESTORE)
    removed = house.canon.tombstones.tokens()
    for part in archives.superseded():
        yield _superseded(house, part.path, removed)
    for catalog in archives.catalogs():
        yield from _catalog(house, catalog)
    yield from _strays(house)
    yield from _doubles(house)
    yield from _notes(house, removed)


def _superseded(house: House, path: str, removed: frozenset[str]) -> Fault:
    blob = read_or_none(house.canon.archives.store, path)
    bundle = description_of(blob.data, OWN_LIMITS) if blob else None
    for session in bundle.sessions if bundle else ():
        if session.session_token in removed:
            return _came_back(path, session.session_token)
    return Fault(False, path, "an older revision: left behind, or brought back", _RECOVER)


def _came_back(path: str, token: str) -> Fault:
    return Fault(True, path, "a removed session's file came back", f"lineage remove {token} --again")


def _catalog(house: House, catalog: Catalog) -> Iterator[Fault]:
    blob = read_or_none(house.canon.archives.store, catalog.part.path)
    if blob and description_of(blob.data, OWN_LIMITS) not in (None, catalog.bundle):
        yield Fault(True, catalog.part.catalog, "is not what its bundle holds", f"delete it, then {_RECOVER}")


def _strays(house: House) -> Iterator[Fault]:
    parts = {found for entry in house.canon.archives.store.list(ARCHIVE) if (found := parse_part(entry.key))}
    for entry in house.canon.archives.store.list(ARCHIVE):
        part = parse_part(entry.key)
        if part and (part[0], True) not in parts:
            yield Fault(False, entry.key, "lists a bundle that is not there", _RECOVER)
        elif not part and _is_stray(entry.key):
            yield Fault(False, entry.key, "not a name of ours: a sync's leftover?", _AWAY)
    for catalog in house.canon.archives.catalogs():
        if (catalog.part, False) not in parts:
            yield Fault(False, catalog.part.path, "its catalog is missing", _RECOVER)


def _is_stray(key: str) -> bool:
    month = month_within(key)
    return month is not None and not archived_path(key) and key != month_path(month)


def _doubles(house: House) -> Iterator[Fault]:
    """An artifact that is archived has no plain file."""
    archives = house.canon.archives
    for path in archives.members():
        plain = read_or_none(archives.store, path)
        try:
            kept = archives.read(path) if plain else None
        except FormatError:
            continue
        if plain and kept:
            yield _double(path, is_same=plain.data == kept.data)


def _double(path: str, *, is_same: bool) -> Fault:
    if not is_same:
        return Fault(True, path, "is archived with other content", "restore the right one from a backup or git")
    name = naming.parse_path(path)
    day_after = day(shifted(name.captured_at, days=1)) if name else ""
    return Fault(False, path, "is archived, and there still", f"lineage archive --before {day_after}")


def _notes(house: House, removed: frozenset[str]) -> Iterator[Fault]:
    members, there = archived_by_month(house), notes_there(house)
    for month in sorted({*members, *there}):
        held = members.get(month, {})
        wanted = dict(notes_of(house, month, held))
        for key in sorted({*wanted, *there.get(month, ())}):
            blob = read_or_none(house.canon.store, key)
            is_damaged = key not in wanted and archived_path(key) in held
            if wanted.get(key) != (blob.data if blob else None) and not is_damaged:
                yield _note(key, blob.data if blob else None, removed)


def _note(key: str, data: bytes | None, removed: frozenset[str]) -> Fault:
    name = naming.parse_path(archived_path(key) or "")
    if name and name.token in removed:
        return _came_back(key, name.token)
    if data is not None and not archived_path(key) and said_of(data) is None:
        return Fault(False, key, "somebody else's note, where the list of a month belongs", f"{_AWAY}, then {_REINDEX}")
    if data is None:
        return Fault(False, key, "is missing", _REINDEX)
    return Fault(False, key, "is not what the bundles say", f"delete it, then {_REINDEX}")
