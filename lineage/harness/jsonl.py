"""Reading a transcript that is being appended to: tolerant of damage, which is counted and never raised.

Accepts BOM, CRLF, blank lines, NUL padding, several objects on one line, values that aren't objects, torn tails and
tails torn inside a UTF-8 sequence. Lines end at `\\n` only. (harnesses.md 0.3)
"""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lineage.errors import TranscriptError

DAMAGED = "damaged"
_DECODER = json.JSONDecoder()


def records(path: Path, skipped: Counter[str], size: int | None = None) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, in order, up to a size, else up to the one that it has now. Damage is counted in
    `skipped`.

    Raises TranscriptError where the file cannot be read.
    """
    for line in _lines(path, size):
        text = line.decode("utf-8", errors="replace").strip(" \t\r\n\x00\ufeff")
        yield from _objects(text, skipped)


def read_bytes(path: Path) -> bytes:
    """A whole transcript file. Raises TranscriptError where it cannot be read."""
    return b"".join(_lines(path))


def size_of(path: Path) -> int:
    """How large a file is. Raises TranscriptError where that cannot be told."""
    try:
        return path.stat().st_size
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _lines(path: Path, size: int | None = None) -> Iterator[bytes]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a file")
        with path.open("rb") as file:
            left = os.fstat(file.fileno()).st_size if size is None else size
            for line in file:
                yield line[:left]
                left -= len(line)
                if left <= 0:
                    return
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> TranscriptError:
    reason = getattr(error, "strerror", None) or error
    return TranscriptError(
        f"cannot read the transcript {path}: {reason}", hint="check the path, then run the command again"
    )


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
