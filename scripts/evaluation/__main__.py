"""`scripts/eval`: captures the sessions into a workspace, asks the questions of every ranker and prints the table."""

import argparse
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluation import among, halves, material
from evaluation.material import Material
from evaluation.meaning import meaning
from evaluation.measures import Measures, measured
from evaluation.rankers import RANKERS
from lineage.app.databases import INDEX_VARIABLE
from lineage.pipeline.search.search import MODES

_HEAD = """| set | found by | hit@1 | hit@5 | MRR | recall@10 | median ms | p95 ms | removed, found |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scripts/eval", description="How well search finds.")
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="a data set in LoCoMo's format")
    parser.add_argument("--index", metavar="URL", help="a PostgreSQL database for trials, in place of SQLite")
    parser.add_argument("--held-out", action="store_true", help="choose weights on half of the groups, try the others")
    parser.add_argument("--among", type=int, metavar="N", help="ask once more among so many passages of other text")
    parser.add_argument("--text", type=Path, metavar="DIR", help="whose files that is; else words of the set, drawn")
    parser.add_argument("--mode", action="append", choices=MODES, default=[], help="and this one, by the local model")
    parser.add_argument("--model", type=Path, metavar="DIR", help="its folder; else the packaged one")
    options = parser.parse_args(arguments)
    if (options.among or 0) < 0 or (options.text and not options.among):
        parser.error("--among takes a number above zero, and --text goes with it")
    if options.index:
        os.environ[INDEX_VARIABLE] = options.index
    sets = [material.coding(), material.tools(), *([material.locomo(options.locomo)] if options.locomo else [])]
    print(_HEAD, flush=True)
    for one in sets:
        for line in _lines(one, options.mode, options.model):
            print(line, flush=True)
    for one in sets[-1:] if options.among else ():
        for line in among.lines(one, options.among, options.text):
            print(line, flush=True)
    for one in sets if options.held_out else ():
        for line in halves.lines(one):
            print(line, flush=True)


def _lines(one: Material, modes: Sequence[str], model: Path | None) -> Iterator[str]:
    gone = frozenset(session.id for session in one.sessions if session.removed)
    name = f"{one.name}: {len(one.questions):,} questions, {len(one.sessions):,} sessions"
    makers = list(RANKERS)
    if modes:
        makers.append(partial(meaning, modes=modes, model=model))
    for made in makers:
        with TemporaryDirectory(prefix="lineage-eval-") as folder, made(Path(folder), one) as rankers:
            for ranker in rankers:
                yield _line(name, ranker.name, measured(ranker, one.questions, gone))


def _line(name: str, ranker: str, found: Measures) -> str:
    shares = (found.hit1, found.hit5, found.reciprocal_rank, found.recall10)
    cells = [name, ranker, *(f"{share:.3f}" for share in shares), f"{found.median_ms:.1f}", f"{found.p95_ms:.1f}"]
    return f"| {' | '.join([*cells, str(found.resurrected)])} |"


if __name__ == "__main__":
    main()
