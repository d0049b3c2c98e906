"""Reindex: a diff of two path-sorted streams, disk and index. (spec: re-index)

Disk wins: rows are added, changed and dropped until they are those of the files. What did not change is not read.
Cut off at any point, the next run goes on where this one ended.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage.core import naming
from lineage.errors import LineageError
from lineage.pipeline import embedding
from lineage.pipeline.behind import made_good, marks
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve_all
from lineage.pipeline.publishing import Published, publish_all
from lineage.pipeline.upkeep.reading_ahead import Reading, read, readings
from lineage.pipeline.upkeep.rebuilding import Progress, rebuild

_BATCH = 1000
_REBUILT_ASIDE = 1000  # files; an index of fewer is filled where it lies
_READ_TOGETHER = 4000  # files; fewer are read sooner than processes begin
_WITHOUT_ROWS = (naming.CLAIMS, naming.TOMBSTONES)
_MANIFEST, _TOKEN = f"--{naming.MANIFEST}.md", 16  # how a manifest's name ends, behind a token of so many characters


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


def reindex(
    house: House, *, confirmed: bool = False, progress: Progress | None = None, executor: Executor | None = None
) -> Report:
    """Makes the rows those of the files, rebuilds lost claims and renders MEMORY.md. An `executor` does the reading
    where all rows are made anew, or very many.

    Raises SuddenLoss, having changed nothing, where more than half of the rows would go and `confirmed` is False.
    """
    missing = marks(house.canon)
    report, there = _synchronized(house, confirmed=confirmed, progress=progress, executor=executor)
    report.claims_rebuilt = _rebuild_claims(house, there)
    report.published = publish_all(house)
    made_good(house.canon, missing)
    return report


def synchronize(
    house: House, *, confirmed: bool = False, progress: Progress | None = None, executor: Executor | None = None
) -> Report:
    """The rows alone: nothing outside the index is written."""
    return _synchronized(house, confirmed=confirmed, progress=progress, executor=executor)[0]


def ensure_indexed(house: House) -> None:
    """Fills an index that is missing, of another version or was damaged: rebuilt, not an error. One that is behind the
    files, for its server was away, is brought up with all that is made of its rows."""
    if house.index.is_new:
        synchronize(house, confirmed=True)
    if marks(house.canon):
        reindex(house)


def _synchronized(
    house: House, *, confirmed: bool, progress: Progress | None, executor: Executor | None
) -> tuple[Report, Mapping[str, str]]:
    """What was done, and the stamps of what lies in `memory/`."""
    report = Report(problems=sorted(house.canon.archives.damaged().items()))
    if house.index.is_new:
        _rebuild(house, executor, progress, report)
    there = house.canon.store.stamps(naming.MEMORY)
    diff = _diff(house, there, report)
    known = diff.unchanged + diff.lost + sum(change.sha256 is not None for change in diff.fresh)
    if not confirmed and diff.lost * 2 > known:
        raise SuddenLoss(
            f"{diff.lost} of {known} indexed files are gone from the workspace",
            hint="if they are meant to be gone: `lineage reindex --yes`; else bring the folder back first",
        )
    report.unchanged = max(0, diff.unchanged - report.added)  # what was rebuilt is as it was a moment ago
    _take_in_all(house, diff.fresh, report, progress, executor if len(diff.fresh) >= _READ_TOGETHER else None)
    house.index.remove(diff.gone)
    report.dropped += len(diff.gone)
    take_in_books(house, report)
    report.broken = [link for link in report.broken if link[1] not in there]
    house.index.complete()
    prune_vectors(house)
    return report, there


def prune_vectors(house: House) -> None:
    """Leaves no vector of what the rows don't say any more, nor its bytes."""
    if embedding.prune(house):
        embedding.scrub(house)


def _rebuild(house: House, executor: Executor | None, progress: Progress | None, report: Report) -> None:
    """Makes many rows at once. What changes meanwhile is found by the comparison that follows. Of several who find an
    index without rows one makes them."""
    with house.canon.store.mutex("reindex"):
        if house.index.is_complete():
            return
        removed = house.canon.tombstones.tokens()
        keys = (entry.key for entry in house.canon.store.list(naming.MEMORY))
        paths = [key for key in keys if (name := naming.parse_path(key)) and name.token not in removed]
        if len(paths) >= _REBUILT_ASIDE:
            built = rebuild(house, paths, executor, progress)
            report.added, report.broken = built.rows, built.named
            _forget(house, house.canon.tombstones.tokens() - removed)


def _diff(house: House, there: Mapping[str, str], report: Report) -> _Diff:
    """Compares names and stamps. What is as it was is neither read nor looked at again."""
    removed, known = house.canon.tombstones.tokens(), house.index.stamps()
    changed = [path for path, stamp in there.items() if known.get(path) != stamp]
    buried = {path for path in there if not removed.isdisjoint(naming.tokens_in(path))} if removed else set()
    buried = {path for path in buried if naming.parse_path(path)}
    report.buried += sorted(buried)
    unchanged = len(there) - len(buried.union(changed))
    due = sorted(path for path in changed if not path.startswith(_WITHOUT_ROWS))
    files = [path for path in due if path not in buried and _is_ours(path, report)]
    gone = set[str]()
    if unchanged < len(known):
        gone = {path for path, stamp in known.items() if there.get(path) != stamp or path in buried}
    hashes = house.index.hashes(path for path in files if path in gone)
    gone -= hashes.keys()
    lost = sum(removed.isdisjoint(naming.tokens_in(path)) for path in gone)
    fresh = [Change(path, there[path], hashes.get(path)) for path in files]
    return _Diff(fresh, sorted(gone), lost, unchanged)


def _is_ours(key: str, report: Report) -> bool:
    """Whether a file that has no row yet is to have one; what lies there and is nobody's is a stray."""
    if naming.parse_path(key) is None:
        report.strays.append(key)
        return False
    return True


def _take_in_all(
    house: House, fresh: Sequence[Change], report: Report, progress: Progress | None, executor: Executor | None
) -> None:
    batches = [fresh[start : start + _BATCH] for start in range(0, len(fresh), _BATCH)]
    found = readings(house.canon.store, ([change.path for change in batch] for batch in batches), executor)
    done = 0
    for batch, said in zip(batches, found, strict=True):
        _take_in(house, zip(batch, said, strict=True), report)
        done += len(batch)
        if progress:
            progress(done, len(fresh))


def take_in(house: House, changes: Iterable[Change], report: Report) -> None:
    """Makes the rows of these files what they say, in one step; those of sessions that are removed meanwhile go."""
    _take_in(house, ((change, read(house.canon.store, change.path)) for change in changes), report)


def _take_in(house: House, found: Iterable[tuple[Change, Reading]], report: Report) -> None:
    rows, stamps, gone = [], [], []
    for change, (row, named, problem) in found:
        report.broken += [(change.path, path) for path in named]
        if problem:
            report.problems.append((change.path, problem))
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
    _forget(house, house.canon.tombstones.tokens() & {row.session_token for row in rows})


def take_in_books(house: House, report: Report) -> None:
    """Makes the rows of books those of their files."""
    found = shelve_all(house)
    report.books = found.changed
    report.buried += found.buried
    report.problems += sorted(found.problems.items())


def _forget(house: House, buried: Collection[str]) -> None:
    """Drops rows of sessions that were removed while their files were read: the removal dropped its rows before."""
    for token in sorted(buried):
        house.index.forget(token)
    if buried:
        house.index.scrub()


def _rebuild_claims(house: House, there: Collection[str]) -> int:
    """A lost claim is rebuilt from the session's oldest manifest. (format: Identity)"""
    if all(_claim_of(path) in there for path in there if path.endswith(_MANIFEST)):
        return 0
    rebuilt = 0
    for path in house.index.oldest_manifests():
        name = naming.parse_path(path)
        if name and naming.claim_path(name.token) not in there:
            manifest = house.canon.manifests.get(name.stem)
            if manifest:
                house.canon.claims.claim(manifest.identity, name.stem)
                rebuilt += 1
    return rebuilt


def _claim_of(manifest: str) -> str:
    token = manifest.removesuffix(_MANIFEST)[-_TOKEN:]
    return naming.claim_path(token)
