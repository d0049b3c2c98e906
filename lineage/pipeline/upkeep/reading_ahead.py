"""Files that are to have rows are read, in batches: by whoever writes the rows, or by others while that writes.

A reading that cannot travel between processes, as of a file that is too long to be held, is made again by who writes.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

from lineage.core.documents import Manifest
from lineage.errors import FormatError
from lineage.index import Row
from lineage.pipeline.reading import named_by, row_in
from lineage.store import Store

_PIECE = 50  # files that a process reads at a time
_AHEAD = 2  # batches


class Reading(NamedTuple):
    """What a file says: its row, None where it is gone or damaged, what it names, and what is wrong with it."""

    row: Row | None
    named: Sequence[str] = ()
    problem: str = ""


def read(store: Store, path: str) -> Reading:
    try:
        found = row_in(store, path)
    except FormatError as error:
        return Reading(None, problem=error.message)
    if found is None:
        return Reading(None)
    row, document = found
    return Reading(row, named_by(document) if isinstance(document, Manifest) else ())


def readings(
    store: Store, batches: Iterable[Sequence[str]], executor: Executor | None = None
) -> Iterator[Iterator[Reading]]:
    """What the files of each batch say, in their order. An executor reads the next batches while one is worked on."""
    if executor is None:
        yield from (map(partial(read, store), batch) for batch in batches)
        return
    ahead = deque[Iterator[Reading]]()
    for batch in batches:
        ahead.append(_read_by(executor, store, batch))
        if len(ahead) > _AHEAD:
            yield ahead.popleft()
    yield from ahead


def _read_by(executor: Executor, store: Store, batch: Sequence[str]) -> Iterator[Reading]:
    pieces = [batch[start : start + _PIECE] for start in range(0, len(batch), _PIECE)]
    found = executor.map(partial(_held, store), pieces)
    answers = (answer for piece in found for answer in piece)
    return (answer or read(store, path) for path, answer in zip(batch, answers, strict=True))


def _held(store: Store, paths: Sequence[str]) -> list[Reading | None]:
    """The readings, but for those whose passages are not held."""
    found = [read(store, path) for path in paths]
    return [one if one.row is None or isinstance(one.row.passages, tuple) else None for one in found]
