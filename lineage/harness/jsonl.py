"""Reading a transcript while its harness appends to it: damage is counted and never raised.

Accepts BOM, CRLF, blank lines, NUL padding, several objects on one line, values other than objects, torn tails and
tails torn inside a UTF-8 sequence. Lines end at a line feed only. (harnesses.md 0.3)
"""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lineage.errors import TranscriptError

DAMAGED = "damaged"
_DECODER = json.JSONDecoder()
_PADDING = " \t\r\n\x00\ufeff"


def read_records(path: Path, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file, up to its size at the start. Count damage in `skipped`.

    Raise TranscriptError if the file cannot be read.
    """
    for line in _lines(path):
        text = line.decode("utf-8", errors="replace").strip(_PADDING)
        yield from _objects(text, skipped)


def read_bytes(path: Path, start: int = 0, end: int | None = None) -> bytes:
    """Return the bytes of a transcript file from `start` to `end`. Raise TranscriptError if it cannot be read."""
    with _open(path) as (file, size):
        file.seek(start)
        return file.read(max(0, (size if end is None else end) - start))


def read_text(path: Path) -> str:
    """Return a whole transcript file as text without padding. Raise TranscriptError if it cannot be read."""
    return read_bytes(path).decode("utf-8", errors="replace").strip(_PADDING)


def _lines(path: Path) -> Iterator[bytes]:
    with _open(path) as (file, size):
        left = size
        for line in file:
            yield line[:left]
            left -= len(line)
            if left <= 0:
                return


@contextmanager
def _open(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file to read. Yield it with its size now: later records belong to the next pass."""
    try:
        # A pipe or a device would block or never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a file")
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as error:
        reason, hint = getattr(error, "strerror", None) or error, "check the path, then run the command again"
        raise TranscriptError(f"cannot read the transcript {path}: {reason}", hint=hint) from error


def _objects(text: str, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    position = 0
    # Two records may share a line after a lost line break, so the decoder goes on behind the first.
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
