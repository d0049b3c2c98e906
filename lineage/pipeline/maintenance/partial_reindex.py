"""The reindex of recent files (scale.md: past one machine).

An artifact's name begins with its capture's time, so new files end a listing; it starts earlier by an overlap, for
writers with a slow clock. A full comparison, once in a while, finds the rest. A session's manifest has the name of its
first capture: it is read again with each new artifact.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile

from lineage.core.base import naming
from lineage.core.base.times import shift_time, to_file_name
from lineage.errors import FormatError
from lineage.index import IndexedFile
from lineage.pipeline.maintenance import reindex as reindexing
from lineage.store import StoredKey
from lineage.workspace.projects import resolve_known_projects
from lineage.workspace.publish import publish_all
from lineage.workspace.removed_sessions import drop_removed_sessions
from lineage.workspace.workspace import Workspace, list_stale_marks

OVERLAP_DAYS = 2
COMPARED_EVERY_DAYS = 1

_SYNCED, _COMPARED = "synced", "compared"
_BATCH = 1000


def reindex_recent(ws: Workspace, *, confirmed: bool = False) -> reindexing.ReindexReport:
    """Index the files since the last run, with an overlap of `OVERLAP_DAYS`, and render MEMORY.md.

    The whole workspace is compared every `COMPARED_EVERY_DAYS`, after an unexplained loss of files, and for an
    incomplete index. Raises SuddenLoss as `reindex` does.
    """
    since = _choose_start(ws)
    report = _index_recent(ws, f"{naming.MEMORY}{to_file_name(since)}") if since else None
    if report is None:
        report = reindexing.reindex(ws, confirmed=confirmed)
        ws.telemetry.mark(_COMPARED, ws.now)
    ws.telemetry.mark(_SYNCED, ws.now)
    return report


def _choose_start(ws: Workspace) -> str | None:
    """Return the time to list files from, None to compare them all."""
    marks = ws.telemetry.read_marks()
    compared, last = marks.get(_COMPARED, ""), marks.get(_SYNCED, "")
    # a mark in the future comes from a wrong clock
    is_due = not shift_time(ws.now, days=-COMPARED_EVERY_DAYS) < compared <= shift_time(ws.now, days=1)
    if is_due or not last or ws.index.needs_reindex or list_stale_marks(ws.documents):
        return None
    return shift_time(min(last, ws.now), days=-OVERLAP_DAYS)


def _index_recent(ws: Workspace, after: str) -> reindexing.ReindexReport | None:
    """Index the files after a path. Return None, with nothing changed, after an unexplained loss of files."""
    report = reindexing.ReindexReport()
    known = {item.path: item for item in ws.index.iter_files(after)}
    listed = list(takewhile(lambda entry: entry.key < naming.CLAIMS, ws.documents.store.list(naming.MEMORY, after)))
    removed = ws.documents.tombstones.list_tokens()
    missing = known.keys() - {entry.key for entry in listed}
    if any(removed.isdisjoint(naming.find_tokens(path)) for path in missing):
        return None
    report.dropped = drop_removed_sessions(ws, removed)
    tokens = _index_stale(ws, listed, known, report)
    reindexing.index_files(ws, _list_older_manifests(ws, tokens, after), report)
    resolve_known_projects(ws)
    reindexing.reindex_books(ws, report)
    if report.added or report.changed or report.dropped or report.books:
        report.published = publish_all(ws)
        reindexing.drop_stale_vectors(ws)
    return report


def _index_stale(
    ws: Workspace, listed: Iterable[StoredKey], known: Mapping[str, IndexedFile], report: reindexing.ReindexReport
) -> set[str]:
    """Index the files without a row of their stamp. Return the tokens of their sessions."""
    stale, tokens, removed = list[reindexing.StaleFile](), set[str](), ws.documents.tombstones.list_tokens()
    for entry in listed:
        name, row = naming.parse_path(entry.key), known.get(entry.key)
        if name is None:
            report.strays.append(entry.key)
        elif name.token in removed:
            report.buried.append(entry.key)
        elif row and row.stamp == entry.stamp:
            report.unchanged += 1
        else:
            tokens.add(name.token)
            stale.append(reindexing.StaleFile(entry.key, entry.stamp, row.sha256 if row else None))
    for start in range(0, len(stale), _BATCH):
        reindexing.index_files(ws, stale[start : start + _BATCH], report)
    return tokens


def _list_older_manifests(ws: Workspace, tokens: Iterable[str], after: str) -> Iterator[reindexing.StaleFile]:
    """Yield the manifests of sessions that began before the listing. Each has probably changed."""
    paths = list[str]()
    for token in sorted(tokens):
        with suppress(FormatError):  # a damaged claim; the full comparison reports it
            stem = ws.documents.claims.get_stem(token)
            path = naming.artifact_path(stem, naming.MANIFEST) if stem else after
            paths += [path] * (path < after)
    hashes = ws.index.load_hashes(paths)
    for path in paths:
        yield reindexing.StaleFile(path, "", hashes.get(path))
