"""Turns that do not fit into memory: read again whenever they are asked for.

So a session of any length is a sequence of turns, and nothing of it is written anywhere before it is sanitized.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from lineage.core.sequences import Lazy
from lineage.core.turns import Turn
from lineage.errors import TranscriptError
from lineage.harness.jsonl import Reader, records


class ReadAgain(Lazy[Turn]):
    """The first turns of a file: a longer one only ever adds turns to them."""

    def __init__(self, path: Path, reader: Callable[[], Reader], count: int) -> None:
        self._path, self._reader, self._count = path, reader, count

    def __len__(self) -> int:
        return self._count

    def between(self, start: int, stop: int) -> Iterator[Turn]:
        number = 0
        for number, turn in enumerate(islice(self._turns(), stop), 1):
            if number > start:
                yield turn
        if number < stop:
            raise TranscriptError(f"{self._path} was changed while it was read", hint="run the command again")

    def _turns(self) -> Iterator[Turn]:
        reader = self._reader()
        for record in records(self._path, reader.skipped):
            reader.add(record)
            yield from reader.gathered.taken()
