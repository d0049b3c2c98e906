"""The rebuild of an index from nothing: several processes may read files, one writes rows and full text.

A row's number is its file's place in the listing, so the index does not depend on the number of processes.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import NamedTuple

from lineage.core.base.progress import Progress
from lineage.pipeline.maintenance.prefetch import scan_files
from lineage.workspace.workspace import Workspace

_BATCH = 500  # files


class RebuildResult(NamedTuple):
    """The number of rows, and (manifest, path) of each link of a manifest to a file outside of the listing."""

    rows: int
    missing_links: list[tuple[str, str]]


def rebuild(ws: Workspace, paths: Sequence[str], executor: Executor | None, progress: Progress | None) -> RebuildResult:
    """Write the rows of the files at these paths. An executor reads them, else this process does.

    A damaged or missing file has no row; the following comparison reports it.
    """
    listed, count, missing_links = set(paths), 0, list[tuple[str, str]]()
    with ws.index.rebuild() as build:
        due = [path for path in paths if path not in build.present]
        batches = [due[start : start + _BATCH] for start in range(0, len(due), _BATCH)]
        done = 0
        for batch, scanned in zip(batches, scan_files(ws.documents.store, batches, executor), strict=True):
            rows = []
            for number, (path, file) in enumerate(zip(batch, scanned, strict=True), done + 1):
                if file.row:
                    rows.append((number, file.row))
                    missing_links += [(path, other) for other in file.artifact_paths if other not in listed]
            build.write(rows)
            count, done = count + len(rows), done + len(batch)
            if progress:
                progress(done, len(due))
    return RebuildResult(count, missing_links)
