"""The results as one markdown table with their goals, and the machine that they belong to."""

import os
import platform
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.goals import Goals
from benchmarks.pairing import Pair, Timing

HEAD = "| what | floor (ms) | measured (ms) | ratio | peak memory | goal |\n|---|---:|---:|---:|---:|---|"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one pair on a corpus of so many artifacts; `peak` in bytes, 0 where it is not measured."""

    row: str
    artifacts: int
    pair: Pair
    timing: Timing
    peak: int
    figures: Mapping[str, float]
    goals: Goals


def machine(runs: int) -> str:
    """The line without which no figure means anything."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()},"
        f" SQLite {sqlite3.sqlite_version}; medians of {runs} runs, floor and what is measured in turn."
    )


def rows(result: Result) -> list[str]:
    """A result's rows: the pair's own and, where something is reported apart, that."""
    pair, timing = result.pair, result.timing
    what = f"{pair.what} · {result.artifacts:,} artifacts"
    measured = [_ms(timing.floor), _ms(timing.subject), f"{timing.ratio:.2f}", _mb(result.peak)]
    table = [row([what, *measured, result.goals.told(result.figures, result.artifacts)])]
    if pair.apart:
        table.append(row([f"… {pair.apart}, apart", "–", _ms(timing.apart), "–", "–", "–"]))
    return table


def counted(results: Sequence[Result]) -> list[str]:
    """What was counted and not timed, a list item each."""
    return [f"- {r.pair.what} · {r.artifacts:,} artifacts: {r.pair.counted}" for r in results if r.pair.counted]


def missed(results: Sequence[Result], known: Iterable[str]) -> list[str]:
    """Every goal that was judged and is missed, and every known row that there is no figure of, a list item each; one
    that says so where there is none."""
    found = [
        f"- {r.row} · {r.artifacts:,} artifacts: {goal}"
        for r in results
        for goal in r.goals.missed(r.figures, r.artifacts)
    ]
    found += [f"- {name}: **not measured**" for name in sorted(set(known).difference(r.row for r in results))]
    return found or ["- no goal that was judged is missed"]


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.2f}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"


def _mb(size: int) -> str:
    return f"{size / 1_000_000:.0f} MB" if size else "–"
