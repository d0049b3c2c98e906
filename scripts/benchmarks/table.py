"""The results as one markdown table, with the machine that they belong to."""

import os
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.pairing import Pair, Timing

HEAD = "| what | floor (ms) | lineage (ms) | ratio | peak memory |\n|---|---:|---:|---:|---:|"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one pair on a corpus of so many artifacts; `peak` in bytes."""

    artifacts: int
    pair: Pair
    timing: Timing
    peak: int


def machine(runs: int) -> str:
    """The line without which no figure means anything."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()},"
        f" SQLite {sqlite3.sqlite_version}; medians of {runs} runs, floor and lineage in turn."
    )


def rows(result: Result) -> list[str]:
    """A result's rows: the pair's own and, where something is reported apart, that."""
    pair, timing = result.pair, result.timing
    what = f"{pair.what} · {result.artifacts:,} artifacts"
    measured = [_ms(timing.floor), _ms(timing.subject), f"{timing.subject / timing.floor:.2f}", _mb(result.peak)]
    table = [_row([what, *measured])]
    if pair.apart:
        table.append(_row([f"… {pair.apart}, apart", "–", _ms(timing.apart), "–", "–"]))
    return table


def counted(results: Sequence[Result]) -> list[str]:
    """What was counted and not timed, a list item each."""
    return [f"- {r.pair.what} · {r.artifacts:,} artifacts: {r.pair.counted}" for r in results if r.pair.counted]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.2f}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"


def _mb(size: int) -> str:
    return f"{size / 1_000_000:.0f} MB"
