"""Sessions that no capture holds: those that hooks told of and that wait, and those in the harnesses' own histories."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lineage.core.base.naming import DEFAULT_AGENT, Identity
from lineage.core.base.times import from_epoch, shift_time
from lineage.errors import InvalidInput, LineageError
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import ADAPTERS, load_adapter
from lineage.harness.sqlite import DATABASE_SUFFIXES
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, locate_transcript, read_growth_mark
from lineage.pipeline.ingest.worker import IDLE_MINUTES, OpenSession, find_open_session
from lineage.telemetry import SeenSession
from lineage.workspace.workspace import Workspace

MAX_READ = 200
"""How many sessions of a harness are read at most to tell whether they hold words: a history may have thousands."""


@dataclass(slots=True)
class UncapturedSessions:
    """The sessions of one harness's history that no capture holds, and that no hook told of.

    `written` are the times of their last writes, canonical UTC. `problems` are the errors of unreadable ones.
    `has_more` says that there were more than could be looked at.
    """

    written: list[str] = field(default_factory=list)
    problems: list[LineageError] = field(default_factory=list)
    has_more: bool = False


def find_uncaptured(
    ws: Workspace, histories: HarnessHistories, harness: str, is_wanted: Callable[[str], bool]
) -> UncapturedSessions:
    """Return the sessions with words of a harness's history, last written at a wanted time, newest first.

    Sub-agents come with their parents. Only sessions without a capture are read, at most MAX_READ.
    """
    agents = {DEFAULT_AGENT, *ws.index.list_agents()}
    told = {seen.session_token for seen in ws.telemetry.list_seen_sessions()}

    def is_known(session_id: str, lane: str | None = None) -> bool:
        tokens = {Identity.in_lane(agent, session_id, lane).token for agent in agents}
        documents = ws.documents
        return bool(tokens & told) or any(documents.claims.has(t) or documents.tombstones.has(t) for t in tokens)

    found, reads = UncapturedSessions(), 0
    for written, location in _list_newest(histories.list_sessions(harness)):
        is_in_database = location.path.suffix in DATABASE_SUFFIXES  # whose time says nothing of one session
        if not (is_in_database or is_wanted(written)) or is_known(location.session or location.path.stem):
            continue
        if reads == MAX_READ:
            found.has_more = True
            break
        reads += 1
        try:
            capture = ADAPTERS[harness].read(location.path, location.session)
        except LineageError as error:
            if is_wanted(written) and location.path.exists():
                found.problems.append(error)
            continue
        at = (capture.ended_at or written) if is_in_database else written
        is_other = capture.parent_session or (capture.session_id and is_known(capture.session_id, capture.lane))
        if is_wanted(at) and not is_other and any(True for _ in capture.turns):
            found.written.append(at)
    return found


def _list_newest(locations: Iterable[SessionLocation]) -> list[tuple[str, SessionLocation]]:
    timed = []
    for location in locations:
        if not location.parent and (at := _read_written(location.path)):
            timed.append((at, location))
    return sorted(timed, key=lambda item: item[0], reverse=True)


def _read_written(path: Path) -> str:
    """Return the time of a file's last write, of a database with its log; "" without one."""
    times = []
    for file in (path, path.with_name(f"{path.name}-wal")) if path.suffix in DATABASE_SUFFIXES else (path,):
        try:
            times.append(from_epoch(file.stat().st_mtime))
        except (OSError, ValueError, OverflowError, InvalidInput):  # deleted just now, or a time that can't be
            continue
    return max(times, default="")


def list_open_sessions(ws: Workspace, histories: HarnessHistories) -> tuple[list[OpenSession], list[SeenSession]]:
    """Return the waiting and the overdue sessions that hooks reported: those are running, these have ended."""
    waiting, overdue = [], []
    for seen in ws.telemetry.list_seen_sessions():
        path = locate_transcript(histories, seen.harness, seen.session_id, seen.transcript_path)
        mark = read_growth_mark(path) if path else None
        if path is None or mark is None or mark == seen.captured_size:
            continue
        session = find_open_session(seen, path, ws.now, IDLE_MINUTES)
        if session is None and (written := _read_written(path)):  # the worker may be about to capture it
            until = shift_time(written, milliseconds=60_000 * IDLE_MINUTES)
            session = OpenSession(seen.harness, seen.session_id, until) if until > ws.now else None
        # a database changes with every other session of it, and a harness writes more than words
        if (session is None or path.suffix in DATABASE_SUFFIXES) and not _has_new_words(ws, seen, path):
            continue
        if session:
            waiting.append(session)
        else:
            overdue.append(seen)
    return waiting, overdue


def _has_new_words(ws: Workspace, seen: SeenSession, path: Path) -> bool:
    """Return whether a transcript holds records that are younger than the captures of the session."""
    if ws.documents.tombstones.has(seen.session_token):
        return False
    try:
        capture = load_adapter(seen.harness).read(path, seen.session_id)
    except LineageError:
        return True  # a sweep names what keeps it from being read
    rows = ws.index.list_sessions(None, reference=seen.session_token, limit=1)
    is_younger = not rows or (capture.ended_at or "") > (rows[0].ended_at or "")
    return is_younger and any(True for _ in capture.turns)
