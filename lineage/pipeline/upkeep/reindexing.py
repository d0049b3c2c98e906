"""Reindex: a diff of two path-sorted streams, disk and index. (spec: re-index)

Disk wins: rows are added, changed and dropped until they are those of the files. What did not change is not read.
Cut off at any point, the next run goes on where this one ended.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage.core import naming
from lineage.core.documents import Manifest
from lineage.errors import FormatError, LineageError
from lineage.index import Row
from lineage.pipeline.behind import made_good, marks
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve_all
from lineage.pipeline.publishing import Published, publish_all
from lineage.pipeline.reading import named_by, row_at

_BATCH = 1000

Progress = Callable[[int, int], None]
"""Called with (done, total) files."""


class SuddenLoss(LineageError):
    """More than half of what was indexed is gone from disk: that looks like an unmounted folder or a broken sync."""


@dataclass(slots=True)
class Report:
    """What a reindex found and did. `problems` are (path, what is wrong): those files have no row; `strays` are files
    in `memory/` whose names are not ours, left alone; `buried` are files of removed sessions, ignored; `broken` are
    (manifest, path that it names and that is not there). `books` counts the books' files that came, went or have other
    rows now; all other counts are of artifacts and manifests."""

    added: int = 0
    changed: int = 0
    dropped: int = 0
    unchanged: int = 0
    touched: int = 0
    books: int = 0
    claims_rebuilt: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    buried: list[str] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)


class Change(NamedTuple):
    """A file that is to have a row; `sha256` is that of its row, None where it has none."""

    path: str
    stamp: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class _Diff:
    """`fresh` files have no row or another stamp; `gone` rows have no file, or one of a removed session: `lost` counts
    those that no removal explains."""

    fresh: list[Change]
    gone: list[str]
    lost: int
    unchanged: int
    present: frozenset[str]


def reindex(house: House, *, confirmed: bool = False, progress: Progress | None = None) -> Report:
    """Makes the rows those of the files, rebuilds lost claims and renders MEMORY.md.

    Raises SuddenLoss, having changed nothing, where more than half of the rows would go and `confirmed` is False.
    """
    missing = marks(house.canon)
    report, present = _synchronized(house, confirmed=confirmed, progress=progress)
    report.claims_rebuilt = _rebuild_claims(house, present)
    report.published = publish_all(house)
    made_good(house.canon, missing)
    return report


def synchronize(house: House, *, confirmed: bool = False, progress: Progress | None = None) -> Report:
    """The rows alone: nothing outside the index is written."""
    return _synchronized(house, confirmed=confirmed, progress=progress)[0]


def ensure_indexed(house: House) -> None:
    """Fills an index that is missing, of another version or was damaged: rebuilt, not an error. One that is behind the
    files, for its server was away, is brought up with all that is made of its rows."""
    if house.index.is_new:
        synchronize(house, confirmed=True)
    if marks(house.canon):
        reindex(house)


def _synchronized(house: House, *, confirmed: bool, progress: Progress | None) -> tuple[Report, frozenset[str]]:
    """What was done, and the keys that are there."""
    report = Report(problems=sorted(house.canon.archives.damaged().items()))
    diff = _diff(house, report)
    known = diff.unchanged + diff.lost + sum(change.sha256 is not None for change in diff.fresh)
    if not confirmed and diff.lost * 2 > known:
        raise SuddenLoss(
            f"{diff.lost} of {known} indexed files are gone from the workspace",
            hint="if they are meant to be gone: `lineage reindex --yes`; else bring the folder back first",
        )
    report.unchanged = diff.unchanged
    for start in range(0, len(diff.fresh), _BATCH):
        take_in(house, diff.fresh[start : start + _BATCH], report)
        if progress:
            progress(min(start + _BATCH, len(diff.fresh)), len(diff.fresh))
    house.index.remove(diff.gone)
    report.dropped += len(diff.gone)
    take_in_books(house, report)
    report.broken = [link for link in report.broken if link[1] not in diff.present]
    house.index.complete()
    return report, diff.present


def _diff(house: House, report: Report) -> _Diff:
    removed = house.canon.tombstones.tokens()
    known = {item.path: item for item in house.index.known()}
    fresh, unchanged, present = [], 0, set()
    for entry in house.canon.store.list(naming.MEMORY):
        name = naming.parse_path(entry.key)
        present.add(entry.key)
        if name is None:
            if not entry.key.startswith((naming.CLAIMS, naming.TOMBSTONES)):
                report.strays.append(entry.key)
        elif name.token in removed:
            report.buried.append(entry.key)
        else:
            row = known.pop(entry.key, None)
            if row and row.stamp == entry.stamp:
                unchanged += 1
            else:
                fresh.append(Change(entry.key, entry.stamp, row.sha256 if row else None))
    lost = sum(removed.isdisjoint(naming.tokens_in(path)) for path in known)
    return _Diff(fresh, sorted(known), lost, unchanged, frozenset(present))


def take_in(house: House, changes: Iterable[Change], report: Report) -> None:
    """Makes the rows of these files what they say, in one step; those of sessions that are removed meanwhile go."""
    rows, stamps, gone = [], [], []
    for change in changes:
        row = _row(house, change, report)
        if row is None:
            gone.append(change.path)
        elif row.source_sha256 == change.sha256:
            stamps.append((row.source_path, row.stamp))
            report.touched += 1
        else:
            rows.append(row)
            report.added += change.sha256 is None
            report.changed += change.sha256 is not None
    house.index.upsert(rows)
    house.index.restamp(stamps)
    house.index.remove(gone)
    _forget_buried(house, rows)


def take_in_books(house: House, report: Report) -> None:
    """Makes the rows of books those of their files."""
    found = shelve_all(house)
    report.books = found.changed
    report.buried += found.buried
    report.problems += sorted(found.problems.items())


def _forget_buried(house: House, rows: Iterable[Row]) -> None:
    """Drops rows of sessions that were removed while their files were read: the removal dropped its rows before."""
    buried = house.canon.tombstones.tokens() & {row.session_token for row in rows}
    for token in buried:
        house.index.forget(token)
    if buried:
        house.index.scrub()


def _row(house: House, change: Change, report: Report) -> Row | None:
    try:
        found = row_at(house, change.path)
    except FormatError as error:
        report.problems.append((change.path, error.message))
        return None
    if found is None:
        return None
    row, document = found
    if isinstance(document, Manifest):
        report.broken += [(change.path, path) for path in named_by(document)]
    return row


def _rebuild_claims(house: House, present: Collection[str]) -> int:
    """A lost claim is rebuilt from the session's oldest manifest. (format: Identity)"""
    rebuilt = 0
    for path in house.index.oldest_manifests():
        name = naming.parse_path(path)
        if name and naming.claim_path(name.token) not in present:
            manifest = house.canon.manifests.get(name.stem)
            if manifest:
                house.canon.claims.claim(manifest.identity, name.stem)
                rebuilt += 1
    return rebuilt
