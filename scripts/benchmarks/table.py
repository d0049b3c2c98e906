"""The results as one markdown table with their goals, and the machine that they belong to."""

import os
import platform
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.goals import Goals
from benchmarks.pairing import Pair, Timing

HEAD = "| what | floor (ms) | measured (ms) | ratio | peak memory | goal |\n|---|---:|---:|---:|---:|---|"


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one pair on a corpus of so many artifacts; `peak` in bytes, 0 where it is not measured; `runs`
    is how many there were to be."""

    row: str
    artifacts: int
    pair: Pair
    timing: Timing
    peak: int
    figures: Mapping[str, float]
    goals: Goals
    runs: int


def machine(runs: int) -> str:
    """The line without which no figure means anything."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {_file_system(Path(tempfile.gettempdir()))},"
        f" {platform.system()} {platform.release()}, Python {platform.python_version()},"
        f" SQLite {sqlite3.sqlite_version}; medians of {runs} runs, floor and what is measured in turn."
    )


def _processor() -> str:
    """The name that the processor gives itself, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _file_system(path: Path) -> str:
    """The kind of file system that a path lies on: where the corpora are measured."""
    found = subprocess.run(["df", "--output=fstype", str(path)], capture_output=True, text=True, check=False)
    return found.stdout.split()[-1] if found.stdout else "an unknown file system"


def rows(result: Result) -> list[str]:
    """A result's rows: the pair's own, which says so where there was no time for all runs, and, where something is
    reported apart, that."""
    pair, timing = result.pair, result.timing
    what = f"{pair.what} · {result.artifacts:,} artifacts"
    if timing.runs < result.runs:
        what += f", **of {timing.runs} runs**"
    measured = [_ms(timing.floor), _ms(timing.subject), f"{timing.ratio:.2f}", megabytes(result.peak)]
    table = [row([what, *measured, result.goals.told(result.figures, result.artifacts)])]
    if pair.apart:
        table.append(row([f"… {pair.apart}, apart", "–", _ms(timing.apart), "–", "–", "–"]))
    return table


def counted(results: Sequence[Result]) -> list[str]:
    """What was counted and not timed, a list item each."""
    return [f"- {r.pair.what} · {r.artifacts:,} artifacts: {r.pair.counted}" for r in results if r.pair.counted]


def missed(results: Sequence[Result], known: Iterable[str]) -> list[str]:
    """Every row with a goal that was judged and is missed, with what is in the way, and every known row that there is
    no figure of, a list item each; one that says so where there is none."""
    found = [
        f"- {r.row} · {r.artifacts:,} artifacts: {'; '.join(goals)}{_told_why(r.goals)}"
        for r in results
        if (goals := r.goals.missed(r.figures, r.artifacts))
    ]
    found += [f"- {name}: **not measured**" for name in sorted(set(known).difference(r.row for r in results))]
    return found or ["- no goal that was judged is missed"]


def _told_why(goals: Goals) -> str:
    return f". In the way: {goals.in_the_way}" if goals.in_the_way else ""


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def megabytes(size: int) -> str:
    """So many bytes as it is printed; a dash where nothing was measured."""
    return f"{size / 1_000_000:.0f} MB" if size else "–"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.2f}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"
