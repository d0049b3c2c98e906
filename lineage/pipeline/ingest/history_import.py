"""Import the sessions in the harnesses' histories (format: Captures, Times; lessons 37).

Observe (`survey_history`), plan (`group_by_session`), apply: each session goes through the same two flows as a live
one, under the time of its last record. So a second import, elsewhere or with more processes, writes the same files.
Sources that did not change since their import are not read again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from lineage.core.base import naming
from lineage.core.base.progress import StageProgress
from lineage.core.capture.capture import Capture
from lineage.core.capture.request import SESSION_END, Request, parse_request
from lineage.core.format import transcript
from lineage.errors import FormatError, InvalidInput, RemovedError, TranscriptError
from lineage.pipeline.capture.compaction import capture_recorded_compactions
from lineage.pipeline.capture.linking import link_session
from lineage.pipeline.capture.restore_transcripts import restore_transcripts
from lineage.pipeline.capture.session import CAPTURED, EMPTY, REFUSED, UNCHANGED, load_session
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.capture.source import read_source
from lineage.pipeline.ingest.compare_sessions import compare_sessions
from lineage.pipeline.ingest.import_sources import (
    CAPTURING,
    COMPARING,
    HistorySurvey,
    ImportRequest,
    ImportSource,
    SessionSources,
    order_by_fork,
    order_newest_first,
    split_first,
    survey_history,
)
from lineage.pipeline.ingest.worker_pool import WorkerPool, open_worker_pool
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.projects import resolve_project
from lineage.workspace.workspace import Workspace

FAILED = "failed"

_FIRST, _FIRST_BYTES = 48, 32 << 20  # sessions that are captured and told of before the rest of a long history
_LANES = 4  # sessions that a process works on at once
_CHUNK = 4 * _LANES  # sessions that a process takes at once: enough for its lanes to overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryImport:
    """The import of one harness's history, as counts.

    `sources`: all files or records, of `bytes`; `unread`: those unchanged since the last import; `copies`: those
    without a turn of their own. Sessions are `captured`, `unchanged`, `refused` (removed), `empty` (without a turn) or
    `failed`. `turns` and `compactions` were captured now; of the captured sessions `sub_agents` are those of
    sub-agents, `private` those that stay private; `unsummarized` compactions have no readable summary. `problems` are
    (path, reason); `skipped` counts records that are no turns, by reason. `restored` are the paths of lost transcripts
    that were written again, `lost` of those whose bytes no source gives any more.
    """

    harness: str
    sources: int
    bytes: int
    unread: int
    copies: int
    captured: int
    unchanged: int
    refused: int
    empty: int
    failed: int
    turns: int
    sub_agents: int
    private: int
    compactions: int
    unsummarized: int
    problems: tuple[tuple[str, str], ...]
    skipped: Mapping[str, int]
    restored: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def count_sessions(self) -> int:
        """Return how many sessions were found and could be read, those without a turn and removed ones included."""
        return self.captured + self.unchanged + self.refused + self.empty


def import_history(
    ws: Workspace, open_workspace: Callable[[], Workspace], import_request: ImportRequest, progress: StageProgress
) -> tuple[HistoryImport, ...]:
    """Capture every readable session of the requested harnesses. A second run changes nothing.

    `open_workspace` opens the workspace in another process and can be pickled. Damaged, foreign and removed sources
    are counted. Raise EngineMissing without google-re2, WorkspaceError if a write fails, LineageError if a process
    dies: finished captures stay, and the next run continues.
    """
    ws.build_sanitizer()  # raises EngineMissing now, not in each process
    with open_worker_pool(import_request.jobs) as pool:
        survey = survey_history(ws, import_request, pool, progress)
        groups = order_newest_first(survey.groups, import_request.newest)
        results: list[SessionImportResult] = []
        compare = partial(progress, COMPARING)
        with compare_sessions(ws, open_workspace, pool, groups, compare) as open_at_now:
            for part in split_first(groups, _FIRST, _FIRST_BYTES):
                report = partial(_report_offset, progress, len(results), len(groups))
                results += _capture_rounds(open_at_now, import_request, pool, part, report)
                if len(results) < len(groups):
                    prepare_contexts(ws)  # a session that begins meanwhile is told of the newest ones
            _link_in_order(open_at_now, pool, results)
    prepare_contexts(ws)  # the next session is told of them, before any worker has run
    return tuple(_summarize_harness(harness, survey, results) for harness in survey.harnesses)


def capture_groups(
    ws: Workspace,
    open_workspace: Callable[[], Workspace],
    import_request: ImportRequest,
    pool: WorkerPool,
    groups: Sequence[SessionSources],
) -> "list[SessionImportResult]":
    """Capture sessions, forks after their parents, and link them."""
    with compare_sessions(ws, open_workspace, pool, groups, _report_nothing) as open_at_now:
        results = _capture_rounds(open_at_now, import_request, pool, groups, _report_nothing)
        _link_in_order(open_at_now, pool, results)
    return results


def _report_nothing(*_: object) -> None:
    """Take the progress of work that nobody watches."""


def _report_offset(progress: StageProgress, before: int, total: int, done: int, _: int) -> None:
    progress(CAPTURING, before + done, total)


def _capture_rounds(
    open_workspace: Callable[[], Workspace],
    import_request: ImportRequest,
    pool: WorkerPool,
    groups: Sequence[SessionSources],
    progress: Callable[[int, int], None],
) -> "list[SessionImportResult]":
    lanes = _LANES if import_request.jobs > 1 else 1
    work = partial(_capture_in_lanes, open_workspace, import_request.agent_id, lanes)
    results: list[SessionImportResult] = []
    for round_groups in order_by_fork(groups):
        before = len(results)

        def report(done: int, _: int, before: int = before) -> None:
            progress(before + done, len(groups))

        chunk = min(_CHUNK, -(-len(round_groups) // import_request.jobs))
        results += pool.map_chunks(work, round_groups, report, chunk=chunk)
    return results


def _link_in_order(
    open_workspace: Callable[[], Workspace], pool: WorkerPool, results: "Sequence[SessionImportResult]"
) -> None:
    """Link each captured session to those before it: they were captured in the order of their files."""
    tokens = [result.token for result in results if result.status == CAPTURED]
    if len(tokens) > 1:
        pool.map_chunks(partial(_link_sessions, open_workspace), tokens, _report_nothing)


def _link_sessions(open_workspace: Callable[[], Workspace], tokens: Sequence[str]) -> list[bool]:
    with closing(open_workspace()) as ws:
        return [link_session(ws, token) for token in tokens]


@dataclass(slots=True)
class SessionImportResult:
    """The import of one session; `harness` is its first source's."""

    token: str
    harness: str
    status: str = EMPTY
    copies: int = 0
    turns: int = 0
    compactions: int = 0
    unsummarized: int = 0
    is_sub_agent: bool = False
    is_private: bool = False
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    lost: tuple[str, ...] = ()

    def update_status(self, status: str) -> None:
        """Set the status; once captured from one source, the session stays `captured`."""
        self.status = CAPTURED if self.status == CAPTURED else status

    def add_failure(self, source: ImportSource, reason: str) -> None:
        """Record a source that could not be captured; another source may still give the session."""
        self.problems.append((source.path, reason))
        if self.status == EMPTY:
            self.status = FAILED


@dataclass(frozen=True, slots=True)
class _SourceReading:
    """A source, its session, the time of its last record or else of its file, and keys of its turns."""

    source: ImportSource
    capture: Capture
    at: str
    turns: frozenset[object]

    @staticmethod
    def from_source(source: ImportSource) -> "_SourceReading":
        capture = source.read()
        turns = frozenset(
            turn.source_id or (position, turn.role, turn.name, turn.input, turn.text)
            for position, turn in enumerate(capture.turns)
        )
        return _SourceReading(source, capture, capture.ended_at or source.read_mtime(), turns)

    @property
    def extent(self) -> tuple[int, str, int, str]:
        return len(self.turns), self.at, self.source.size, self.source.path


def _capture_in_lanes(
    open_workspace: Callable[[], Workspace], agent_id: str, lanes: int, groups: Sequence[SessionSources]
) -> list[SessionImportResult]:
    """Capture sessions in several threads: while one waits for MEMORY.md, the others read and sanitize."""
    if lanes == 1 or len(groups) == 1:
        return _capture_lane(open_workspace, agent_id, groups)
    with ThreadPoolExecutor(lanes) as threads:
        capture_lane = partial(_capture_lane, open_workspace, agent_id)
        shares = threads.map(capture_lane, [groups[lane::lanes] for lane in range(lanes)])
        results = {result.token: result for share in shares for result in share}
    return [results[group.token] for group in groups]


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
    """Capture one session from its sources, and record them as imported if all of them succeeded."""
    result = SessionImportResult(group.token, group.sources[0].harness)
    readings = []
    for source in group.sources:
        try:  # read again: transcripts don't travel between processes
            readings.append(_SourceReading.from_source(source))
        except (TranscriptError, InvalidInput) as error:
            result.add_failure(source, error.message)
    distinct = _drop_copies(readings)
    result.copies = len(readings) - len(distinct)
    for reading in distinct:
        result.skipped.update(reading.capture.skipped)
        try:
            _capture_source(ws, group, reading, result)
        except RemovedError:  # removed while it was read
            result.status = REFUSED
        except (TranscriptError, InvalidInput, FormatError) as error:
            result.add_failure(reading.source, error.message)
    if not result.problems and result.status in (CAPTURED, UNCHANGED):
        for source in group.sources:
            ws.telemetry.record_import(agent_id, source.key, source.stamp, group.token)
    return result


def _drop_copies(readings: Iterable[_SourceReading]) -> list[_SourceReading]:
    """Return the readings with a turn that no longer reading has, oldest first."""
    distinct: list[_SourceReading] = []
    for reading in sorted(readings, key=lambda reading: reading.extent, reverse=True):
        if not any(reading.turns <= longer.turns for longer in distinct):
            distinct.append(reading)
    return sorted(distinct, key=lambda reading: (reading.at, reading.extent))


def _capture_source(ws: Workspace, group: SessionSources, reading: _SourceReading, result: SessionImportResult) -> None:
    """Capture the session's end, then each compaction that its source records."""
    if not reading.turns:
        return
    payload = {
        "harness": reading.source.harness,
        "session_id": group.identity.session_id,
        "agent_id": group.identity.agent_id,
        "lane": group.lane,
        "transcript_path": reading.source.path,
        "project": resolve_project(reading.capture.project),
        "captured_at": reading.at,
    }
    request = parse_request(SESSION_END, payload, agent_id=None, now=ws.now)
    found = restore_transcripts(ws, request, reading.capture)
    result.restored += found.restored
    result.lost = found.lost
    if _has_all_turns(ws, request, reading.capture):
        result.update_status(UNCHANGED)
    else:
        captured = capture_session(ws, request, reading.capture)
        result.turns += captured.turns
        if captured.status == CAPTURED:
            session = load_session(ws, request.token)
            result.is_private = session.is_private()
            result.is_sub_agent = bool(session.manifest and session.manifest.parent_session)
        result.update_status(EMPTY if captured.reason == EMPTY else captured.status)
    counts = capture_recorded_compactions(ws, payload, request.token, reading.capture, reading.at)
    result.compactions += counts.captured
    result.unsummarized += counts.unsummarized


def _has_all_turns(ws: Workspace, request: Request, capture: Capture) -> bool:
    # Without this check, a session with two branches would return to its older branch at each import.
    session = load_session(ws, request.token)
    if len(session.captures) < 2:
        return False
    source = read_source(ws, request, capture)
    paths = (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in session.captures)
    artifacts = filter(None, map(ws.documents.artifacts.get, paths))
    captured_ids = {turn_id for artifact in artifacts for turn_id in transcript.extract_turn_ids(artifact.body)}
    return bool(source.turns) and captured_ids.issuperset(turn.id for turn in source.turns)


def _summarize_harness(harness: str, survey: HistorySurvey, results: Iterable[SessionImportResult]) -> HistoryImport:
    own = [result for result in results if result.harness == harness]
    statuses = Counter(result.status for result in own)
    sources = [source for source in survey.sources if source.harness == harness]
    unchanged = [survey.unchanged[source] for source in sources if source in survey.unchanged]
    problems = [(path, reason) for of_harness, path, reason in survey.problems if of_harness == harness]
    skipped = sum((result.skipped for result in own), Counter[str]())
    return HistoryImport(
        harness=harness,
        sources=len(sources),
        bytes=sum({source.path: source.size for source in sources}.values()),  # a file may hold many sessions
        unread=len(unchanged),
        copies=sum(result.copies for result in own),
        captured=statuses[CAPTURED],
        unchanged=statuses[UNCHANGED] + len(set(unchanged) - {result.token for result in own}),
        refused=statuses[REFUSED],
        empty=statuses[EMPTY],
        failed=statuses[FAILED],
        turns=sum(result.turns for result in own),
        sub_agents=sum(result.is_sub_agent for result in own),
        private=sum(result.is_private for result in own),
        compactions=sum(result.compactions for result in own),
        unsummarized=sum(result.unsummarized for result in own),
        problems=(*problems, *(problem for result in own for problem in result.problems)),
        skipped=dict(sorted(skipped.items())),
        restored=tuple(path for result in own for path in result.restored),
        lost=tuple(path for result in own for path in result.lost),
    )
