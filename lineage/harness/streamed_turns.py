"""The turns of a session of any length: held while they are few, else read again from the file at each pass.

So nothing of a long session is written anywhere before it is sanitized.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from lineage.core.base.sequences import LazySequence
from lineage.core.format.turns import Turn
from lineage.errors import TranscriptError
from lineage.harness.collector import Collector
from lineage.harness.jsonl import read_records

MAX_BUFFERED_CHARS = 1 << 23
"""The largest session, in characters of its turns, that is held in memory."""

AnyReader = TypeVar("AnyReader", bound=Collector)


class StreamedTurns(LazySequence[Turn]):
    """The first `count` turns of a file, read again at each pass. A longer file only ever adds turns to them."""

    def __init__(self, path: Path, make_reader: Callable[[], Collector], count: int) -> None:
        self._path, self._make_reader, self._count = path, make_reader, count

    def __len__(self) -> int:
        return self._count

    def iter_range(self, start: int, stop: int) -> Iterator[Turn]:
        """Yield the turns of a range. Raise TranscriptError if the file holds fewer turns than before."""
        number = 0
        for number, turn in enumerate(islice(self._read_turns(), stop), 1):
            if number > start:
                yield turn
        if number < stop:
            raise TranscriptError(f"{self._path} was changed while it was read", hint="run the command again")

    def _read_turns(self) -> Iterator[Turn]:
        reader = self._make_reader()
        for record in read_records(self._path, reader.skipped):
            reader.add(record)
            yield from reader.buffer.pop_turns()


def read_turns(path: Path, make_reader: Callable[[float], AnyReader]) -> tuple[AnyReader, Sequence[Turn]]:
    """Read a file of JSON lines. Return the reader, and the turns as a tuple or, for a long session, streamed.

    `make_reader` takes the number of characters to hold. Raise TranscriptError if the file cannot be read.
    """
    reader = make_reader(MAX_BUFFERED_CHARS)
    for record in read_records(path, reader.skipped):
        reader.add(record)
    if reader.buffer.is_complete:
        return reader, tuple(reader.buffer.pop_turns())
    return reader, StreamedTurns(path, partial(make_reader, math.inf), len(reader.buffer))
