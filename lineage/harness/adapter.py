"""The interface of an adapter, and what every adapter needs to find sessions in a harness's history."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lineage.core.capture.capture import Capture
from lineage.errors import TranscriptError

FOREIGN_HINT = "is it another harness's? name it with `--harness`"


@dataclass(frozen=True, slots=True, order=True)
class SessionLocation:
    """A session of a harness's history: its file and, for files with many sessions, its id."""

    path: Path
    session: str | None = None


class Adapter(Protocol):
    """One harness. Every module of this package that names a harness implements it with functions of these names.

    Adapters are tolerant: they count unknown and damaged records in `Capture.skipped`, by reason, and never raise.
    """

    def read(self, path: Path, session: str | None = None) -> Capture:
        """Return the session in a file. `session` is its id, required if the file holds many.

        A longer file only ever adds turns to those of a shorter one. Raise TranscriptError for files that are
        unreadable, foreign, or lack the session.
        """

    def list_roots(self, home: Path, environment: Mapping[str, str]) -> list[Path]:
        """Return the places of the harness's history on this machine, existing or not."""

    def discover(self, root: Path) -> Iterator[SessionLocation]:
        """Yield the sessions at or below a file or folder, in a fixed order.

        Other files are skipped, links not followed, unreadable folders left out.
        """


def list_files(root: Path, suffixes: tuple[str, ...]) -> Iterator[SessionLocation]:
    """Yield the regular files at or below `root` that end in one of `suffixes`, sorted by path.

    A `root` that is a file itself may have any name. Links are not followed, unreadable folders left out.
    """
    if root.is_file():
        yield SessionLocation(root)
        return
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(suffixes) and path.is_file() and not path.is_symlink():
                yield SessionLocation(path)


def choose_session(sessions: Collection[str], session: str | None, description: str, hint: str) -> str:
    """Return the requested session of a file, or the only one. Raise TranscriptError if there is no such session.

    `description` names the file in the error.
    """
    name = session or (next(iter(sessions)) if len(sessions) == 1 else "")
    if name not in sessions:
        what = f"session {session}" if session else f"one session but {len(sessions)}"
        raise TranscriptError(f"{description} does not hold {what}", hint=hint)
    return name
