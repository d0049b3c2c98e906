"""Files that are to have rows are read, in batches: by whoever writes the rows, or by others while that writes.

A reading that cannot travel between processes, as of a file that is too long to be held, is made again by who writes.
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
from lineage.workspace.load import load_row

_CHUNK = 50  # files that a process reads at a time
_BATCHES_AHEAD = 2  # batches


class ScannedFile(NamedTuple):
    """What a file says: its row, None where it is gone or damaged, what it names, and what is wrong with it."""

    row: ArtifactRow | None
    artifact_paths: Sequence[str] = ()
    problem: str = ""


def scan_file(store: Store, path: str) -> ScannedFile:
    try:
        found = load_row(store, path)
    except FormatError as error:
        return ScannedFile(None, problem=error.message)
    if found is None:
        return ScannedFile(None)
    row, document = found
    return ScannedFile(row, list_artifact_paths(document) if isinstance(document, Manifest) else ())


def scan_files(
    store: Store, batches: Iterable[Sequence[str]], executor: Executor | None = None
) -> Iterator[Iterator[ScannedFile]]:
    """What the files of each batch say, in their order. An executor reads the next batches while one is worked on."""
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
    pieces = [batch[start : start + _CHUNK] for start in range(0, len(batch), _CHUNK)]
    found = executor.map(partial(_scan_portable, store), pieces)
    answers = (answer for piece in found for answer in piece)
    return (answer or scan_file(store, path) for path, answer in zip(batch, answers, strict=True))


def _scan_portable(store: Store, paths: Sequence[str]) -> list[ScannedFile | None]:
    """The readings, but for those whose passages are not held."""
    found = [scan_file(store, path) for path in paths]
    return [one if one.row is None or isinstance(one.row.passages, tuple) else None for one in found]
