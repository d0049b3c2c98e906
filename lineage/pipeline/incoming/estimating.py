"""What an import would find, and about how long it would take: measured on a few of the sessions, not guessed.

A sample goes the whole way into a workspace that is thrown away, in as many processes as the import would use. How fast
machine and disk are, and what the rules cost on such texts, is in what that took.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lineage.pipeline.house import House
from lineage.pipeline.incoming.history import Group, Origin, Progress, Survey, Wanted, surveyed
from lineage.pipeline.incoming.importing import problems_of, take
from lineage.pipeline.incoming.parallel import Workers, workers

_SAMPLE = 16  # sessions of each process
_MOST_BYTES = 4_000_000  # of a session in the sample
_SESSION_BYTES = 100_000  # what a session costs however short it is, as much as so many bytes do
_BYTES_PER_SECOND = 2_000_000  # of one process, where there is nothing to measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What an import would find in one harness's history. `known` sessions are in the workspace already, which may lack
    their newest turns; `bytes` are those of all `sources`, `unread` are the sources that would not be read again."""

    harness: str
    sources: int
    unread: int
    sessions: int
    known: int
    empty: int
    turns: int
    bytes: int
    problems: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """`seconds` is about how long an import would take."""

    harnesses: tuple[Expected, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A workspace that is thrown away: `opened` opens it, in another process too, and can be pickled. `clock` gives
    seconds."""

    opened: Callable[[], House]
    clock: Callable[[], float]


def estimate(house: House | None, wanted: Wanted, progress: Progress, trial: Trial) -> Estimate:
    """What an import would do; nothing is written but the trial. `house` is None for a workspace that is not there
    yet."""
    began = trial.clock()
    with workers(wanted.jobs) as pool:
        survey = surveyed(house, wanted, pool, progress)
        reading = trial.clock() - began
        work = _work(survey)
        seconds = reading + _capturing(trial, wanted, pool, work) if work else 0.0
    return Estimate(tuple(_expected(house, harness, survey) for harness in survey.harnesses), seconds)


def _work(survey: Survey) -> list[tuple[int, Group]]:
    """The sessions that hold something, with what each costs, the lightest first."""
    sharing = Counter(origin.path for origin in survey.origins)
    todo = (group for group in survey.groups if _longest(group))
    found = [(_SESSION_BYTES + sum(_sizes(sharing, group.origins)), group) for group in todo]
    return sorted(found, key=lambda one: (one[0], one[1].token))


def _capturing(trial: Trial, wanted: Wanted, pool: Workers, work: Sequence[tuple[int, Group]]) -> float:
    """The seconds that the capturing would take. The first half of the sample takes what processes need to begin, too;
    the second tells how fast they go then."""
    sample = _sample(work, _SAMPLE * wanted.jobs)
    first, second = sample[::2], sample[1::2]
    left = sum(cost for cost, _ in work) - sum(cost for cost, _ in sample)
    if not second:
        return sum(cost for cost, _ in work) / _BYTES_PER_SECOND / wanted.jobs
    begun, going = (_timed(trial, wanted, pool, [group for _, group in half]) for half in (first, second))
    return begun + going + left * going / sum(cost for cost, _ in second)


def _sample(work: Sequence[tuple[int, Group]], most: int) -> list[tuple[int, Group]]:
    """Sessions of all sizes, evenly chosen; none that would keep who asks waiting."""
    short = [one for one in work if one[0] <= _MOST_BYTES]
    count = min(most, len(short))
    return [short[(2 * place + 1) * len(short) // (2 * count)] for place in range(count)]


def _timed(trial: Trial, wanted: Wanted, pool: Workers, groups: Sequence[Group]) -> float:
    began = trial.clock()
    take(trial.opened, wanted, pool, groups, lambda done, total: None)
    return trial.clock() - began


def _expected(house: House | None, harness: str, survey: Survey) -> Expected:
    origins = [origin for origin in survey.origins if origin.harness == harness]
    groups = [group for group in survey.groups if group.origins[0].harness == harness]
    unread = {survey.unchanged[origin] for origin in origins if origin in survey.unchanged}
    tokens = {group.token for group in groups if _longest(group)} | unread
    return Expected(
        harness=harness,
        sources=len(origins),
        unread=sum(origin in survey.unchanged for origin in origins),
        sessions=len(tokens),
        known=sum(house.canon.claims.has(token) for token in tokens) if house else 0,
        empty=sum(not _longest(group) for group in groups),
        turns=sum(map(_longest, groups)),
        bytes=sum(_sizes(Counter(origin.path for origin in survey.origins), origins)),
        problems=tuple(problems_of(harness, survey)),
    )


def _longest(group: Group) -> int:
    return max(sighting.turns for sighting in group.sightings)


def _sizes(sharing: Counter[str], chosen: Iterable[Origin]) -> list[int]:
    """The size of each chosen source; a file that holds many sessions is shared out among them."""
    return [origin.size // sharing[origin.path] for origin in chosen]
