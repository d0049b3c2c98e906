"""`scripts/bench`: makes the corpora, runs the measurements and prints the table."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from math import inf
from pathlib import Path
from time import monotonic

from benchmarks import capturing, cases, corpus, peers, plot, sanitize, table
from benchmarks.alone import peak_alone
from benchmarks.cases import CASES, Case
from benchmarks.corpus import Corpus
from benchmarks.goals import Goals, goals
from benchmarks.pairing import figures_of, timed
from benchmarks.table import Result

_SIZES, _QUICK_SIZES = (1_000, 10_000, 100_000), (1_000, 10_000)
_RUNS, _QUICK_RUNS = 5, 3
_MOST_FOR_PEERS = 10_000
_PATIENCE = f"seconds that a command of another tool may take (default: {peers.PATIENCE:.0f})"
_MEGABYTES, _HUGE, _QUICK_MEGABYTES = 100, 1_000, 20


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["sanitize"]:
        sanitize.main(arguments[1:])
        return
    options = _options(arguments)
    if options.clean:
        corpus.clean()
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was made for the run goes with it
    print(table.machine(options.runs), end="\n\n", flush=True)
    with ExitStack() as stack:
        corpora = _corpora(stack, sorted(set(options.artifacts)))
        if options.prepare:
            _prepare(corpora, _chosen(options))
            return
        _measure(corpora, options)
        if options.peers:
            peers.main(_for_peers(corpora), options.patience)


def _prepare(corpora: Sequence[Corpus], chosen: Mapping[str, Case]) -> None:
    """Makes what the cases keep for the next run."""
    for name, case, one in _due(corpora, chosen):
        if name in cases.KEEPING:
            print(f"making what {name} measures on, {one.artifacts:,} artifacts", file=sys.stderr)
            with case(one):
                pass


def _measure(corpora: Sequence[Corpus], options: argparse.Namespace) -> None:
    """Runs the cases, and prints each row when it is there; ended early, it judges and draws those that there are."""
    chosen = _chosen(options)
    if not chosen:
        return
    print(table.HEAD, flush=True)
    results: list[Result] = []
    try:
        for result in _results(corpora, chosen, options):
            print("\n".join(table.rows(result)), flush=True)
            results.append(result)
    finally:
        missed = table.missed(results, () if options.only else goals())
        print("", *table.counted(results), "", *missed, "", sep="\n", flush=True)
        if options.plot:
            plot.draw(results, options.plot)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="What lineage costs, beside its floors.")
    sizes = ", ".join(f"{size:,}" for size in _SIZES)
    parser.add_argument("--artifacts", type=int, nargs="+", metavar="N", help=f"corpus sizes (default: {sizes})")
    parser.add_argument("--runs", type=int, metavar="N", help=f"runs of each (default: {_RUNS})")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin nothing after so long; fewer runs then count")
    parser.add_argument("--quick", action="store_true", help="smaller corpora, fewer runs: some minutes")
    parser.add_argument("--megabytes", type=int, metavar="N", help="of the large transcript (default: 100)")
    parser.add_argument("--huge", action="store_true", help="a transcript of 1 GB: the same as --megabytes 1000")
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="NAME", help=f"of: {', '.join(CASES)}")
    parser.add_argument("--peers", action="store_true", help="other tools too, on at most 10,000 artifacts")
    parser.add_argument("--peers-only", action="store_true", help="nothing but the other tools")
    parser.add_argument("--patience", type=float, metavar="N", default=peers.PATIENCE, help=_PATIENCE)
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw each cost against the size of the corpus")
    parser.add_argument("--prepare", action="store_true", help="only make the corpora and what else is kept for a day")
    parser.add_argument("--clean", action="store_true", help="remove the corpora that are kept for the next run")
    options = parser.parse_args(arguments)
    options.artifacts = options.artifacts or (_QUICK_SIZES if options.quick else _SIZES)
    options.runs = options.runs or (_QUICK_RUNS if options.quick else _RUNS)
    options.minutes = options.minutes or inf
    options.megabytes = options.megabytes or _megabytes(options)
    options.peers = options.peers or options.peers_only
    return options


def _megabytes(options: argparse.Namespace) -> int:
    return _HUGE if options.huge else _QUICK_MEGABYTES if options.quick else _MEGABYTES


def _for_peers(corpora: Sequence[Corpus]) -> Corpus:
    """The largest that all tools can take in within their time, else the smallest."""
    return next((one for one in reversed(corpora) if one.artifacts <= _MOST_FOR_PEERS), corpora[0])


def _chosen(options: argparse.Namespace) -> Mapping[str, Case]:
    if options.peers_only:
        return {}
    every = {**CASES, cases.LARGE: capturing.large(options.megabytes)}
    return {name: every[name] for name in options.only or every}


def _corpora(stack: ExitStack, sizes: Iterable[int]) -> list[Corpus]:
    """Copies of the kept corpora, each with those before it."""
    corpora: list[Corpus] = []
    for artifacts in sizes:
        print(f"making a corpus of {artifacts:,} artifacts", file=sys.stderr)
        corpora.append(stack.enter_context(corpus.copied(artifacts, tuple(corpora))))
    return corpora


def _due(corpora: Sequence[Corpus], chosen: Mapping[str, Case]) -> Iterator[tuple[str, Case, Corpus]]:
    """The cases in order, with what each of them runs on."""
    for number, one in enumerate(corpora):
        left_out = (cases.ONCE if number else cases.GROWTH) | (cases.LAST if one is not corpora[-1] else set())
        yield from ((name, case, one) for name, case in chosen.items() if name not in left_out)


def _results(corpora: Sequence[Corpus], chosen: Mapping[str, Case], options: argparse.Namespace) -> Iterator[Result]:
    known = goals()
    end: float = monotonic() + 60 * options.minutes

    def is_late() -> bool:
        return monotonic() >= end

    for name, case, one in _due(corpora, chosen):
        if is_late():
            return
        yield from _of(name, case, one, options.runs, is_late, known)


def _of(
    name: str, case: Case, on: Corpus, runs: int, is_late: Callable[[], bool], known: Mapping[str, Goals]
) -> Iterator[Result]:
    with case(on) as found:
        os.sync()  # what was made for this is written first: the disk is the case's alone
        pairs = cases.pairs_of(found)
        peaks: dict[int, int] = {}
        for pair, timing in zip(pairs, timed(pairs, runs, is_late), strict=True):
            row, subject = pair.row or name, id(pair.subject)
            if subject not in peaks:
                peaks[subject] = pair.peak() if pair.peak else peak_alone(name, pair.row, on)
            peak = peaks[subject]
            figures = figures_of(pair, timing, peak)
            yield Result(row, on.artifacts, pair, timing, peak, figures, known.get(row, Goals()), runs)


if __name__ == "__main__":
    main()
