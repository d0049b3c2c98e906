"""Reindex: a diff of two path-sorted streams, disk and index. (spec: re-index)

Disk wins: rows are added, changed and dropped until they are those of the files. What did not change is not read.
Cut off at any point, the next run goes on where this one ended.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage.core.base import naming
from lineage.errors import LineageError
from lineage.pipeline.maintenance.prefetch import ScannedFile, scan_file, scan_files
from lineage.pipeline.maintenance.rebuild import Progress, rebuild
from lineage.workspace.book_index import index_changed_books
from lineage.workspace.publish import PublishResult, publish_all
from lineage.workspace.stale_index import clear_stale, list_stale_marks
from lineage.workspace.vectors import prune_vectors, scrub_vectors
from lineage.workspace.workspace import Workspace

_BATCH = 1000
_MIN_REBUILD = 1000  # files; an index of fewer is filled where it lies
_MIN_PARALLEL = 4000  # files; fewer are read sooner than processes begin
_WITHOUT_ROWS = (naming.CLAIMS, naming.TOMBSTONES)
_MANIFEST_SUFFIX, _TOKEN_LENGTH = (
    f"--{naming.MANIFEST}.md",
    16,
)  # how a manifest's name ends, behind a token of so many characters


class SuddenLoss(LineageError):
    """More than half of what was indexed is gone from disk: that looks like an unmounted folder or a broken sync."""


@dataclass(slots=True)
class ReindexReport:
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
    published: list[PublishResult] = field(default_factory=list)


class StaleFile(NamedTuple):
    """A file that is to have a row; `sha256` is that of its row, None where it has none."""

    path: str
    stamp: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class _Diff:
    """`fresh` files have no row or another stamp; `gone` rows have no file, or one of a removed session: `lost` counts
    those that no removal explains."""

    stale: list[StaleFile]
    orphaned: list[str]
    unexplained: int
    unchanged: int


def reindex(
    ws: Workspace, *, confirmed: bool = False, progress: Progress | None = None, executor: Executor | None = None
) -> ReindexReport:
    """Makes the rows those of the files, rebuilds lost claims and renders MEMORY.md. An `executor` does the reading
    where all rows are made anew, or very many.

    Raises SuddenLoss, having changed nothing, where more than half of the rows would go and `confirmed` is False.
    """
    missing = list_stale_marks(ws.documents)
    report, there = _sync_rows(ws, confirmed=confirmed, progress=progress, executor=executor)
    report.claims_rebuilt = _rebuild_claims(ws, there)
    report.published = publish_all(ws)
    clear_stale(ws.documents, missing)
    return report


def sync_rows(
    ws: Workspace, *, confirmed: bool = False, progress: Progress | None = None, executor: Executor | None = None
) -> ReindexReport:
    """The rows alone: nothing outside the index is written."""
    return _sync_rows(ws, confirmed=confirmed, progress=progress, executor=executor)[0]


def ensure_indexed(ws: Workspace) -> None:
    """Fills an index that is missing, of another version or was damaged: rebuilt, not an error. One that is behind the
    files, for its server was away, is brought up with all that is made of its rows."""
    if ws.index.needs_reindex:
        sync_rows(ws, confirmed=True)
    if list_stale_marks(ws.documents):
        reindex(ws)


def _sync_rows(
    ws: Workspace, *, confirmed: bool, progress: Progress | None, executor: Executor | None
) -> tuple[ReindexReport, Mapping[str, str]]:
    """What was done, and the stamps of what lies in `memory/`."""
    report = ReindexReport(problems=sorted(ws.documents.archives.find_damaged().items()))
    if ws.index.needs_reindex:
        _rebuild(ws, executor, progress, report)
    there = ws.documents.store.stat_all(naming.MEMORY)
    diff = _diff(ws, there, report)
    known = diff.unchanged + diff.unexplained + sum(change.sha256 is not None for change in diff.stale)
    if not confirmed and diff.unexplained * 2 > known:
        raise SuddenLoss(
            f"{diff.unexplained} of {known} indexed files are gone from the workspace",
            hint="if they are meant to be gone: `lineage reindex --yes`; else bring the folder back first",
        )
    report.unchanged = max(0, diff.unchanged - report.added)  # what was rebuilt is as it was a moment ago
    _index_all(ws, diff.stale, report, progress, executor if len(diff.stale) >= _MIN_PARALLEL else None)
    ws.index.delete_paths(diff.orphaned)
    report.dropped += len(diff.orphaned)
    reindex_books(ws, report)
    report.broken = [link for link in report.broken if link[1] not in there]
    ws.index.mark_complete()
    drop_stale_vectors(ws)
    return report, there


def drop_stale_vectors(ws: Workspace) -> None:
    """Leaves no vector of what the rows don't say any more, nor its bytes."""
    if prune_vectors(ws):
        scrub_vectors(ws)


def _rebuild(ws: Workspace, executor: Executor | None, progress: Progress | None, report: ReindexReport) -> None:
    """Makes many rows at once. What changes meanwhile is found by the comparison that follows. Of several who find an
    index without rows one makes them."""
    with ws.documents.store.lock("reindex"):
        if ws.index.is_complete():
            return
        removed = ws.documents.tombstones.list_tokens()
        keys = (entry.key for entry in ws.documents.store.list(naming.MEMORY))
        paths = [key for key in keys if (name := naming.parse_path(key)) and name.token not in removed]
        if len(paths) >= _MIN_REBUILD:
            built = rebuild(ws, paths, executor, progress)
            report.added, report.broken = built.rows, built.missing_links
            _drop_rows(ws, ws.documents.tombstones.list_tokens() - removed)


def _diff(ws: Workspace, disk_stamps: Mapping[str, str], report: ReindexReport) -> _Diff:
    """Compares names and stamps. What is as it was is neither read nor looked at again."""
    removed, known = ws.documents.tombstones.list_tokens(), ws.index.load_stamps()
    changed = [path for path, stamp in disk_stamps.items() if known.get(path) != stamp]
    buried = {path for path in disk_stamps if not removed.isdisjoint(naming.find_tokens(path))} if removed else set()
    buried = {path for path in buried if naming.parse_path(path)}
    report.buried += sorted(buried)
    unchanged = len(disk_stamps) - len(buried.union(changed))
    due = sorted(path for path in changed if not path.startswith(_WITHOUT_ROWS))
    files = [path for path in due if path not in buried and _is_indexable(path, report)]
    gone = set[str]()
    if unchanged < len(known):
        gone = {path for path, stamp in known.items() if disk_stamps.get(path) != stamp or path in buried}
    hashes = ws.index.load_hashes(path for path in files if path in gone)
    gone -= hashes.keys()
    lost = sum(removed.isdisjoint(naming.find_tokens(path)) for path in gone)
    fresh = [StaleFile(path, disk_stamps[path], hashes.get(path)) for path in files]
    return _Diff(fresh, sorted(gone), lost, unchanged)


def _is_indexable(key: str, report: ReindexReport) -> bool:
    """Whether a file that has no row yet is to have one; what lies there and is nobody's is a stray."""
    if naming.parse_path(key) is None:
        report.strays.append(key)
        return False
    return True


def _index_all(
    ws: Workspace,
    stale: Sequence[StaleFile],
    report: ReindexReport,
    progress: Progress | None,
    executor: Executor | None,
) -> None:
    batches = [stale[start : start + _BATCH] for start in range(0, len(stale), _BATCH)]
    found = scan_files(ws.documents.store, ([change.path for change in batch] for batch in batches), executor)
    done = 0
    for batch, said in zip(batches, found, strict=True):
        _index_scanned(ws, zip(batch, said, strict=True), report)
        done += len(batch)
        if progress:
            progress(done, len(stale))


def index_files(ws: Workspace, changes: Iterable[StaleFile], report: ReindexReport) -> None:
    """Makes the rows of these files what they say, in one step; those of sessions that are removed meanwhile go."""
    _index_scanned(ws, ((change, scan_file(ws.documents.store, change.path)) for change in changes), report)


def _index_scanned(
    ws: Workspace, scanned_files: Iterable[tuple[StaleFile, ScannedFile]], report: ReindexReport
) -> None:
    rows, stamps, gone = [], [], []
    for change, (row, named, problem) in scanned_files:
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
    ws.index.upsert(rows)
    ws.index.update_stamps(stamps)
    ws.index.delete_paths(gone)
    _drop_rows(ws, ws.documents.tombstones.list_tokens() & {row.session_token for row in rows})


def reindex_books(ws: Workspace, report: ReindexReport) -> None:
    """Makes the rows of books those of their files."""
    found = index_changed_books(ws)
    report.books = found.changed
    report.buried += found.tombstoned
    report.problems += sorted(found.problems.items())


def _drop_rows(ws: Workspace, removed: Collection[str]) -> None:
    """Drops rows of sessions that were removed while their files were read: the removal dropped its rows before."""
    for token in sorted(removed):
        ws.index.delete_session(token)
    if removed:
        ws.index.scrub()


def _rebuild_claims(ws: Workspace, disk_paths: Collection[str]) -> int:
    """A lost claim is rebuilt from the session's oldest manifest. (format: Identity)"""
    if all(_claim_path(path) in disk_paths for path in disk_paths if path.endswith(_MANIFEST_SUFFIX)):
        return 0
    rebuilt = 0
    for path in ws.index.find_oldest_manifests():
        name = naming.parse_path(path)
        if name and naming.claim_path(name.token) not in disk_paths:
            manifest = ws.documents.manifests.get(name.stem)
            if manifest:
                ws.documents.claims.claim(manifest.identity, name.stem)
                rebuilt += 1
    return rebuilt


def _claim_path(manifest: str) -> str:
    token = manifest.removesuffix(_MANIFEST_SUFFIX)[-_TOKEN_LENGTH:]
    return naming.claim_path(token)
