"""`scripts/bench`: makes the corpora, runs the measurements and prints the table."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import hook, sanitize, table
from benchmarks.cases import CASES
from benchmarks.commands import peak_alone
from benchmarks.corpus import Corpus, generate
from benchmarks.pairing import timed
from benchmarks.table import Result

_ONCE = frozenset({"help"})  # the same whatever the corpus


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["sanitize"]:
        sanitize.main(arguments[1:])
        return
    if arguments[:1] == ["hook"]:
        hook.main(arguments[1:])
        return
    options = _options(arguments)
    print(table.machine(options.runs), end="\n\n")
    print(table.HEAD, flush=True)
    results = []
    for result in _results(options.artifacts, options.only or list(CASES), options.runs):
        print("\n".join(table.rows(result)), flush=True)
        results.append(result)
    print("", *table.counted(results), sep="\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="What lineage costs, beside its floors.")
    parser.add_argument("--artifacts", type=int, nargs="+", default=[1_500, 10_000], metavar="N", help="corpus sizes")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each (default: 5)")
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", help=f"of: {', '.join(CASES)}")
    return parser.parse_args(arguments)


def _results(sizes: Iterable[int], names: Iterable[str], runs: int) -> Iterator[Result]:
    done: set[str] = set()
    for artifacts in sizes:
        with TemporaryDirectory(prefix="lineage-bench-") as folder:
            print(f"making a corpus of {artifacts:,} artifacts", file=sys.stderr)
            corpus = generate(Path(folder), artifacts)
            for name in names:
                if name not in done:
                    yield _result(name, corpus, artifacts, runs)
        done.update(_ONCE)


def _result(name: str, corpus: Corpus, artifacts: int, runs: int) -> Result:
    with CASES[name](corpus) as pair:
        timing = timed(pair, runs)
        peak = pair.peak() if pair.peak else None
    return Result(artifacts, pair, timing, peak or peak_alone(name, corpus.folder))


if __name__ == "__main__":
    main()
