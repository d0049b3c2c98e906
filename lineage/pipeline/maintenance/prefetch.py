"""Files are read for their rows in batches, by the writer of the rows or by other processes ahead of it.

A row with a streamed text cannot travel between processes: the writer reads its file again.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

from lineage.core.format.documents import Manifest
from lineage.core.format.manifest import list_artifact_paths
from lineage.errors import FormatError
from lineage.index import ArtifactRow
from lineage.store import Store
from lineage.workspace.lookup import load_row

_CHUNK = 50  # files that a process reads at a time
_BATCHES_AHEAD = 2  # batches


class ScannedFile(NamedTuple):
    """A file as read: its row, None if missing or damaged; the artifacts a manifest names; an error message."""

    row: ArtifactRow | None
    artifact_paths: Sequence[str] = ()
    problem: str = ""


def scan_file(store: Store, path: str) -> ScannedFile:
    """Read the file at a path."""
    try:
        loaded = load_row(store, path)
    except FormatError as error:
        return ScannedFile(None, problem=error.message)
    if loaded is None:
        return ScannedFile(None)
    row, document = loaded
    return ScannedFile(row, list_artifact_paths(document) if isinstance(document, Manifest) else ())


def scan_files(
    store: Store, batches: Iterable[Sequence[str]], executor: Executor | None = None
) -> Iterator[Iterator[ScannedFile]]:
    """Yield the files of each batch as read, in order. An executor reads the next batches ahead."""
    if executor is None:
        yield from (map(partial(scan_file, store), batch) for batch in batches)
        return
    ahead = deque[Iterator[ScannedFile]]()
    for batch in batches:
        ahead.append(_scan_with(executor, store, batch))
        if len(ahead) > _BATCHES_AHEAD:
            yield ahead.popleft()
    yield from ahead


def _scan_with(executor: Executor, store: Store, batch: Sequence[str]) -> Iterator[ScannedFile]:
    # not a generator: `map` hands the chunks to the executor at once, before anybody asks for a file
    chunks = [batch[start : start + _CHUNK] for start in range(0, len(batch), _CHUNK)]
    results = executor.map(partial(_scan_portable, store), chunks)
    files = (file for chunk in results for file in chunk)
    return (file or scan_file(store, path) for path, file in zip(batch, files, strict=True))


def _scan_portable(store: Store, paths: Sequence[str]) -> list[ScannedFile | None]:
    """Return the files as read, None in the place of one with streamed passages."""
    files = [scan_file(store, path) for path in paths]
    return [file if file.row is None or isinstance(file.row.passages, tuple) else None for file in files]
