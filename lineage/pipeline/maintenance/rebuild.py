"""Rebuild an index from nothing: several processes may read the files, one writes rows and full text.

The number of a file's row is its place in the listing, so the index does not depend on the number of processes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

from lineage.pipeline.maintenance.prefetch import scan_files
from lineage.workspace.workspace import Workspace

_BATCH = 500  # files

Progress = Callable[[int, int], None]
"""Called with (done, total) files."""


class RebuildResult(NamedTuple):
    """The number of rows, and (manifest, path) of each file that a manifest names and the listing lacks."""

    rows: int
    missing_links: list[tuple[str, str]]


def rebuild(ws: Workspace, paths: Sequence[str], executor: Executor | None, progress: Progress | None) -> RebuildResult:
    """Write the rows of the files at these paths. An executor reads them, else this process does.

    A file that is damaged or gone has no row; the comparison that follows reports it.
    """
    there, count, named = set(paths), 0, list[tuple[str, str]]()
    with ws.index.rebuild() as build:
        due = [path for path in paths if path not in build.present]
        batches = [due[start : start + _BATCH] for start in range(0, len(due), _BATCH)]
        done = 0
        for batch, found in zip(batches, scan_files(ws.documents.store, batches, executor), strict=True):
            rows = []
            for number, (path, reading) in enumerate(zip(batch, found, strict=True), done + 1):
                if reading.row:
                    rows.append((number, reading.row))
                    named += [(path, other) for other in reading.artifact_paths if other not in there]
            build.write(rows)
            count, done = count + len(rows), done + len(batch)
            if progress:
                progress(done, len(due))
    return RebuildResult(count, named)
