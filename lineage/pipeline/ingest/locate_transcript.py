"""Find a session's transcript: harnesses move them, and some hooks name none (harnesses.md 1.6, 0.2)."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lineage.errors import LineageError
from lineage.harness import ADAPTERS, SessionLocation
from lineage.workspace.paths import expand_home

_SHORT_ID = 8  # letters of an id in the file names of some harnesses


@dataclass(frozen=True, slots=True)
class HarnessHistories:
    """The places of the harnesses' histories. Each history is listed once per run."""

    home: Path
    environment: Mapping[str, str]
    _histories: dict[str, list[SessionLocation]] = field(default_factory=dict, repr=False, compare=False)

    def list_sessions(self, harness: str) -> list[SessionLocation]:
        """Return the sessions in a harness's history."""
        if harness not in self._histories:
            roots = ADAPTERS[harness].list_roots(self.home, self.environment) if harness in ADAPTERS else ()
            self._histories[harness] = [
                location for root in roots if root.exists() for location in ADAPTERS[harness].discover(root)
            ]
        return self._histories[harness]


def locate_transcript(histories: HarnessHistories, harness: str, session: str, hinted_path: str | None) -> Path | None:
    """Return the transcript at the hinted path if it exists, else the one in the harness's history."""
    with suppress(OSError, ValueError):  # an impossible name
        if hinted_path and (path := expand_home(hinted_path)).is_file():
            return path
    locations = histories.list_sessions(harness)
    return next((location.path for location in locations if _holds_session(harness, location, session)), None)


def find_subagent_transcripts(harness: str, transcript: Path) -> Iterator[SessionLocation]:
    """Yield the transcripts of sub-agents in the folder beside the session's transcript."""
    folder = transcript.with_suffix("")
    if harness in ADAPTERS and folder != transcript and folder.is_dir():
        yield from ADAPTERS[harness].discover(folder)


def _holds_session(harness: str, location: SessionLocation, session: str) -> bool:
    """Return whether a file holds the session: by the harness's own list, by its name, or by its content."""
    if location.session is not None:
        return location.session == session
    path = location.path
    stem = path.name.partition(".")[0]
    if stem == session or stem.endswith((f"-{session}", f"_{session}")) or path.parent.name == session:
        return True
    if not stem.endswith(f"-{session[:_SHORT_ID]}"):  # some harnesses shorten the id in the name: only then read it
        return False
    try:
        return ADAPTERS[harness].read(path).session_id == session
    except LineageError:
        return False
