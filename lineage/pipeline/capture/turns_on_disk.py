"""Turns that do not fit into memory, in a private file without a name that ends with its last user."""

import marshal
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from lineage.core.base.sequences import LazySequence
from lineage.core.format.turns import Turn
from lineage.errors import WorkspaceError

_BATCH = 64  # turns a read: few enough to hold, many enough to be fast


class TurnsOnDisk(LazySequence[Turn]):
    """Sanitized turns in a file in `folder`, None for the system's, a few at a time. Raise WorkspaceError if full."""

    def __init__(self, turns: Iterable[Turn], folder: Path | None) -> None:
        self._ends = array("Q", [0])
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (open as long as this object)
            # The file has no name, so its space is free once it is closed, also after a crash.
            weakref.finalize(self, self._file.close)
            for turn in turns:
                self._ends.append(self._ends[-1] + self._file.write(marshal.dumps(tuple(turn))))
            self._file.flush()
        except OSError as error:
            raise WorkspaceError(
                f"cannot set a long transcript aside: {error.strerror or error}",
                hint="free some space and run the command again; nothing was written",
            ) from error

    def __len__(self) -> int:
        return len(self._ends) - 1

    def iter_range(self, start: int, stop: int) -> Iterator[Turn]:
        """Yield the turns from one position up to another."""
        for first in range(start, stop, _BATCH):
            ends = self._ends[first : min(first + _BATCH, stop) + 1]
            self._file.seek(ends[0])
            data = memoryview(self._file.read(ends[-1] - ends[0]))
            for begin, end in pairwise(ends):
                # marshal is safe here: the file is this process's own, and nobody else can open it.
                yield Turn(*marshal.loads(data[begin - ends[0] : end - ends[0]]))
