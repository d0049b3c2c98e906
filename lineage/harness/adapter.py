"""What an adapter offers: reading one session, and finding those that a harness keeps."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from lineage.core.capture.capture import Capture


class SessionLocation(NamedTuple):
    """A session of a harness's history: its file and, where one file holds many, which of them."""

    path: Path
    session: str | None = None


class Adapter(Protocol):
    """One harness. Every module of this package that names a harness implements it with functions of these names.

    Tolerant: unknown and damaged records are counted in `Capture.skipped`, by reason, and never raised.
    """

    def read(self, path: Path, session: str | None = None) -> Capture:
        """The session that a file holds; `session` is its id, needed where the file holds many.

        Reading a longer file only ever adds turns to those of a shorter one. Raises TranscriptError for files that
        are unreadable, foreign, or lack the session.
        """
        ...

    def list_roots(self, home: Path, environment: Mapping[str, str]) -> list[Path]:
        """Where the harness keeps its history on this machine, whether or not it exists; empty where nowhere."""
        ...

    def discover(self, root: Path) -> Iterator[SessionLocation]:
        """The sessions at or below a file or folder, in a fixed order; other files are passed over, links not
        followed. An empty folder has none; what cannot be listed is left out."""
        ...
