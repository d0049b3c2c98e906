"""Weights that tell right from wrong: regressions with a ridge, by Newton's method.

The same weights for the same examples, on every machine.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Row = Sequence[tuple[int, float]]
"""The features of an example: number and value of each that isn't zero."""
Slope = tuple[list[float], list[list[float]]]
"""The gradient of what is maximized, and its curvature."""

_MIN_SHARE, _HUGE = 1e-3, 500.0


class Sample(NamedTuple):
    """An example, and how much it counts."""

    row: Row
    is_right: bool
    weight: float = 1.0


def regress(
    samples: Sequence[Sample], ridges: Sequence[float], steps: int, start: Sequence[float] | None = None
) -> list[float]:
    """Return the weight of each feature by which a sample is right; `ridges` has a number for each."""

    def measure(values: Sequence[float]) -> float:
        total = _measure_ridges(values, ridges)
        for row, is_right, weight in samples:
            score = _add(row, values) if is_right else -_add(row, values)
            total -= weight * (math.log1p(math.exp(-score)) if score > -_HUGE else -score)
        return total

    def derive(values: Sequence[float]) -> Slope:
        gradient, curvature = _derive_ridges(values, ridges)
        for row, is_right, weight in samples:
            likelihood = 1 / (1 + math.exp(min(_HUGE, -_add(row, values))))
            _spread(curvature, row, weight * likelihood * (1 - likelihood))
            for number, value in row:
                gradient[number] += weight * value * (is_right - likelihood)
        return gradient, curvature

    return _climb(start or [0.0] * len(ridges), measure, derive, steps)


def rank(groups: Sequence[Sequence[Sample]], ridges: Sequence[float], steps: int) -> list[float]:
    """Return the weight of each feature by which a right sample of a group, which has one, goes before its others."""

    def weigh(group: Sequence[Sample], values: Sequence[float]) -> tuple[list[float], float, float]:
        scores = [_add(row, values) for row, *_ in group]
        most = max(scores)
        odds = [math.exp(score - most) for score in scores]
        return odds, sum(odds), sum(one for one, sample in zip(odds, group, strict=True) if sample.is_right)

    def measure(values: Sequence[float]) -> float:
        weighed = [weigh(group, values) for group in groups]
        return _measure_ridges(values, ridges) + sum(math.log(right / every) for _, every, right in weighed)

    def derive(values: Sequence[float]) -> Slope:
        gradient, curvature = _derive_ridges(values, ridges)
        # The curvature of all without that of the right ones, as theirs might leave none.
        for group in groups:
            odds, every, right = weigh(group, values)
            mean = [0.0] * len(values)
            for (row, is_right, _), one in zip(group, odds, strict=True):
                _spread(curvature, row, one / every)
                for number, value in row:
                    mean[number] += value * one / every
                    gradient[number] += value * (one / right * is_right - one / every)
            _spread(curvature, list(enumerate(mean)), -1.0)
        return gradient, curvature

    return _climb([0.0] * len(ridges), measure, derive, steps)


def _climb(
    start: Sequence[float],
    measure: Callable[[Sequence[float]], float],
    derive: Callable[[Sequence[float]], Slope],
    steps: int,
) -> list[float]:
    """Return the values that are reached from `start` on. A whole step may go too far, where few are right."""
    values, reached = list(start), measure(start)
    for _ in range(steps):
        gradient, curvature = derive(values)
        change, share = _solve(curvature, gradient), 1.0
        while share > _MIN_SHARE:
            there = [value + share * step for value, step in zip(values, change, strict=True)]
            if (measured := measure(there)) >= reached:
                values, reached = there, measured
                break
            share /= 2
    return values


def _add(row: Row, values: Sequence[float]) -> float:
    return sum(value * values[number] for number, value in row)


def _spread(curvature: list[list[float]], row: Row, factor: float) -> None:
    for number, value in row:
        line = curvature[number]
        for other, further in row:
            line[other] += factor * value * further


def _measure_ridges(values: Iterable[float], ridges: Iterable[float]) -> float:
    return -sum(ridge * value * value for ridge, value in zip(ridges, values, strict=True)) / 2


def _derive_ridges(values: Sequence[float], ridges: Sequence[float]) -> Slope:
    gradient = [-ridge * value for ridge, value in zip(ridges, values, strict=True)]
    curvature = [[ridge * (row == column) for column in range(len(ridges))] for row, ridge in enumerate(ridges)]
    return gradient, curvature


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a system of linear equations whose matrix is symmetric and positive."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for pivot in range(size):
        head = rows[pivot]
        for line in rows[pivot + 1 :]:
            factor = line[pivot] / head[pivot]
            if factor:
                for column in range(pivot, size + 1):
                    line[column] -= factor * head[column]
    solution = [0.0] * size
    for pivot in range(size - 1, -1, -1):
        known = sum(rows[pivot][column] * solution[column] for column in range(pivot + 1, size))
        solution[pivot] = (rows[pivot][size] - known) / rows[pivot][pivot]
    return solution
