"""What harnesses keep of earlier sessions: every source, and the session that it belongs to.

The first two thirds of an import: observe (`surveyed`) and plan (`grouped`). Nothing here writes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lineage import __version__
from lineage.core.capture import Capture
from lineage.core.identity import checked_id, session_token
from lineage.core.times import from_epoch
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness import ADAPTERS
from lineage.pipeline.house import House
from lineage.pipeline.incoming.locating import Machine
from lineage.pipeline.incoming.parallel import Workers

READING = "reading"
CAPTURING = "capturing"

Progress = Callable[[str, int, int], None]
"""Is told the stage, how many of its items are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be imported: of which harnesses, for which agent, and from where: `paths`, else where each harness
    keeps its history on this machine. `jobs` is how many processes may work on it."""

    harnesses: tuple[str, ...]
    agent_id: str
    machine: Machine
    paths: tuple[Path, ...] = ()
    jobs: int = 1

    def places(self, harness: str) -> list[Path]:
        """The files and folders to look in, absolute; those that there are."""
        named = self.paths or ADAPTERS[harness].roots(self.machine.home, self.machine.environment)
        return [path for path in map(Path.absolute, named) if is_there(path)]


@dataclass(frozen=True, slots=True, order=True)
class Origin:
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

    def written_at(self) -> str:
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
class Sighting:
    """What a source says of itself: its session, the number of its turns and the session that it was forked from, or
    why it cannot be read."""

    origin: Origin
    session_id: str = ""
    turns: int = 0
    forked_from: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The sources of one session, in a fixed order; `parent` is the token of the session that it was forked from."""

    token: str
    session_id: str
    parent: str | None
    sightings: tuple[Sighting, ...]

    @property
    def origins(self) -> tuple[Origin, ...]:
        return tuple(sighting.origin for sighting in self.sightings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What there is. `unchanged` are the sources that lie there as the last import left them, with their sessions'
    tokens: they were not read. `problems` are (harness, path, reason)."""

    harnesses: tuple[str, ...]
    origins: tuple[Origin, ...]
    unchanged: Mapping[Origin, str]
    groups: tuple[Group, ...]
    problems: tuple[tuple[str, str, str], ...] = field(default=())


def count_sources(wanted: Wanted) -> tuple[SourceCount, ...]:
    """Count what an import would look at; nothing is read."""
    origins = list(_found(wanted))
    return tuple(_count(name, [origin for origin in origins if origin.harness == name]) for name in _present(wanted))


def _count(harness: str, origins: Sequence[Origin]) -> SourceCount:
    sizes = {origin.path: origin.size for origin in origins}  # a file may hold many sessions
    return SourceCount(harness, len(origins), sum(sizes.values()))


def _present(wanted: Wanted) -> tuple[str, ...]:
    """The wanted harnesses; of all of them, those that keep something here."""
    is_all = len(wanted.harnesses) > 1
    return tuple(name for name in wanted.harnesses if not is_all or wanted.places(name))


def surveyed(house: House, wanted: Wanted, workers: Workers, progress: Progress) -> Survey:
    """Finds every source and reads those that are new or changed."""
    origins = tuple(_found(wanted))
    unchanged = _unchanged(house, wanted.agent_id, origins)
    read = [origin for origin in origins if origin not in unchanged]
    sightings = workers.each(sighted, read, lambda done, total: progress(READING, done, total))
    return Survey(
        harnesses=_present(wanted),
        origins=origins,
        unchanged=unchanged,
        groups=tuple(grouped(wanted.agent_id, sightings)),
        problems=tuple((s.origin.harness, s.origin.path, s.problem) for s in sightings if s.problem is not None),
    )


def is_there(path: Path) -> bool:
    """Whether there is a file or folder that this process can see."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _found(wanted: Wanted) -> Iterator[Origin]:
    """Every source once, however many of the places hold it."""
    found = {
        (harness, str(item.path), item.session or "")
        for harness in wanted.harnesses
        for place in wanted.places(harness)
        for item in ADAPTERS[harness].found(place)
    }
    for harness, path, session in sorted(found):
        size, stamp = _state(path)
        yield Origin(harness, path, session, size, stamp)


def _state(path: str) -> tuple[int, str]:
    """A file's size and stamp. What a database has not taken in yet lies beside it."""
    states = []
    for name in (path, f"{path}-wal"):
        try:
            status = Path(name).stat()
        except (OSError, ValueError):
            continue
        states.append((status.st_size, status.st_mtime_ns))
    return sum(size for size, _ in states), " ".join([__version__, *(f"{size}-{mtime}" for size, mtime in states)])


def _unchanged(house: House, agent_id: str, origins: Iterable[Origin]) -> dict[Origin, str]:
    """The sources that were imported as they are now, into sessions that are still there."""
    known = house.telemetry.imported(agent_id)
    found = {}
    for origin in origins:
        stamp, token = known.get(origin.key, ("", ""))
        if stamp == origin.stamp and house.canon.claims.has(token) and not house.canon.tombstones.has(token):
            found[origin] = token
    return found


def sighted(origins: Sequence[Origin]) -> list[Sighting]:
    """What each source says of itself. A session without an id of its own goes by its file's name."""
    return [_sighted(origin) for origin in origins]


def _sighted(origin: Origin) -> Sighting:
    try:
        capture = origin.read()
        session_id = checked_id("session_id", capture.session_id or origin.session or Path(origin.path).stem)
    except (TranscriptError, InvalidInput) as error:
        return Sighting(origin, problem=error.message)
    return Sighting(origin, session_id, len(capture.turns), capture.forked_from)


def grouped(agent_id: str, sightings: Iterable[Sighting]) -> list[Group]:
    """The readable sources by session, in the order of each session's first one."""
    groups: dict[str, list[Sighting]] = {}
    for sighting in sorted((s for s in sightings if s.problem is None), key=lambda s: s.origin):
        groups.setdefault(session_token(agent_id, sighting.session_id), []).append(sighting)
    return [_group(agent_id, token, group) for token, group in groups.items()]


def _group(agent_id: str, token: str, sightings: Sequence[Sighting]) -> Group:
    forked_from = next(filter(None, (sighting.forked_from for sighting in sightings)), None)
    parent = session_token(agent_id, forked_from) if forked_from else None
    return Group(token, sightings[0].session_id, parent, tuple(sightings))


def generations(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """The groups in rounds: a fork comes after the session it was forked from, for a turn that both hold belongs to the
    first of them. Those that are forked from each other come last, together."""
    left = {group.token: group for group in groups}
    while left:
        born = [group for group in left.values() if group.parent not in left] or list(left.values())
        yield born
        for group in born:
            del left[group.token]
