"""Backfill: the sessions that harnesses kept before lineage was there. (format: Captures, Times; lessons 37)

observe (`history.surveyed`) → plan (`history.grouped`) → apply: each session goes through the two flows that live ones
go through, under the time of its last record, so that importing again, elsewhere or with other processes gives the same
files. What was imported and has not changed since is not read again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from lineage.core.base import naming
from lineage.core.capture.capture import Capture
from lineage.core.capture.request import SESSION_END, Request, parse_request
from lineage.core.format import transcript
from lineage.errors import FormatError, InvalidInput, RemovedError, TranscriptError
from lineage.harness.projects import resolve_project
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture import source as sources
from lineage.pipeline.capture.recorded_compactions import capture_recorded_compactions
from lineage.pipeline.capture.result import CAPTURED, EMPTY, REFUSED, UNCHANGED
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.ingest.import_sources import (
    CAPTURING,
    HistorySurvey,
    ImportRequest,
    ImportSource,
    SessionSources,
    StageProgress,
    order_by_fork,
    survey_history,
)
from lineage.pipeline.ingest.worker_pool import WorkerPool, open_worker_pool
from lineage.workspace.workspace import Workspace

FAILED = "failed"

_LANES = 4  # sessions that a process works on at once
_CHUNK = 4 * _LANES


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryImport:
    """What became of one harness's history. `sources` is how many there are, `unread` how many of them lie there as the
    last import left them, `copies` how many hold nothing but what another source of their session holds too.

    Sessions are `captured`, `unchanged`, `refused` (removed ones), `empty` (without a turn) or `failed`. `turns` and
    `compactions` are those that were captured now, `unsummarized` the compactions of which the harness kept no summary
    that can be read. `problems` are (path, reason); `skipped` counts, by reason, the records that are not turns.
    """

    harness: str
    sources: int
    unread: int
    copies: int
    captured: int
    unchanged: int
    refused: int
    empty: int
    failed: int
    turns: int
    compactions: int
    unsummarized: int
    problems: tuple[tuple[str, str], ...]
    skipped: Mapping[str, int]


def import_history(
    ws: Workspace, open_workspace: Callable[[], Workspace], import_request: ImportRequest, progress: StageProgress
) -> tuple[HistoryImport, ...]:
    """Captures every session of the wanted harnesses that can be read; again changes nothing.

    `opened` opens the house in another process and can be pickled. Sources that are damaged, foreign or of a removed
    session are counted. Raises EngineMissing, WorkspaceError where a write fails, LineageError where a process dies:
    what was captured until then stays, and the next run goes on from there.
    """
    ws.build_sanitizer()
    with open_worker_pool(import_request.jobs) as pool:
        survey = survey_history(ws, import_request, pool, progress)
        taken = capture_groups(
            partial(_open_at, open_workspace, ws.now), import_request, pool, survey.groups, partial(progress, CAPTURING)
        )
    return tuple(_summarize_harness(harness, survey, taken) for harness in survey.harnesses)


def capture_groups(
    open_workspace: Callable[[], Workspace],
    import_request: ImportRequest,
    pool: WorkerPool,
    groups: Sequence[SessionSources],
    progress: Callable[[int, int], None],
) -> "list[SessionImportResult]":
    """Captures sessions, those that were forked from others after these. `progress` is told how many of how many are
    done."""
    work = partial(_capture_in_lanes, open_workspace, import_request.agent_id, _LANES if import_request.jobs > 1 else 1)
    taken: list[SessionImportResult] = []
    for born in order_by_fork(groups):
        done = partial(_report_progress, progress, len(taken), len(groups))
        taken += pool.map_chunks(work, born, done, chunk=min(_CHUNK, -(-len(born) // import_request.jobs)))
    return taken


def _report_progress(progress: Callable[[int, int], None], before: int, total: int, done: int, _: int) -> None:
    progress(before + done, total)


def _open_at(open_workspace: Callable[[], Workspace], now: str) -> Workspace:
    return replace(open_workspace(), now=now)


@dataclass(slots=True)
class SessionImportResult:
    """What became of one session; `harness` is its first source's."""

    token: str
    harness: str
    status: str = EMPTY
    copies: int = 0
    turns: int = 0
    compactions: int = 0
    unsummarized: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def update_status(self, status: str) -> None:
        """Of several sources the one that added something says what became of the session."""
        self.status = CAPTURED if self.status == CAPTURED else status


@dataclass(frozen=True, slots=True)
class _SourceReading:
    """A source with its session. `at` is the time of the last record, else the file's. `turns` tells the turns apart,
    by the harness's ids, else by place and content."""

    source: ImportSource
    capture: Capture
    at: str
    turns: frozenset[object]

    @staticmethod
    def from_source(source: ImportSource) -> "_SourceReading":
        capture = source.read()
        turns = frozenset(
            turn.source_id or (place, turn.role, turn.name, turn.input, turn.text)
            for place, turn in enumerate(capture.turns)
        )
        return _SourceReading(source, capture, capture.ended_at or source.read_mtime(), turns)

    @property
    def extent(self) -> tuple[int, str, int, str]:
        return len(self.turns), self.at, self.source.size, self.source.path


def _capture_in_lanes(
    open_workspace: Callable[[], Workspace], agent_id: str, lanes: int, groups: Sequence[SessionSources]
) -> list[SessionImportResult]:
    """Captures sessions, in several lanes side by side: while one waits for MEMORY.md the others read and redact, and
    one render takes in all that wait."""
    if lanes == 1 or len(groups) == 1:
        return _capture_lane(open_workspace, agent_id, groups)
    with ThreadPoolExecutor(lanes) as threads:
        shares = threads.map(
            partial(_capture_lane, open_workspace, agent_id), [groups[lane::lanes] for lane in range(lanes)]
        )
        taken = {one.token: one for share in shares for one in share}
    return [taken[group.token] for group in groups]


def _capture_lane(
    open_workspace: Callable[[], Workspace], agent_id: str, groups: Sequence[SessionSources]
) -> list[SessionImportResult]:
    if not groups:
        return []
    ws = open_workspace()
    try:
        return [_import_session(ws, agent_id, group) for group in groups]
    finally:
        ws.close()


def _import_session(ws: Workspace, agent_id: str, group: SessionSources) -> SessionImportResult:
    """Captures one session. Its sources are noted as imported once all of them went through."""
    done = SessionImportResult(group.token, group.sources[0].harness)
    readings = _read_sources(group, done)
    chosen = _drop_copies(readings)
    done.copies = len(readings) - len(chosen)
    for reading in chosen:
        _try_capture(ws, agent_id, group, reading, done)
    if not done.problems and done.status in (CAPTURED, UNCHANGED):
        for origin in group.sources:
            ws.telemetry.record_import(agent_id, origin.key, origin.stamp, group.token)
    return done


def _read_sources(group: SessionSources, done: SessionImportResult) -> list[_SourceReading]:
    """The group's sources, read again: what they hold does not travel between processes."""
    found = []
    for origin in group.sources:
        try:
            found.append(_SourceReading.from_source(origin))
        except (TranscriptError, InvalidInput) as error:
            _record_failure(done, origin, error.message)
    return found


def _drop_copies(readings: Iterable[_SourceReading]) -> list[_SourceReading]:
    """Those that hold a turn which no longer one holds, oldest first."""
    kept: list[_SourceReading] = []
    for reading in sorted(readings, key=lambda reading: reading.extent, reverse=True):
        if not any(reading.turns <= longer.turns for longer in kept):
            kept.append(reading)
    return sorted(kept, key=lambda reading: (reading.at, reading.extent))


def _try_capture(
    ws: Workspace, agent_id: str, group: SessionSources, reading: _SourceReading, done: SessionImportResult
) -> None:
    done.skipped.update(reading.capture.skipped)
    try:
        _capture_source(ws, _build_payload(agent_id, group, reading), reading, done)
    except RemovedError:
        done.status = REFUSED
    except (TranscriptError, InvalidInput, FormatError) as error:
        _record_failure(done, reading.source, error.message)


def _record_failure(done: SessionImportResult, source: ImportSource, reason: str) -> None:
    done.problems.append((source.path, reason))
    if done.status == EMPTY:
        done.status = FAILED


def _build_payload(agent_id: str, group: SessionSources, reading: _SourceReading) -> dict[str, Any]:
    return {
        "harness": reading.source.harness,
        "session_id": group.session_id,
        "agent_id": agent_id,
        "transcript_path": reading.source.path,
        "project": resolve_project(reading.capture.project),
        "captured_at": reading.at,
    }


def _capture_source(
    ws: Workspace, payload: Mapping[str, Any], reading: _SourceReading, done: SessionImportResult
) -> None:
    """The session's end, then each compaction that its source records."""
    if not reading.turns:
        return
    ended = parse_request(SESSION_END, payload, agent_id=None, now=ws.now)
    if _has_all_turns(ws, ended, reading.capture):
        done.update_status(UNCHANGED)
    else:
        outcome = capture_session(ws, ended, reading.capture)
        done.turns += outcome.turns
        done.update_status(EMPTY if outcome.reason == EMPTY else outcome.status)
    kept = capture_recorded_compactions(ws, payload, ended.token, reading.capture, reading.at)
    done.compactions += kept.captured
    done.unsummarized += kept.unsummarized


def _has_all_turns(ws: Workspace, end_request: Request, capture: Capture) -> bool:
    """Whether the session's captures hold every turn of a source already. Where a session has two lines of turns, the
    end of the older one would be taken for a return to it each time."""
    session = sessions.load_session(ws, end_request.token)
    if len(session.captures) < 2:
        return False
    source = sources.read_source(ws, end_request, capture)
    paths = (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in session.captures)
    artifacts = filter(None, map(ws.documents.artifacts.get, paths))
    held = {turn for artifact in artifacts for turn in transcript.extract_turn_ids(artifact.body)}
    return bool(source.turns) and held.issuperset(turn.id for turn in source.turns)


def _summarize_harness(harness: str, survey: HistorySurvey, results: Iterable[SessionImportResult]) -> HistoryImport:
    own = [one for one in results if one.harness == harness]
    statuses = Counter(one.status for one in own)
    origins = [origin for origin in survey.sources if origin.harness == harness]
    known = {survey.unchanged[origin] for origin in origins if origin in survey.unchanged} - {one.token for one in own}
    skipped = sum((one.skipped for one in own), Counter[str]())
    return HistoryImport(
        harness=harness,
        sources=len(origins),
        unread=sum(origin in survey.unchanged for origin in origins),
        copies=sum(one.copies for one in own),
        captured=statuses[CAPTURED],
        unchanged=statuses[UNCHANGED] + len(known),
        refused=statuses[REFUSED],
        empty=statuses[EMPTY],
        failed=statuses[FAILED],
        turns=sum(one.turns for one in own),
        compactions=sum(one.compactions for one in own),
        unsummarized=sum(one.unsummarized for one in own),
        problems=(*list_problems(harness, survey), *(problem for one in own for problem in one.problems)),
        skipped=dict(sorted(skipped.items())),
    )


def list_problems(harness: str, survey: HistorySurvey) -> list[tuple[str, str]]:
    """(path, reason) of each of a harness's sources that can't be read."""
    return [(path, reason) for own, path, reason in survey.problems if own == harness]
