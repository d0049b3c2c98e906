"""The reindex: a diff of two path-sorted streams, disk and index (spec: re-index).

Disk wins: rows are added, changed and dropped until they match the files. Unchanged files are not read. After an
interruption at any point, the next run continues. Without an index it is built anew: several processes may read files,
one writes rows and full text. A row's number is its file's place in the listing, so the index does not depend on the
number of processes.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.progress import Progress
from lineage.errors import LineageError
from lineage.pipeline.maintenance.prefetch import ScannedFile, scan_file, scan_files
from lineage.workspace.book_index import index_changed_books
from lineage.workspace.projects import resolve_known_projects
from lineage.workspace.publish import PublishResult, publish_all
from lineage.workspace.removed_sessions import prune_vectors, scrub_vectors
from lineage.workspace.workspace import Workspace, clear_stale, list_stale_marks

BATCH = 1000
_REBUILD_BATCH = 500  # files
_MIN_REBUILD = 1000  # files; an index of fewer is filled where it lies
_MIN_PARALLEL = 4000  # files; fewer are read sooner than processes begin
_WITHOUT_ROWS = (naming.CLAIMS, naming.TOMBSTONES)
_MANIFEST_SUFFIX = f"--{naming.MANIFEST}.md"
_TOKEN_LENGTH = 16  # characters before the suffix of a manifest's name


class SuddenLoss(LineageError):
    """More than half of the indexed files are gone from disk, as with an unmounted folder or a broken sync."""


@dataclass(slots=True)
class ReindexReport:
    """The result of a reindex.

    `problems` are (path, error message) of files without a row; `strays` are files in `memory/` with foreign names,
    left alone; `buried` are ignored files of removed sessions; `broken` are (manifest, missing path that it names).
    `books` counts the files of books with a change; all other counts are of artifacts and manifests.
    """

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
    """A file that needs a row. `sha256` is that of its present row, None without one."""

    path: str
    stamp: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class _Diff:
    """`stale` files lack a row of their stamp, `orphaned` rows a file; `unexplained` counts those without a removal."""

    stale: list[StaleFile]
    orphaned: list[str]
    unexplained: int
    unchanged: int


def reindex(
    ws: Workspace, *, confirmed: bool = False, progress: Progress | None = None, executor: Executor | None = None
) -> ReindexReport:
    """Make the rows match the files, rebuild lost claims and render MEMORY.md.

    An `executor` reads the files if there are very many. Raises SuddenLoss, with nothing changed, if more than half of
    the rows would be dropped and `confirmed` is False.
    """
    # marks set from here on are of files that this run may not see: they stay
    marks = list_stale_marks(ws.documents)
    report, stamps = _sync_rows(ws, confirmed=confirmed, progress=progress, executor=executor)
    report.claims_rebuilt = _rebuild_claims(ws, stamps)
    report.published = publish_all(ws)
    clear_stale(ws.documents, marks)
    return report


def sync_rows(
    ws: Workspace, *, confirmed: bool = False, progress: Progress | None = None, executor: Executor | None = None
) -> ReindexReport:
    """Make the rows match the files, and write nothing outside the index."""
    return _sync_rows(ws, confirmed=confirmed, progress=progress, executor=executor)[0]


def ensure_indexed(ws: Workspace) -> None:
    """Rebuild an index that is missing, damaged or of another version; reindex after an outage of its server."""
    if ws.index.needs_reindex:
        sync_rows(ws, confirmed=True)
    if list_stale_marks(ws.documents):
        reindex(ws)


def _sync_rows(
    ws: Workspace, *, confirmed: bool, progress: Progress | None, executor: Executor | None
) -> tuple[ReindexReport, Mapping[str, str]]:
    """Return the report, and the stamps of the files in `memory/`."""
    report = ReindexReport(problems=sorted(ws.documents.archives.find_damaged().items()))
    if ws.index.needs_reindex:
        _rebuild(ws, executor, progress, report)
    stamps = ws.documents.store.stat_all(naming.MEMORY)
    diff = _diff(ws, stamps, report)
    known = diff.unchanged + diff.unexplained + sum(file.sha256 is not None for file in diff.stale)
    raise_sudden_loss(diff.unexplained, known, confirmed=confirmed)
    report.unchanged = max(0, diff.unchanged - report.added)  # the rebuilt rows count as added
    batches = [diff.stale[start : start + BATCH] for start in range(0, len(diff.stale), BATCH)]
    paths = ([file.path for file in batch] for batch in batches)
    scanned = scan_files(ws.documents.store, paths, executor if len(diff.stale) >= _MIN_PARALLEL else None)
    done = 0
    for batch, files in zip(batches, scanned, strict=True):
        index_scanned(ws, zip(batch, files, strict=True), report)
        done += len(batch)
        if progress:
            progress(done, len(diff.stale))
    drop_rows_of_lost(ws, diff.orphaned)
    resolve_known_projects(ws)
    report.dropped += len(diff.orphaned)
    reindex_books(ws, report)
    # a link that was broken during a rebuild may have arrived since
    report.broken = [link for link in report.broken if link[1] not in stamps]
    ws.index.mark_complete()
    drop_stale_vectors(ws)
    return report, stamps


def raise_sudden_loss(gone: int, known: int, *, confirmed: bool) -> None:
    """Raise SuddenLoss if more than half of the known files are gone without a removal, unless that is confirmed."""
    if not confirmed and gone * 2 > known:
        hint = "if they are meant to be gone: `lineage reindex --yes`; else bring the folder back first"
        raise SuddenLoss(f"{gone} of {known} indexed files are gone from the workspace", hint=hint)


def drop_stale_vectors(ws: Workspace) -> None:
    """Drop the vectors of passages that left the index, and overwrite their bytes."""
    if prune_vectors(ws):
        scrub_vectors(ws)


def _rebuild(ws: Workspace, executor: Executor | None, progress: Progress | None, report: ReindexReport) -> None:
    """Write many rows at once. The following comparison finds the changes made meanwhile."""
    with ws.documents.store.lock("reindex"):
        if ws.index.is_complete():  # another process rebuilt it while this one waited
            return
        removed = ws.documents.tombstones.list_tokens()
        keys = (entry.key for entry in ws.documents.store.list(naming.MEMORY))
        paths = [key for key in keys if (name := naming.parse_path(key)) and name.token not in removed]
        if len(paths) >= _MIN_REBUILD:
            report.added, report.broken = _write_all_rows(ws, paths, removed, executor, progress)
            _drop_rows(ws, ws.documents.tombstones.list_tokens() - removed)


def _write_all_rows(
    ws: Workspace, paths: Sequence[str], removed: Collection[str], executor: Executor | None, progress: Progress | None
) -> tuple[int, list[tuple[str, str]]]:
    """Write the rows of files, without sub-agents of removed sessions.

    Return their number, and (manifest, path) of links to files outside the listing.
    """
    # A damaged or missing file has no row; the following comparison reports it.
    listed, count, missing_links = set(paths), 0, list[tuple[str, str]]()
    with ws.index.rebuild() as build:
        due = [path for path in paths if path not in build.present]
        batches = [due[start : start + _REBUILD_BATCH] for start in range(0, len(due), _REBUILD_BATCH)]
        done = 0
        for batch, scanned in zip(batches, scan_files(ws.documents.store, batches, executor), strict=True):
            rows = []
            for number, (path, file) in enumerate(zip(batch, scanned, strict=True), done + 1):
                if file.row and file.row.parent_token not in removed:
                    rows.append((number, file.row))
                    missing_links += [(path, other) for other in file.artifact_paths if other not in listed]
            build.write(rows)
            count, done = count + len(rows), done + len(batch)
            if progress:
                progress(done, len(due))
    return count, missing_links


def _diff(ws: Workspace, disk_stamps: Mapping[str, str], report: ReindexReport) -> _Diff:
    """Compare names and stamps. Unchanged files cost nothing more."""
    removed, known = ws.documents.tombstones.list_tokens(), ws.index.load_stamps()
    changed = [path for path, stamp in disk_stamps.items() if known.get(path) != stamp]
    buried = {path for path in disk_stamps if not removed.isdisjoint(naming.find_tokens(path))} if removed else set()
    buried = {path for path in buried if naming.parse_path(path)}
    report.buried += sorted(buried)
    unchanged = len(disk_stamps) - len(buried.union(changed))
    due = sorted(path for path in changed if not path.startswith(_WITHOUT_ROWS))
    files = [path for path in due if path not in buried and naming.parse_path(path)]
    report.strays += [path for path in due if path not in buried and not naming.parse_path(path)]
    orphaned = set[str]()
    if unchanged < len(known):
        orphaned = {path for path, stamp in known.items() if disk_stamps.get(path) != stamp or path in buried}
    hashes = ws.index.load_hashes(path for path in files if path in orphaned)
    orphaned -= hashes.keys()
    unexplained = sum(removed.isdisjoint(naming.find_tokens(path)) for path in orphaned)
    stale = [StaleFile(path, disk_stamps[path], hashes.get(path)) for path in files]
    return _Diff(stale, sorted(orphaned), unexplained, unchanged)


def index_files(ws: Workspace, stale: Iterable[StaleFile], report: ReindexReport) -> None:
    """Make the rows of files match them, in one step, without those of sessions removed meanwhile."""
    index_scanned(ws, ((file, scan_file(ws.documents.store, file.path)) for file in stale), report)


def index_scanned(
    ws: Workspace,
    scanned_files: Iterable[tuple[StaleFile, ScannedFile]],
    report: ReindexReport,
    *,
    is_anew: bool = False,
) -> None:
    """Make the rows of files as read match them. A row of the same content is kept, or with `is_anew` written again."""
    rows, stamps, missing = [], [], []
    removed = ws.documents.tombstones.list_tokens()
    for stale, (row, artifact_paths, problem) in scanned_files:
        report.broken += [(stale.path, path) for path in artifact_paths]
        if problem:
            report.problems.append((stale.path, problem))
        is_buried = row is not None and row.parent_token in removed  # a sub-agent's file that came back, or came late
        report.buried += [stale.path] * is_buried
        if row is None or is_buried:
            missing.append(stale.path)
        elif row.source_sha256 == stale.sha256 and is_anew:
            rows.append(row)
            report.unchanged += 1
        elif row.source_sha256 == stale.sha256:
            stamps.append((row.source_path, row.stamp))
            report.touched += 1
        else:
            rows.append(row)
            report.added += stale.sha256 is None
            report.changed += stale.sha256 is not None
    ws.index.upsert(rows)
    ws.index.update_stamps(stamps)
    drop_rows_of_lost(ws, missing)
    _drop_rows(ws, ws.documents.tombstones.list_tokens() & {row.session_token for row in rows})


def drop_rows_of_lost(ws: Workspace, paths: Collection[str]) -> None:
    """Drop the rows of files that are gone or damaged; transcripts leave their hash, for an import to restore them."""
    names = filter(None, map(naming.parse_path, paths))
    tokens = {
        naming.artifact_path(name.stem, name.kind): name.token for name in names if name.kind == naming.TRANSCRIPT
    }
    if tokens:
        removed = ws.documents.tombstones.list_tokens()
        hashes = ws.index.load_hashes(path for path, token in tokens.items() if token not in removed)
        ws.telemetry.record_lost([(path, tokens[path], sha256) for path, sha256 in hashes.items()])
    ws.index.delete_paths(paths)


def reindex_books(ws: Workspace, report: ReindexReport) -> None:
    """Make the rows of books match their files."""
    books = index_changed_books(ws)
    report.books = books.changed
    report.buried += books.tombstoned
    report.problems += sorted(books.problems.items())


def _drop_rows(ws: Workspace, removed: Collection[str]) -> None:
    """Drop the rows of sessions removed while their files were read: the removal came too early for these rows."""
    for token in sorted(removed):
        ws.index.delete_session(token)
    if removed:
        ws.index.scrub()


def _rebuild_claims(ws: Workspace, disk_paths: Collection[str]) -> int:
    """Rebuild lost claims from the oldest manifests, and return their number (format: Identity)."""
    manifests = (path.removesuffix(_MANIFEST_SUFFIX) for path in disk_paths if path.endswith(_MANIFEST_SUFFIX))
    if all(naming.claim_path(stem[-_TOKEN_LENGTH:]) in disk_paths for stem in manifests):
        return 0
    rebuilt = 0
    for path in ws.index.find_oldest_manifests():
        name = naming.parse_path(path)
        is_lost = name and naming.claim_path(name.token) not in disk_paths
        if name and is_lost and (manifest := ws.documents.manifests.get(name.stem)):
            ws.documents.claims.claim(manifest.identity, name.stem)
            rebuilt += 1
    return rebuilt
