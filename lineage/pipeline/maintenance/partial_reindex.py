"""Part of a reindex: what came lately. (scale.md: past one machine)

Names of artifacts begin with the time of their capture, so that what came since the last time ends a listing. That
begins earlier by an overlap, for writers whose clocks are behind; whoever is later still, or writes over what is older,
is found by a comparison of everything once in a while. A session's manifest is as old as its first capture: it is read
again with each that is added.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile

from lineage.core.base import naming
from lineage.core.base.times import shift_time, to_file_name
from lineage.errors import FormatError
from lineage.index import IndexedFile
from lineage.pipeline.maintenance.reindex import (
    ReindexReport,
    StaleFile,
    drop_stale_vectors,
    index_files,
    reindex,
    reindex_books,
)
from lineage.store import StoredKey
from lineage.workspace.publish import publish_all
from lineage.workspace.removed_sessions import drop_removed_sessions
from lineage.workspace.stale_index import list_stale_marks
from lineage.workspace.workspace import Workspace

OVERLAP_DAYS = 2
COMPARED_EVERY_DAYS = 1

_SYNCED, _COMPARED = "synced", "compared"
_BATCH = 1000


def reindex_recent(ws: Workspace, *, confirmed: bool = False) -> ReindexReport:
    """The rows of what came since the last time, `OVERLAP_DAYS` before that included, and MEMORY.md. Everything is
    compared where that is `COMPARED_EVERY_DAYS` ago, where files are gone that no removal explains, and where rows are
    missing as a whole.

    Raises SuddenLoss as `reindex` does.
    """
    since = _choose_start(ws)
    report = _index_recent(ws, f"{naming.MEMORY}{to_file_name(since)}") if since else None
    if report is None:
        report = reindex(ws, confirmed=confirmed)
        ws.telemetry.mark(_COMPARED, ws.now)
    ws.telemetry.mark(_SYNCED, ws.now)
    return report


def _choose_start(ws: Workspace) -> str | None:
    """From which time on files are listed; None where all of them are to be compared. A time that lies ahead is of a
    clock that was wrong, and says nothing."""
    noted = ws.telemetry.read_marks()
    compared, last = noted.get(_COMPARED, ""), noted.get(_SYNCED, "")
    is_due = not shift_time(ws.now, days=-COMPARED_EVERY_DAYS) < compared <= shift_time(ws.now, days=1)
    if is_due or not last or ws.index.needs_reindex or list_stale_marks(ws.documents):
        return None
    return shift_time(min(last, ws.now), days=-OVERLAP_DAYS)


def _index_recent(ws: Workspace, after: str) -> ReindexReport | None:
    """Takes in what sorts behind a path; None, and nothing done, where something is gone and no removal says why."""
    report = ReindexReport()
    known = {item.path: item for item in ws.index.iter_files(after)}
    listed = list(takewhile(lambda entry: entry.key < naming.CLAIMS, ws.documents.store.list(naming.MEMORY, after)))
    removed = ws.documents.tombstones.list_tokens()
    gone = known.keys() - {entry.key for entry in listed}
    if any(removed.isdisjoint(naming.find_tokens(path)) for path in gone):
        return None
    report.dropped = drop_removed_sessions(ws, removed)
    tokens = _index_stale(ws, listed, known, report)
    index_files(ws, _list_older_manifests(ws, tokens, after), report)
    reindex_books(ws, report)
    if report.added or report.changed or report.dropped or report.books:
        report.published = publish_all(ws)
        drop_stale_vectors(ws)
    return report


def _index_stale(
    ws: Workspace, listed: Iterable[StoredKey], known: Mapping[str, IndexedFile], report: ReindexReport
) -> set[str]:
    """Takes in what has no row, or one with another stamp; the tokens of the sessions that it belongs to."""
    fresh, tokens = list[StaleFile](), set[str]()
    removed = ws.documents.tombstones.list_tokens()
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
            fresh.append(StaleFile(entry.key, entry.stamp, row.sha256 if row else None))
    for start in range(0, len(fresh), _BATCH):
        index_files(ws, fresh[start : start + _BATCH], report)
    return tokens


def _list_older_manifests(ws: Workspace, tokens: Iterable[str], after: str) -> Iterator[StaleFile]:
    """The manifests of sessions that began before what was listed. Each is read: that it changed is likely."""
    for token in sorted(tokens):
        with suppress(FormatError):  # a damaged claim; the comparison of everything reports it
            stem = ws.documents.claims.get_stem(token)
            path = naming.artifact_path(stem, naming.MANIFEST) if stem else after
            if path < after:
                yield StaleFile(path, "", "")
