"""The rebuild of an index from nothing: several processes may read files, one writes rows and full text.

A row's number is its file's place in the listing, so the index does not depend on the number of processes.
"""

from collections.abc import Sequence
from concurrent.futures import Executor

from lineage.core.base.progress import Progress
from lineage.pipeline.maintenance.prefetch import scan_files
from lineage.workspace.workspace import Workspace

_BATCH = 500  # files


def rebuild(
    ws: Workspace, paths: Sequence[str], executor: Executor | None, progress: Progress | None
) -> tuple[int, list[tuple[str, str]]]:
    """Write the rows of files; return their number, and (manifest, path) of links to files outside the listing."""
    # A damaged or missing file has no row; the following comparison reports it.
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
    return count, missing_links
