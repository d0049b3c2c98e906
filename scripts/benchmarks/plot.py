"""Each cost against the size of the corpus, on logarithmic axes: `growth.png` and `growth.svg`.

matplotlib brings numpy, beside which sqlite-utils takes longer to import: it lives in an environment of the bench's own
and draws in a process of it. As a program: `python plot.py FOLDER`, the series as JSON on standard input.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.table import Result

_STYLES = ("-", "--", ":")
_MARKERS = "osD^v<>PX*"
_SERIES = (
    "hook", "context", "status", "render", "search", "search-sql", "reindex", "reindex-four", "import",
    "watch", "reindex-unchanged", "capture", "render-growth",
)  # fmt: skip

Series = Mapping[str, Sequence[tuple[float, float]]]


def series_of(results: "Sequence[Result]") -> dict[str, list[tuple[float, float]]]:
    """(artifacts, seconds) by row, of rows that were measured on more than one corpus."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for result in results:
        if result.pair.growth == 1 and result.row in _SERIES:
            found[result.row].append((result.artifacts, result.timing.subject))
    return {row: sorted(points) for row, points in found.items() if len(points) > 1}


def draw(results: "Sequence[Result]", folder: Path) -> None:
    """Draws into the folder, with the interpreter that has matplotlib; says so where none has."""
    from benchmarks.pairing import exponent  # noqa: PLC0415  (not there where this is a program)
    from benchmarks.rivals import interpreter  # noqa: PLC0415

    python = interpreter("matplotlib")
    if python is None:
        sys.exit("there is no matplotlib to draw with: run `scripts/environment bench`")
    found = series_of(results)
    named = {f"{row}, exponent {exponent(points):.2f}": points for row, points in found.items()}
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, __file__, str(folder)], input=json.dumps(named), text=True, check=True)
    print(f"drawn: {folder / 'growth.png'}, {folder / 'growth.svg'}")


def _draw(folder: Path, series: Series) -> None:
    import matplotlib as mpl  # noqa: PLC0415  (only the bench's environment has it)

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "lineage"
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots(figsize=(10, 6.5), layout="constrained")
    colours = cycle(f"C{number}" for number in range(10))
    for number, (name, points) in enumerate(sorted(series.items(), key=lambda item: -item[1][-1][1])):
        sizes, costs = zip(*points, strict=True)
        style = _STYLES[number // 10] + _MARKERS[number % len(_MARKERS)]
        axes.loglog(sizes, [cost * 1000 for cost in costs], style, color=next(colours), label=name, markersize=5)
    axes.set(
        xlabel="artifacts in the workspace", ylabel="milliseconds", title="What each flow costs as a workspace grows"
    )
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    for kind in ("png", "svg"):
        figure.savefig(folder / f"growth.{kind}", dpi=150, metadata={"Date": None} if kind == "svg" else None)


if __name__ == "__main__":
    _draw(Path(sys.argv[1]), json.load(sys.stdin))
