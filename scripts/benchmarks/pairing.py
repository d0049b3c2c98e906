"""Floor and subject in turn, and the medians of both."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A floor and what is measured against it; both have the same result.

    Where `apart` has a name, `subject` gives back the seconds that are reported under it. `peak` measures the subject's
    memory in bytes, where it does not run in process. `counted` is work that was counted, not timed.
    """

    what: str
    floor: Callable[[], object]
    subject: Callable[[], object]
    apart: str = ""
    peak: Callable[[], int] | None = None
    counted: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Medians in seconds; `subject` is without what is reported `apart`."""

    floor: float
    subject: float
    apart: float


def timed(pair: Pair, runs: int) -> Timing:
    """Runs both `runs` times, each first in every other run, after one run of each that does not count."""
    floors, subjects, aparts = [], [], []
    for number in range(runs + 1):
        if number % 2:
            (floor, _), (whole, apart) = _seconds(pair.floor), _seconds(pair.subject)
        else:
            (whole, apart), (floor, _) = _seconds(pair.subject), _seconds(pair.floor)
        if number:
            floors.append(floor)
            subjects.append(whole - apart)
            aparts.append(apart)
    return Timing(median(floors), median(subjects), median(aparts))


def _seconds(action: Callable[[], object]) -> tuple[float, float]:
    """How long it took, and what of it the action itself reports apart."""
    gc.collect()
    start = perf_counter()
    apart = action()
    return perf_counter() - start, apart if isinstance(apart, float) else 0.0
