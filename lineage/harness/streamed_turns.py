"""Turns that do not fit into memory: read again whenever they are asked for.

So a session of any length is a sequence of turns, and nothing of it is written anywhere before it is sanitized.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from lineage.core.base.sequences import LazySequence
from lineage.core.format.turns import Turn
from lineage.errors import TranscriptError
from lineage.harness.jsonl import RecordReader, read_records


class StreamedTurns(LazySequence[Turn]):
    """The first turns of a file: a longer one only ever adds turns to them."""

    def __init__(self, path: Path, make_reader: Callable[[], RecordReader], count: int) -> None:
        self._path, self._make_reader, self._count = path, make_reader, count

    def __len__(self) -> int:
        return self._count

    def iter_range(self, start: int, stop: int) -> Iterator[Turn]:
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
