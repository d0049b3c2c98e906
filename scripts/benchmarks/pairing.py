"""Floor and subject in turn, and the medians of both."""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import linear_regression, median
from time import perf_counter

LONG = 3.0
"""Seconds. What takes so long needs no run that does not count."""

_MEGABYTE = 1_000_000

Action = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A floor and what is measured against it; both have the same result.

    Where `apart` has a name, `subject` gives back the seconds that are reported under it. `peak` measures the subject's
    memory in bytes, where it does not run in process. `counted` is work that was counted, not timed. `row` is the name
    in the table of goals, the case's where it is empty. `size` is how many bytes the subject takes in, for a rate;
    `growth` how many times larger its corpus is than the floor's, for an exponent. `figures` are asked for after the
    runs.
    """

    what: str
    floor: Action
    subject: Action
    apart: str = ""
    peak: Callable[[], int] | None = None
    counted: str = ""
    row: str = ""
    size: int = 0
    growth: float = 1.0
    figures: Callable[[], Mapping[str, float]] | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians in seconds of so many `runs`; `subject` is without what is reported `apart`."""

    floor: float
    subject: float
    apart: float
    runs: int

    @property
    def ratio(self) -> float:
        return self.subject / self.floor


@dataclass(frozen=True, slots=True)
class _Run:
    whole: float
    apart: float


def timed(pairs: Sequence[Pair], runs: int, is_late: Callable[[], bool] = lambda: False) -> list[Timing]:
    """Runs every floor and subject `runs` times, in turn and the other way round in every other round. What several
    pairs share runs once in a round. A first run of each does not count, unless it is LONG. Once it `is_late` no round
    begins but the first that counts."""
    actions = list({id(action): action for pair in pairs for action in (pair.floor, pair.subject)}.values())
    taken: dict[int, list[_Run]] = {id(action): [] for action in actions}
    for number in range(runs + 1):
        if all(taken.values()) and is_late():
            break
        for action in actions if number % 2 else reversed(actions):
            done = taken[id(action)]
            if len(done) < runs:
                run = _run(action)
                if number or run.whole >= LONG:
                    done.append(run)
    return [_timing(taken[id(pair.floor)], taken[id(pair.subject)]) for pair in pairs]


def figures_of(pair: Pair, timing: Timing, peak: int) -> dict[str, float]:
    """What a goal may be about; `peak` in bytes."""
    return {
        "ratio": timing.ratio,
        "speedup": timing.floor / timing.subject,
        "beyond_ms": (timing.subject - timing.floor) * 1000,
        "peak_mb": peak / _MEGABYTE,
        "rate_mb": pair.size / _MEGABYTE / (timing.subject + timing.apart),
        **({"exponent": exponent([(1, timing.floor), (pair.growth, timing.subject)])} if pair.growth > 1 else {}),
        **(pair.figures() if pair.figures else {}),
    }


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of costs over sizes where both are logarithms: 1 for a cost that grows as the corpus does, 0 for one
    that does not, by least squares. Raises StatisticsError for fewer than two sizes."""
    return linear_regression([log(size) for size, _ in points], [log(cost) for _, cost in points]).slope


def _run(action: Action) -> _Run:
    """How long it took, and what of it the action itself reports apart."""
    gc.collect()
    start = perf_counter()
    apart = action()
    return _Run(perf_counter() - start, apart if isinstance(apart, float) else 0.0)


def _timing(floors: Sequence[_Run], subjects: Sequence[_Run]) -> Timing:
    return Timing(
        median(run.whole for run in floors),
        median(run.whole - run.apart for run in subjects),
        median(run.apart for run in subjects),
        min(len(floors), len(subjects)),
    )
