"""Find a session's transcript, and wait for its end (harnesses.md 1.6, 0.2).

Harnesses move transcripts, some hooks name none, and a harness goes on writing after its hook.
"""

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path

from lineage.errors import LineageError
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import ADAPTERS, list_history_roots
from lineage.harness.sqlite import DATABASE_SUFFIXES
from lineage.workspace.paths import expand_home

_SHORT_ID = 8  # letters of an id in the file names of some harnesses
_STEP_SECONDS = 0.25
_QUIET_SECONDS = 0.5
_MAX_STEPS = 8


@dataclass(frozen=True, slots=True)
class HarnessHistories:
    """The places of the harnesses' histories. Each history is listed once per run."""

    home: Path
    environment: Mapping[str, str]
    _histories: dict[str, list[SessionLocation]] = field(default_factory=dict, repr=False, compare=False)

    def list_sessions(self, harness: str) -> list[SessionLocation]:
        """Return the sessions in a harness's history."""
        if harness not in self._histories:
            roots = list_history_roots(harness, self.home, self.environment) if harness in ADAPTERS else ()
            self._histories[harness] = [
                location for root in roots if root.exists() for location in ADAPTERS[harness].discover(root)
            ]
        return self._histories[harness]


def locate_transcript(histories: HarnessHistories, harness: str, session: str, hinted_path: str | None) -> Path | None:
    """Return the transcript at the hinted path if it exists, else the one in the harness's history.

    Without either, a database there that could not be listed: reading it says what is wrong with it.
    """
    with suppress(OSError, ValueError):  # an impossible name
        if hinted_path and (path := expand_home(hinted_path)).is_file():
            return path
    locations = histories.list_sessions(harness)
    holding = (location.path for location in locations if _holds_session(harness, location, session))
    unlisted = (item.path for item in locations if item.session is None and item.path.suffix in DATABASE_SUFFIXES)
    return next(chain(holding, unlisted), None)


def find_sub_agents(harness: str, transcript: Path, session: str) -> list[SessionLocation]:
    """Return the transcripts of sub-agents if a harness keeps those of the session with this transcript."""
    list_places = getattr(ADAPTERS.get(harness), "list_sub_agent_places", None)
    places: Iterable[Path] = list_places(transcript, session) if list_places else ()
    found = (item for place in places if place.exists() for item in ADAPTERS[harness].discover(place))
    return sorted(item for item in found if item.parent)


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


def wait_until_stable(path: Path, signaled_at: str) -> int | None:
    """Return a file's mark after half a second without a write since the signal, at most 2 s; None without a file."""
    size, signaled = read_growth_mark(path), datetime.fromisoformat(signaled_at).timestamp()
    changed = max(signaled, _read_mtime(path))
    for _ in range(_MAX_STEPS):
        if size is None or time.time() - changed >= _QUIET_SECONDS:
            break
        time.sleep(_STEP_SECONDS)
        now = read_growth_mark(path)
        if now != size:
            size, changed = now, time.time()
    return size


def read_file_size(path: Path) -> int | None:
    """Return the size of a regular file in bytes, None without one."""
    status = _stat(path)
    return status.st_size if status else None


def read_growth_mark(path: Path) -> int | None:
    """Return a mark of a transcript's growth, None without one: its size; of a database, the last write's time."""
    # A database grows within its pages and its log.
    if path.suffix not in DATABASE_SUFFIXES:
        return read_file_size(path)
    states = (_stat(file) for file in (path, path.with_name(f"{path.name}-wal")))
    return max((status.st_mtime_ns for status in states if status), default=None)


def _read_mtime(path: Path) -> float:
    status = _stat(path)
    return status.st_mtime if status else 0


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat() if path.is_file() else None
    except (OSError, ValueError):
        return None
