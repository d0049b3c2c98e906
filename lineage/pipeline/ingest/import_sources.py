"""The sources of an import: files and records of earlier sessions, by session; nothing here writes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lineage import __version__
from lineage.core.base.naming import MEMORY, Identity, derive_session_token, validate_id
from lineage.core.base.progress import StageProgress
from lineage.core.base.times import from_epoch
from lineage.core.capture.capture import Capture
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness.adapters import ADAPTERS, list_history_roots
from lineage.harness.registry import HARNESSES
from lineage.pipeline.capture.restore_transcripts import find_lost_tokens
from lineage.pipeline.ingest.locate_transcript import HarnessHistories
from lineage.pipeline.ingest.worker_pool import WorkerPool
from lineage.workspace.workspace import Workspace

READING = "reading"
COMPARING = "comparing"
CAPTURING = "capturing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """The scope of an import. `paths` replace the harnesses' histories; at most `jobs` processes, `newest` sessions.

    `with_prompts` brings the prompts of sessions that a harness has deleted, too.
    """

    harnesses: tuple[str, ...]
    agent_id: str
    histories: HarnessHistories
    paths: tuple[Path, ...] = ()
    jobs: int = 1
    with_prompts: bool = True
    newest: int | None = None

    def list_places(self, harness: str) -> list[Path]:
        """Return the existing files and folders to search, as absolute paths."""
        roots = list(self.paths or list_history_roots(harness, self.histories.home, self.histories.environment))
        if self.with_prompts and not self.paths and (name := HARNESSES[harness].prompt_history):
            roots += [root.with_name(name) for root in roots]
        return [path for path in map(Path.absolute, roots) if is_there(path)]


@dataclass(frozen=True, slots=True, order=True)
class ImportSource:
    """A source of one session before it was read.

    `session` names it in a file of many sessions, else "". `size` is the file's, in bytes; `stamp` changes with the
    file and with lineage's version.
    """

    harness: str
    path: str
    session: str
    size: int
    stamp: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the key of the source in the record of imports."""
        return self.harness, self.path, self.session

    def read(self) -> Capture:
        """Return the parsed session. Raise TranscriptError or InvalidInput, as adapters do."""
        try:
            self.path.encode()  # file systems allow names that no JSON or database can hold
        except UnicodeEncodeError as error:
            raise TranscriptError("the name of the file is not UTF-8", hint="give the file another name") from error
        return ADAPTERS[self.harness].read(Path(self.path), self.session or None)

    def read_mtime(self) -> str:
        """Return the time of the file's last write, canonical UTC. Raise TranscriptError if it is unknown."""
        try:
            return from_epoch(Path(self.path).stat().st_mtime)
        except (OSError, ValueError, OverflowError, InvalidInput) as error:
            raise TranscriptError(f"no time is known of {self.path}") from error


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """The identity of a source's session, or the `problem` of an unreadable one."""

    source: ImportSource
    session_id: str = ""
    forked_from: str | None = None
    parent_session: str | None = None
    ended_at: str | None = None
    lane: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SessionSources:
    """The sources of one session in a fixed order. `parents`: tokens of those that forked or started it.

    `ended_at` is the time of its last record, canonical UTC, "" if none is known.
    """

    identity: Identity
    lane: str | None
    parents: frozenset[str]
    sources: tuple[ImportSource, ...]
    ended_at: str = ""

    @property
    def token(self) -> str:
        """The session's token."""
        return self.identity.token


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySurvey:
    """All sources of an import.

    `unchanged` maps sources without a change since their import to session tokens; they were not read. `problems` are
    (harness, path, reason).
    """

    harnesses: tuple[str, ...]
    sources: tuple[ImportSource, ...]
    unchanged: Mapping[ImportSource, str]
    groups: tuple[SessionSources, ...]
    problems: tuple[tuple[str, str, str], ...] = field(default=())


def _list_present(import_request: ImportRequest) -> tuple[str, ...]:
    """Return the requested harness, even without a history; of several, those with one."""
    names = import_request.harnesses
    return names if len(names) == 1 else tuple(name for name in names if import_request.list_places(name))


def survey_history(
    ws: Workspace, import_request: ImportRequest, pool: WorkerPool, progress: StageProgress
) -> HistorySurvey:
    """Find every source and read the new and changed ones."""
    sources = tuple(_find_sources(import_request))
    imports, unchanged = ws.telemetry.list_imports(import_request.agent_id), {}
    lost = find_lost_tokens(entry.key for entry in ws.documents.store.list(MEMORY)) if imports else set[str]()
    for source in sources:  # unchanged: imported in their present state into sessions that exist, and have their files
        stamp, token = imports.get(source.key, ("", ""))
        if (
            stamp == source.stamp
            and token not in lost
            and ws.documents.claims.has(token)
            and not ws.documents.tombstones.has(token)
        ):
            unchanged[source] = token
    changed = [source for source in sources if source not in unchanged]
    read = pool.map_chunks(summarize_sources, changed, lambda done, total: progress(READING, done, total))
    agent_id = import_request.agent_id
    summaries = [
        replace(one, lane=find_lane(ws, agent_id, one.session_id, one.lane)) if one.lane else one for one in read
    ]
    return HistorySurvey(
        harnesses=_list_present(import_request),
        sources=sources,
        unchanged=unchanged,
        groups=tuple(group_by_session(agent_id, summaries)),
        problems=tuple((s.source.harness, s.source.path, s.problem) for s in summaries if s.problem is not None),
    )


def is_there(path: Path) -> bool:
    """Return whether this process can see a file or folder of that name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _find_sources(import_request: ImportRequest) -> Iterator[ImportSource]:
    """Yield every source once, in order, however many places hold it."""
    keys = {
        (harness, str(item.path), item.session or "")
        for harness in import_request.harnesses
        for place in import_request.list_places(harness)
        for item in ADAPTERS[harness].discover(place)
    }
    for harness, path, session in sorted(keys):
        size, stamp = _read_state(path)
        yield ImportSource(harness, path, session, size, stamp)


def _read_state(path: str) -> tuple[int, str]:
    """Return a file's size and stamp."""
    states = []
    for name in (path, f"{path}-wal"):  # the newest records of an SQLite database are in its write-ahead log
        try:
            status = Path(name).stat()
        except (OSError, ValueError):
            continue
        states.append((status.st_size, status.st_mtime_ns))
    return sum(size for size, _ in states), " ".join([__version__, *(f"{size}-{mtime}" for size, mtime in states)])


def summarize_sources(sources: Sequence[ImportSource]) -> list[SourceSummary]:
    """Read each source's identity. A session without an id goes by its file's name."""
    summaries = []
    for source in sources:
        try:
            capture = source.read()
            session_id = validate_id("session_id", capture.session_id or source.session or Path(source.path).stem)
            ties = capture.forked_from, capture.parent_session
            summaries.append(SourceSummary(source, session_id, *ties, capture.ended_at, capture.lane))
        except (TranscriptError, InvalidInput) as error:
            summaries.append(SourceSummary(source, problem=error.message))
    return summaries


def group_by_session(agent_id: str, summaries: Iterable[SourceSummary]) -> list[SessionSources]:
    """Return the readable sources by session, in the order of each session's first one."""
    by_identity: dict[Identity, list[SourceSummary]] = {}
    for summary in sorted((s for s in summaries if s.problem is None), key=lambda s: s.source):
        by_identity.setdefault(Identity.in_lane(agent_id, summary.session_id, summary.lane), []).append(summary)
    tokens = {identity.session_id: identity.token for identity in by_identity}
    groups = []
    for identity, own in by_identity.items():
        ties = {tie for summary in own for tie in (summary.forked_from, summary.parent_session) if tie}
        parents = frozenset(tokens.get(tie) or derive_session_token(agent_id, tie) for tie in ties) - {identity.token}
        sources, ended_at = tuple(summary.source for summary in own), max(summary.ended_at or "" for summary in own)
        groups.append(SessionSources(identity, own[0].lane, parents, sources, ended_at))
    return groups


def find_lane(ws: Workspace, agent_id: str, session_id: str, lane: str | None) -> str | None:
    """Return the known lane of a session: none if it was captured without its lane."""
    has = ws.documents.claims.has
    is_known_without = has(Identity(agent_id, session_id).token)
    return None if is_known_without and not has(Identity.in_lane(agent_id, session_id, lane).token) else lane


def order_by_fork(groups: Iterable[SessionSources]) -> Iterator[list[SessionSources]]:
    """Yield the groups in rounds, parents before forks and sub-agents.

    A turn of both belongs to the first session captured, and a sub-agent takes its parent's project.
    """
    remaining = {group.token: group for group in groups}
    while remaining:
        # Sessions forked from each other would wait for ever: they come last, together.
        groups = list(remaining.values())
        ready = [group for group in groups if group.parents.isdisjoint(remaining)] or groups
        yield ready
        for group in ready:
            del remaining[group.token]


def order_newest_first(groups: Iterable[SessionSources], limit: int | None = None) -> list[SessionSources]:
    """Return the newest groups, each behind its parents; of equal times in the order of their tokens.

    A parent is a part of what its fork needs, so a limit does not leave it out.
    """
    by_token = {group.token: group for group in groups}
    newest = sorted(by_token.values(), key=lambda group: (group.ended_at, group.token), reverse=True)
    ordered: dict[str, SessionSources] = {}
    for group in newest[:limit]:
        for token in reversed(_list_ancestry(group, by_token)):
            ordered.setdefault(token, by_token[token])
    return list(ordered.values())


def _list_ancestry(group: SessionSources, by_token: Mapping[str, SessionSources]) -> list[str]:
    """Return the tokens of a group and of all that it descends from, the nearest first; a circle ends the walk."""
    found, waiting = dict.fromkeys([group.token]), [group]
    while waiting:
        parents = sorted(waiting.pop(0).parents & by_token.keys() - found.keys())
        found.update(dict.fromkeys(parents))
        waiting += [by_token[token] for token in parents]
    return list(found)


def split_first(groups: Sequence[SessionSources], size: int, max_bytes: int) -> list[Sequence[SessionSources]]:
    """Return the first groups and the others; no parent stands in the second part that a fork of the first needs.

    The first part has at most so many groups, and no more after one at which their files reach so many bytes. A file
    of several sessions counts once.
    """
    files: dict[str, int] = {}
    for number, group in enumerate(groups[:size], start=1):
        files.update((source.path, source.size) for source in group.sources)
        if sum(files.values()) >= max_bytes:
            size = number
            break
    return [part for part in (groups[:size], groups[size:]) if part]
