"""What harnesses keep of earlier sessions: every source, and the session that it belongs to.

The first two thirds of an import: observe (`surveyed`) and plan (`grouped`). Nothing here writes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lineage import __version__
from lineage.core.base.identity import derive_session_token, validate_id
from lineage.core.base.times import from_epoch
from lineage.core.capture.capture import Capture
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness import ADAPTERS
from lineage.pipeline.ingest.locate_transcript import HarnessHistories
from lineage.pipeline.ingest.worker_pool import WorkerPool
from lineage.workspace.workspace import Workspace

READING = "reading"
CAPTURING = "capturing"

StageProgress = Callable[[str, int, int], None]
"""Is told the stage, how many of its items are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is to be imported: of which harnesses, for which agent, and from where: `paths`, else where each harness
    keeps its history on this machine. `jobs` is how many processes may work on it."""

    harnesses: tuple[str, ...]
    agent_id: str
    histories: HarnessHistories
    paths: tuple[Path, ...] = ()
    jobs: int = 1

    def list_places(self, harness: str) -> list[Path]:
        """The files and folders to look in, absolute; those that there are."""
        named = self.paths or ADAPTERS[harness].list_roots(self.histories.home, self.histories.environment)
        return [path for path in map(Path.absolute, named) if is_there(path)]


@dataclass(frozen=True, slots=True, order=True)
class ImportSource:
    """A source of one session as it lay there before it was read: `session` names it where a file holds many. `size` is
    the file's, in bytes; `stamp` is another one whenever the file, or the program that reads it, is."""

    harness: str
    path: str
    session: str
    size: int
    stamp: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.harness, self.path, self.session

    def read(self) -> Capture:
        """The session. Raises TranscriptError and InvalidInput, as adapters do."""
        try:
            self.path.encode()
        except UnicodeEncodeError as error:
            raise TranscriptError("the name of the file is not UTF-8", hint="give the file another name") from error
        return ADAPTERS[self.harness].read(Path(self.path), self.session or None)

    def read_mtime(self) -> str:
        """When the file was last written to. Raises TranscriptError where that cannot be told."""
        try:
            return from_epoch(Path(self.path).stat().st_mtime)
        except (OSError, ValueError, OverflowError, InvalidInput) as error:
            raise TranscriptError(f"no time is known of {self.path}") from error


@dataclass(frozen=True, slots=True)
class SourceCount:
    """The number of a harness's sources, and the bytes of their files."""

    harness: str
    sources: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """What a source says of itself: its session, the number of its turns and the session that it was forked from, or
    why it cannot be read."""

    source: ImportSource
    session_id: str = ""
    turns: int = 0
    forked_from: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SessionSources:
    """The sources of one session, in a fixed order; `parent` is the token of the session that it was forked from."""

    token: str
    session_id: str
    parent: str | None
    summaries: tuple[SourceSummary, ...]

    @property
    def sources(self) -> tuple[ImportSource, ...]:
        return tuple(sighting.source for sighting in self.summaries)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySurvey:
    """What there is. `unchanged` are the sources that lie there as the last import left them, with their sessions'
    tokens: they were not read. `problems` are (harness, path, reason)."""

    harnesses: tuple[str, ...]
    sources: tuple[ImportSource, ...]
    unchanged: Mapping[ImportSource, str]
    groups: tuple[SessionSources, ...]
    problems: tuple[tuple[str, str, str], ...] = field(default=())


def count_sources(wanted: ImportRequest) -> tuple[SourceCount, ...]:
    """Count what an import would look at; nothing is read."""
    origins = list(_find_sources(wanted))
    return tuple(_count(name, [origin for origin in origins if origin.harness == name]) for name in _present(wanted))


def _count(harness: str, origins: Sequence[ImportSource]) -> SourceCount:
    sizes = {origin.path: origin.size for origin in origins}  # a file may hold many sessions
    return SourceCount(harness, len(origins), sum(sizes.values()))


def _present(wanted: ImportRequest) -> tuple[str, ...]:
    """The wanted harnesses; of all of them, those that keep something here."""
    is_all = len(wanted.harnesses) > 1
    return tuple(name for name in wanted.harnesses if not is_all or wanted.list_places(name))


def survey_history(
    ws: Workspace, import_request: ImportRequest, pool: WorkerPool, progress: StageProgress
) -> HistorySurvey:
    """Finds every source and reads those that are new or changed."""
    origins = tuple(_find_sources(import_request))
    unchanged = _find_unchanged(ws, import_request.agent_id, origins)
    read = [origin for origin in origins if origin not in unchanged]
    sightings = pool.map_chunks(summarize_sources, read, lambda done, total: progress(READING, done, total))
    return HistorySurvey(
        harnesses=_present(import_request),
        sources=origins,
        unchanged=unchanged,
        groups=tuple(group_by_session(import_request.agent_id, sightings)),
        problems=tuple((s.source.harness, s.source.path, s.problem) for s in sightings if s.problem is not None),
    )


def is_there(path: Path) -> bool:
    """Whether there is a file or folder that this process can see."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _find_sources(import_request: ImportRequest) -> Iterator[ImportSource]:
    """Every source once, however many of the places hold it."""
    found = {
        (harness, str(item.path), item.session or "")
        for harness in import_request.harnesses
        for place in import_request.list_places(harness)
        for item in ADAPTERS[harness].discover(place)
    }
    for harness, path, session in sorted(found):
        size, stamp = _read_state(path)
        yield ImportSource(harness, path, session, size, stamp)


def _read_state(path: str) -> tuple[int, str]:
    """A file's size and stamp. What a database has not taken in yet lies beside it."""
    states = []
    for name in (path, f"{path}-wal"):
        try:
            status = Path(name).stat()
        except (OSError, ValueError):
            continue
        states.append((status.st_size, status.st_mtime_ns))
    return sum(size for size, _ in states), " ".join([__version__, *(f"{size}-{mtime}" for size, mtime in states)])


def _find_unchanged(ws: Workspace, agent_id: str, sources: Iterable[ImportSource]) -> dict[ImportSource, str]:
    """The sources that were imported as they are now, into sessions that are still there."""
    known = ws.telemetry.list_imports(agent_id)
    found = {}
    for origin in sources:
        stamp, token = known.get(origin.key, ("", ""))
        if stamp == origin.stamp and ws.documents.claims.has(token) and not ws.documents.tombstones.has(token):
            found[origin] = token
    return found


def summarize_sources(sources: Sequence[ImportSource]) -> list[SourceSummary]:
    """What each source says of itself. A session without an id of its own goes by its file's name."""
    return [_summarize_source(origin) for origin in sources]


def _summarize_source(source: ImportSource) -> SourceSummary:
    try:
        capture = source.read()
        session_id = validate_id("session_id", capture.session_id or source.session or Path(source.path).stem)
    except (TranscriptError, InvalidInput) as error:
        return SourceSummary(source, problem=error.message)
    return SourceSummary(source, session_id, len(capture.turns), capture.forked_from)


def group_by_session(agent_id: str, summaries: Iterable[SourceSummary]) -> list[SessionSources]:
    """The readable sources by session, in the order of each session's first one."""
    groups: dict[str, list[SourceSummary]] = {}
    for sighting in sorted((s for s in summaries if s.problem is None), key=lambda s: s.source):
        groups.setdefault(derive_session_token(agent_id, sighting.session_id), []).append(sighting)
    return [_build_group(agent_id, token, group) for token, group in groups.items()]


def _build_group(agent_id: str, token: str, summaries: Sequence[SourceSummary]) -> SessionSources:
    forked_from = next(filter(None, (sighting.forked_from for sighting in summaries)), None)
    parent = derive_session_token(agent_id, forked_from) if forked_from else None
    return SessionSources(token, summaries[0].session_id, parent, tuple(summaries))


def order_by_fork(groups: Iterable[SessionSources]) -> Iterator[list[SessionSources]]:
    """The groups in rounds: a fork comes after the session it was forked from, for a turn that both hold belongs to the
    first of them. Those that are forked from each other come last, together."""
    left = {group.token: group for group in groups}
    while left:
        born = [group for group in left.values() if group.parent not in left] or list(left.values())
        yield born
        for group in born:
            del left[group.token]
