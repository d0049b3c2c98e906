"""Reading a transcript that is being appended to: tolerant of damage, which is counted and never raised.

Accepts BOM, CRLF, blank lines, NUL padding, several objects on one line, values that aren't objects, torn tails and
tails torn inside a UTF-8 sequence. Lines end at `\\n` only. (harnesses.md 0.3)
"""

import json
import math
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lineage.core.format.turns import Turn
from lineage.errors import TranscriptError

DAMAGED = "damaged"
_DECODER = json.JSONDecoder()
MAX_BUFFERED_CHARS = 1 << 23
"""How much text of a session's turns is held; of more, none."""


def read_records(path: Path, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, in order, up to the size that it has now. Damage is counted in `skipped`.

    Raises TranscriptError where the file cannot be read.
    """
    for line in _lines(path):
        text = line.decode("utf-8", errors="replace").strip(" \t\r\n\x00\ufeff")
        yield from _objects(text, skipped)


def read_bytes(path: Path) -> bytes:
    """A whole transcript file. Raises TranscriptError where it cannot be read."""
    return b"".join(_lines(path))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a file")
        with path.open("rb") as file:
            left = os.fstat(file.fileno()).st_size
            for line in file:
                yield line[:left]
                left -= len(line)
                if left <= 0:
                    return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TranscriptError(
            f"cannot read the transcript {path}: {reason}", hint="check the path, then run the command again"
        ) from error


def _objects(text: str, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    position = 0
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            skipped[DAMAGED] += 1
            return
        if isinstance(value, dict):
            yield value
        else:
            skipped[DAMAGED] += 1
        while position < len(text) and text[position] in " \t\r\x00":
            position += 1


class TurnBuffer:
    """The turns that a reader has found so far. Those of more than `most` characters together are counted, not held."""

    def __init__(self, max_chars: float = MAX_BUFFERED_CHARS) -> None:
        self._max_chars = max_chars
        self._turns: list[Turn] = []
        self._count = self._chars = 0

    def __len__(self) -> int:
        return self._count

    def append(self, turn: Turn) -> None:
        self._count += 1
        self._chars += len(turn.text) + len(turn.input)
        self._turns.append(turn)
        if self._chars > self._max_chars:
            self._turns.clear()

    @property
    def is_complete(self) -> bool:
        """Whether none was given up."""
        return len(self._turns) == self._count

    def pop_turns(self) -> list[Turn]:
        """The turns that are held, which are not any longer."""
        found, self._turns = self._turns, []
        return found


class RecordReader(Protocol):
    """What an adapter gathers a session with, one record after the other."""

    skipped: Counter[str]

    @property
    def buffer(self) -> TurnBuffer: ...

    def add(self, record: dict[str, Any]) -> None: ...


AnyReader = TypeVar("AnyReader", bound=RecordReader)


def read_turns(path: Path, make_reader: Callable[[float], AnyReader]) -> tuple[AnyReader, Sequence[Turn]]:
    """A reader that went through a file of JSON lines, and the turns. `reader` makes one that holds so many characters.

    Raises TranscriptError where the file cannot be read.
    """
    first = make_reader(MAX_BUFFERED_CHARS)
    for record in read_records(path, first.skipped):
        first.add(record)
    if first.buffer.is_complete:
        return first, tuple(first.buffer.pop_turns())
    from lineage.harness.streamed_turns import StreamedTurns  # noqa: PLC0415  (few transcripts are that long)

    return first, StreamedTurns(path, partial(make_reader, math.inf), len(first.buffer))
