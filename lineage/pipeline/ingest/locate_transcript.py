"""Where a session's transcript is now: harnesses move them, and the hooks of some name none. (harnesses.md 1.6, 0.2)"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineage.errors import LineageError
from lineage.harness import ADAPTERS, SessionLocation
from lineage.workspace.paths import expand_home

_SHORT_ID = 8


@dataclass(frozen=True, slots=True)
class HarnessHistories:
    """What the histories of harnesses are found by. Each is looked through once: it is what a run saw of it."""

    home: Path
    environment: Mapping[str, str]
    _histories: dict[str, list[SessionLocation]] = field(default_factory=dict, repr=False, compare=False)

    def list_sessions(self, harness: str) -> list[SessionLocation]:
        """The sessions that a harness keeps."""
        if harness not in self._histories:
            self._histories[harness] = list(_read_history(self, harness))
        return self._histories[harness]


def locate_transcript(histories: HarnessHistories, harness: str, session: str, hinted_path: str | None) -> Path | None:
    """The transcript: the one that was given if it is there, else the one that the harness keeps of the session."""
    if hinted_path and (path := _find_regular_file(hinted_path)):
        return path
    return next(
        (found.path for found in histories.list_sessions(harness) if _holds_session(harness, found, session)), None
    )


def _find_regular_file(hinted_path: str) -> Path | None:
    """The regular file of that name; None where there is none, or where that is no name of a file."""
    try:
        path = expand_home(hinted_path)
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def find_subagent_transcripts(harness: str, transcript: Path) -> Iterator[SessionLocation]:
    """The transcripts of sub-agents, where the harness keeps them in a folder beside the session's own."""
    folder = transcript.with_suffix("")
    if harness in ADAPTERS and folder != transcript and folder.is_dir():
        yield from ADAPTERS[harness].discover(folder)


def _read_history(histories: HarnessHistories, harness: str) -> Iterator[SessionLocation]:
    if harness in ADAPTERS:
        for root in ADAPTERS[harness].list_roots(histories.home, histories.environment):
            if root.exists():
                yield from ADAPTERS[harness].discover(root)


def _holds_session(harness: str, found: SessionLocation, session: str) -> bool:
    """Whether a file holds the session: as the harness says, by its name, else, where the name may stand for the
    session, by what the file says."""
    if found.session is not None:
        return found.session == session
    stem = found.path.name.partition(".")[0]
    if stem == session or stem.endswith((f"-{session}", f"_{session}")) or found.path.parent.name == session:
        return True
    return stem.endswith(f"-{session[:_SHORT_ID]}") and _read_session_id(harness, found.path) == session


def _read_session_id(harness: str, path: Path) -> str | None:
    try:
        return ADAPTERS[harness].read(path).session_id
    except LineageError:
        return None
