"""A rebuild: the rows of all files, made in portions that know nothing of each other, by whatever executor there is.

Where a portion's rows go to, and when the index has them, is the index's to say. A file's number is its place in the
listing, so that the index is the same however many processes made it.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lineage.core.documents import Manifest
from lineage.errors import FormatError
from lineage.index import Row
from lineage.pipeline.house import House
from lineage.pipeline.reading import named_by, row_in
from lineage.store import Store

if TYPE_CHECKING:
    from lineage.index.base import Part

_PORTIONS = 16
_LEAST = 500  # files in a portion
_BATCH = 100  # rows that are held at once

Progress = Callable[[int, int], None]
"""Called with (done, total) files."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Files in order, the number of the first, and what their rows go into. It can be pickled where its store can."""

    store: Store
    paths: Sequence[str]
    first: int
    part: "Part"


class Built(NamedTuple):
    """What became of a portion: how many of its files have a row, and what its manifests name that isn't in it, as
    (manifest, path)."""

    rows: int
    named: list[tuple[str, str]]


def rebuild(house: House, paths: Sequence[str], executor: Executor | None, progress: Progress | None) -> Built:
    """Makes the index anew from the files at these paths; without an executor this process does all of it.

    A file that is damaged or gone has no row.
    """
    rows, done, named = 0, 0, []

    def tell(more: int) -> None:
        if progress:
            progress(done + more, len(due))

    with house.index.rebuilt() as building:
        there, present = set(paths), frozenset(building.present)
        due = [path for path in paths if path not in present]
        is_whole = executor is None and not house.index.is_remote  # a part that is alone needs no joining
        size = max(_LEAST, len(due) if is_whole else -(-len(due) // _PORTIONS))
        portions = [
            Portion(house.canon.store, due[start : start + size], start + 1, building.part(start + 1))
            for start in range(0, len(due), size)
        ]
        found = executor.map(build, portions) if executor else (build(portion, tell) for portion in portions)
        for portion, built in zip(portions, found, strict=True):
            building.add(portion.first)
            rows, done = rows + built.rows, done + len(portion.paths)
            named += [link for link in built.named if link[1] not in there]
            tell(0)
    return Built(rows, named)


def build(portion: Portion, tell: Callable[[int], None] | None = None) -> Built:
    """Reads the files of a portion and writes their rows; says after each batch how many it has read."""
    rows, named, batch = 0, list[tuple[str, str]](), list[tuple[int, Row]]()
    own = set(portion.paths)
    with portion.part.writing() as write:
        for number, path in enumerate(portion.paths, portion.first):
            found = _found(portion.store, path)
            if found:
                batch.append((number, found[0]))
                named += [(path, other) for other in found[1] if other not in own]
            if len(batch) == _BATCH:
                write(batch)
                rows += len(batch)
                batch = []
                if tell:
                    tell(number - portion.first + 1)
        write(batch)
    return Built(rows + len(batch), named)


def _found(store: Store, path: str) -> tuple[Row, list[str]] | None:
    """A file's row and what it names; None for one without a row, which whoever compares files and rows reports."""
    try:
        found = row_in(store, path)
    except FormatError:
        return None
    if found is None:
        return None
    row, document = found
    return row, named_by(document) if isinstance(document, Manifest) else []
