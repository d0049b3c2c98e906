"""Turns on their way out of a transcript: held where they fit into memory, else read again whenever they are asked for.

So a session of any length is a sequence of turns, and nothing of it is written anywhere before it is sanitized.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lineage.core.sequences import Lazy
from lineage.core.turns import Turn
from lineage.errors import TranscriptError
from lineage.harness.jsonl import records, size_of

MOST_CHARS = 1 << 23


class Gathered:
    """The turns that a reader has found so far. Those of more than `most` characters together are counted, not held."""

    def __init__(self, most: float = MOST_CHARS) -> None:
        self._most = most
        self._held: list[Turn] = []
        self._count = self._chars = 0

    def __len__(self) -> int:
        return self._count

    def append(self, turn: Turn) -> None:
        self._count += 1
        self._chars += len(turn.text) + len(turn.input)
        self._held.append(turn)
        if self._chars > self._most:
            self._held.clear()

    @property
    def are_held(self) -> bool:
        """Whether none was given up."""
        return len(self._held) == self._count

    def taken(self) -> list[Turn]:
        """The turns that are held, which are not any longer."""
        found, self._held = self._held, []
        return found


class Reader(Protocol):
    """What an adapter gathers a session with, one record after the other."""

    skipped: Counter[str]

    @property
    def gathered(self) -> Gathered: ...

    def add(self, record: dict[str, Any]) -> None: ...


AnyReader = TypeVar("AnyReader", bound=Reader)


def read(path: Path, reader: Callable[[float], AnyReader]) -> tuple[AnyReader, Sequence[Turn]]:
    """A reader that went through a file of JSON lines, and the turns. `reader` makes one that holds so many characters.

    Raises TranscriptError where the file cannot be read.
    """
    size, first = size_of(path), reader(MOST_CHARS)
    for record in records(path, first.skipped, size):
        first.add(record)
    if first.gathered.are_held:
        return first, tuple(first.gathered.taken())
    return first, _ReadAgain(path, size, partial(reader, math.inf), len(first.gathered))


class _ReadAgain(Lazy[Turn]):
    """The turns in the first bytes of a file that is only ever appended to."""

    def __init__(self, path: Path, size: int, reader: Callable[[], Reader], count: int) -> None:
        self._path, self._size, self._reader, self._count = path, size, reader, count

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
        for record in records(self._path, reader.skipped, self._size):
            reader.add(record)
            yield from reader.gathered.taken()
