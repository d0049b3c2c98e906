"""`scripts/eval`: captures the sessions into a workspace, asks the questions of every ranker and prints the table."""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluation import material
from evaluation.material import Material
from evaluation.measures import Measures, measured
from evaluation.rankers import RANKERS
from lineage.app.indexing import VARIABLE

_HEAD = """| set | found by | hit@1 | hit@5 | MRR | recall@10 | median ms | p95 ms | removed, found |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scripts/eval", description="How well search finds.")
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="a data set in LoCoMo's format")
    parser.add_argument("--index", metavar="URL", help="a PostgreSQL database for trials, in place of SQLite")
    options = parser.parse_args(arguments)
    if options.index:
        os.environ[VARIABLE] = options.index
    sets = [material.coding(), *([material.locomo(options.locomo)] if options.locomo else [])]
    print(_HEAD, flush=True)
    for one in sets:
        for line in _lines(one):
            print(line, flush=True)


def _lines(one: Material) -> Iterator[str]:
    gone = frozenset(session.id for session in one.sessions if session.removed)
    name = f"{one.name}: {len(one.questions):,} questions, {len(one.sessions):,} sessions"
    for made in RANKERS:
        with TemporaryDirectory(prefix="lineage-eval-") as folder, made(Path(folder), one) as ranker:
            yield _line(name, ranker.name, measured(ranker, one.questions, gone))


def _line(name: str, ranker: str, found: Measures) -> str:
    shares = (found.hit1, found.hit5, found.reciprocal_rank, found.recall10)
    cells = [name, ranker, *(f"{share:.3f}" for share in shares), f"{found.median_ms:.1f}", f"{found.p95_ms:.1f}"]
    return f"| {' | '.join([*cells, str(found.resurrected)])} |"


if __name__ == "__main__":
    main()
