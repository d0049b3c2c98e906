"""Backfill: the sessions that harnesses kept before lineage was there. (format: Captures, Times; lessons 37)

observe (`history.surveyed`) → plan (`history.grouped`) → apply: each session goes through the two flows that live ones
go through, under the time of its last record, so that importing again, elsewhere or with other processes gives the same
files. What was imported and has not changed since is not read again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lineage.core import naming, transcript
from lineage.core.capture import Capture
from lineage.core.request import SESSION_END, Request, request
from lineage.errors import FormatError, InvalidInput, RemovedError, TranscriptError
from lineage.harness.projects import project_of
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture import source as sources
from lineage.pipeline.capture.recorded import keep_recorded
from lineage.pipeline.capture.session_end import EMPTY, session_end
from lineage.pipeline.house import CAPTURED, REFUSED, UNCHANGED, House
from lineage.pipeline.incoming.history import CAPTURING, Group, Origin, Progress, Survey, Wanted, generations, surveyed
from lineage.pipeline.incoming.parallel import Workers, workers

FAILED = "failed"

_LANES = 4  # sessions that a process works on at once
_CHUNK = 4 * _LANES


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
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
    house: House, opened: Callable[[], House], wanted: Wanted, progress: Progress
) -> tuple[Imported, ...]:
    """Captures every session of the wanted harnesses that can be read; again changes nothing.

    `opened` opens the house in another process and can be pickled. Sources that are damaged, foreign or of a removed
    session are counted. Raises EngineMissing, WorkspaceError where a write fails, LineageError where a process dies:
    what was captured until then stays, and the next run goes on from there.
    """
    house.sanitizer()
    with workers(wanted.jobs) as pool:
        survey = surveyed(house, wanted, pool, progress)
        taken = take(partial(_at, opened, house.now), wanted, pool, survey.groups, partial(progress, CAPTURING))
    return tuple(_imported(harness, survey, taken) for harness in survey.harnesses)


def take(
    opened: Callable[[], House],
    wanted: Wanted,
    pool: Workers,
    groups: Sequence[Group],
    progress: Callable[[int, int], None],
) -> "list[Taken]":
    """Captures sessions, those that were forked from others after these. `progress` is told how many of how many are
    done."""
    work = partial(_taken, opened, wanted.agent_id, _LANES if wanted.jobs > 1 else 1)
    taken: list[Taken] = []
    for born in generations(groups):
        done = partial(_counted, progress, len(taken), len(groups))
        taken += pool.each(work, born, done, chunk=min(_CHUNK, -(-len(born) // wanted.jobs)))
    return taken


def _counted(progress: Callable[[int, int], None], before: int, total: int, done: int, _: int) -> None:
    progress(before + done, total)


def _at(opened: Callable[[], House], now: str) -> House:
    return opened()._replace(now=now)


@dataclass(slots=True)
class Taken:
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

    def settle(self, status: str) -> None:
        """Of several sources the one that added something says what became of the session."""
        self.status = CAPTURED if self.status == CAPTURED else status


@dataclass(frozen=True, slots=True)
class _Reading:
    """A source with its session. `at` is the time of the last record, else the file's. `turns` tells the turns apart,
    by the harness's ids, else by place and content."""

    origin: Origin
    capture: Capture
    at: str
    turns: frozenset[object]

    @staticmethod
    def of(origin: Origin) -> "_Reading":
        capture = origin.read()
        turns = frozenset(
            turn.source_id or (place, turn.role, turn.name, turn.input, turn.text)
            for place, turn in enumerate(capture.turns)
        )
        return _Reading(origin, capture, capture.ended_at or origin.written_at(), turns)

    @property
    def extent(self) -> tuple[int, str, int, str]:
        return len(self.turns), self.at, self.origin.size, self.origin.path


def _taken(opened: Callable[[], House], agent_id: str, lanes: int, groups: Sequence[Group]) -> list[Taken]:
    """Captures sessions, in several lanes side by side: while one waits for MEMORY.md the others read and redact, and
    one render takes in all that wait."""
    if lanes == 1 or len(groups) == 1:
        return _lane(opened, agent_id, groups)
    with ThreadPoolExecutor(lanes) as threads:
        shares = threads.map(partial(_lane, opened, agent_id), [groups[lane::lanes] for lane in range(lanes)])
        taken = {one.token: one for share in shares for one in share}
    return [taken[group.token] for group in groups]


def _lane(opened: Callable[[], House], agent_id: str, groups: Sequence[Group]) -> list[Taken]:
    if not groups:
        return []
    house = opened()
    try:
        return [_take(house, agent_id, group) for group in groups]
    finally:
        house.close()


def _take(house: House, agent_id: str, group: Group) -> Taken:
    """Captures one session. Its sources are noted as imported once all of them went through."""
    done = Taken(group.token, group.origins[0].harness)
    readings = _readings(group, done)
    chosen = _without_copies(readings)
    done.copies = len(readings) - len(chosen)
    for reading in chosen:
        _attempt(house, agent_id, group, reading, done)
    if not done.problems and done.status in (CAPTURED, UNCHANGED):
        for origin in group.origins:
            house.telemetry.note_imported(agent_id, origin.key, origin.stamp, group.token)
    return done


def _readings(group: Group, done: Taken) -> list[_Reading]:
    """The group's sources, read again: what they hold does not travel between processes."""
    found = []
    for origin in group.origins:
        try:
            found.append(_Reading.of(origin))
        except (TranscriptError, InvalidInput) as error:
            _fail(done, origin, error.message)
    return found


def _without_copies(readings: Iterable[_Reading]) -> list[_Reading]:
    """Those that hold a turn which no longer one holds, oldest first."""
    kept: list[_Reading] = []
    for reading in sorted(readings, key=lambda reading: reading.extent, reverse=True):
        if not any(reading.turns <= longer.turns for longer in kept):
            kept.append(reading)
    return sorted(kept, key=lambda reading: (reading.at, reading.extent))


def _attempt(house: House, agent_id: str, group: Group, reading: _Reading, done: Taken) -> None:
    done.skipped.update(reading.capture.skipped)
    try:
        _capture(house, _payload(agent_id, group, reading), reading, done)
    except RemovedError:
        done.status = REFUSED
    except (TranscriptError, InvalidInput, FormatError) as error:
        _fail(done, reading.origin, error.message)


def _fail(done: Taken, origin: Origin, reason: str) -> None:
    done.problems.append((origin.path, reason))
    if done.status == EMPTY:
        done.status = FAILED


def _payload(agent_id: str, group: Group, reading: _Reading) -> dict[str, Any]:
    return {
        "harness": reading.origin.harness,
        "session_id": group.session_id,
        "agent_id": agent_id,
        "transcript_path": reading.origin.path,
        "project": project_of(reading.capture.project),
        "captured_at": reading.at,
    }


def _capture(house: House, payload: Mapping[str, Any], reading: _Reading, done: Taken) -> None:
    """The session's end, then each compaction that its source records."""
    if not reading.turns:
        return
    ended = request(SESSION_END, payload, agent_id=None, now=house.now)
    if _holds_all_of(house, ended, reading.capture):
        done.settle(UNCHANGED)
    else:
        outcome = session_end(house, ended, reading.capture)
        done.turns += outcome.turns
        done.settle(EMPTY if outcome.reason == EMPTY else outcome.status)
    kept = keep_recorded(house, payload, ended.token, reading.capture, reading.at)
    done.compactions += kept.captured
    done.unsummarized += kept.unsummarized


def _holds_all_of(house: House, asked: Request, capture: Capture) -> bool:
    """Whether the session's captures hold every turn of a source already. Where a session has two lines of turns, the
    end of the older one would be taken for a return to it each time."""
    session = sessions.observed(house, asked.token)
    if len(session.captures) < 2:
        return False
    removed = house.canon.tombstones.removed_turns()
    source = sources.observed(asked, house.rules, house.settings, removed, capture, house.scratch)
    paths = (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in session.captures)
    artifacts = filter(None, map(house.canon.artifacts.get, paths))
    held = {turn for artifact in artifacts for turn in transcript.turn_ids(artifact.body)}
    return bool(source.turns) and held.issuperset(turn.id for turn in source.turns)


def _imported(harness: str, survey: Survey, taken: Iterable[Taken]) -> Imported:
    own = [one for one in taken if one.harness == harness]
    statuses = Counter(one.status for one in own)
    origins = [origin for origin in survey.origins if origin.harness == harness]
    known = {survey.unchanged[origin] for origin in origins if origin in survey.unchanged} - {one.token for one in own}
    skipped = sum((one.skipped for one in own), Counter[str]())
    return Imported(
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
        problems=(*problems_of(harness, survey), *(problem for one in own for problem in one.problems)),
        skipped=dict(sorted(skipped.items())),
    )


def problems_of(harness: str, survey: Survey) -> list[tuple[str, str]]:
    """(path, reason) of each of a harness's sources that can't be read."""
    return [(path, reason) for own, path, reason in survey.problems if own == harness]
