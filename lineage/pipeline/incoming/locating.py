"""Where a session's transcript is now: harnesses move them, and the hooks of some name none. (harnesses.md 1.6, 0.2)"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineage.errors import LineageError
from lineage.harness import ADAPTERS, Found
from lineage.store.platform import expanded

_SHORT_ID = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """What the histories of harnesses are found by. Each is looked through once: it is what a run saw of it."""

    home: Path
    environment: Mapping[str, str]
    _histories: dict[str, list[Found]] = field(default_factory=dict, repr=False, compare=False)

    def history(self, harness: str) -> list[Found]:
        """The sessions that a harness keeps."""
        if harness not in self._histories:
            self._histories[harness] = list(_history(self, harness))
        return self._histories[harness]


def located(machine: Machine, harness: str, session: str, given: str | None) -> Path | None:
    """The transcript: the one that was given if it is there, else the one that the harness keeps of the session."""
    if given and (path := _file(given)):
        return path
    return next((found.path for found in machine.history(harness) if _is_of(harness, found, session)), None)


def _file(given: str) -> Path | None:
    """The regular file of that name; None where there is none, or where that is no name of a file."""
    try:
        path = expanded(given)
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def belonging(harness: str, transcript: Path) -> Iterator[Found]:
    """The transcripts of sub-agents, where the harness keeps them in a folder beside the session's own."""
    folder = transcript.with_suffix("")
    if harness in ADAPTERS and folder != transcript and folder.is_dir():
        yield from ADAPTERS[harness].found(folder)


def _history(machine: Machine, harness: str) -> Iterator[Found]:
    if harness in ADAPTERS:
        for root in ADAPTERS[harness].roots(machine.home, machine.environment):
            if root.exists():
                yield from ADAPTERS[harness].found(root)


def _is_of(harness: str, found: Found, session: str) -> bool:
    """Whether a file holds the session: as the harness says, by its name, else, where the name may stand for the
    session, by what the file says."""
    if found.session is not None:
        return found.session == session
    stem = found.path.name.partition(".")[0]
    if stem == session or stem.endswith((f"-{session}", f"_{session}")) or found.path.parent.name == session:
        return True
    return stem.endswith(f"-{session[:_SHORT_ID]}") and _says(harness, found.path) == session


def _says(harness: str, path: Path) -> str | None:
    try:
        return ADAPTERS[harness].read(path).session_id
    except LineageError:
        return None
