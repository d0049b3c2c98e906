"""`scripts/eval`: captures the sessions into a workspace, asks the questions of every ranker and prints the tables."""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation import among, extraction, halves, material, recall, report, synopses
from evaluation.fitting import fit_folders
from evaluation.labelled import read_labelled
from evaluation.material import Material
from lineage.app.databases import INDEX_VARIABLE
from lineage.harness.adapters import ADAPTERS
from lineage.pipeline.search.search import MODES

_FIT = "fit on labelled folders what is learned; without PATH the floor of recall, on half of these prompts"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    labelled = [path for path in options.fit or () if path]
    if options.labels or labelled:
        print_learned(options.labels or labelled[0], labelled)
        return
    if bool(options.questions or options.prompts) != bool(options.sessions):
        parser.error("--sessions goes with --questions or --prompts")
    if options.recall or options.fit:
        print_recall(options)
        return
    if (options.among or 0) < 0 or (options.text and not options.among):
        parser.error("--among takes a number above zero, and --text goes with it")
    if options.index:
        os.environ[INDEX_VARIABLE] = options.index
    sets = list(_sets(options)) or [material.coding(), material.tools()]
    if options.half:
        sets = [one.take_half(held_out=options.half == "held-out") for one in sets]
    print(report.HEAD, flush=True)
    tables = []
    for one in sets:
        for sessions, found in report.answers(one, options.mode, options.model):
            print(report.line(one, sessions, list(found)[-1], found), flush=True)
        tables.append(report.by_kind(one, found))
    for one in sets[-1:] if options.among else ():
        tables.append(among.lines(one, options.among, options.text))
    tables += [halves.lines(one) for one in sets if options.held_out]
    for table in tables:
        for line in table:
            print(line, flush=True)


def print_learned(measured: Path, fitted: Sequence[Path]) -> None:
    """Print what is learned and told of labelled sessions; of what was fitted, by weights of other authors."""
    by_author = fit_folders(fitted).by_author if fitted else {}
    told_by = synopses.fit_and_write([one for path in fitted for one in read_labelled(path)]) if fitted else {}
    sessions = list(read_labelled(measured))
    for line in (*extraction.lines(sessions, by_author), *synopses.lines(sessions, told_by)):
        print(line, flush=True)


def print_recall(options: argparse.Namespace) -> None:
    """The tables of our prompts, and of those of a file; with `--fit` the floor is fitted before."""
    ours: tuple[None, None] = (None, None)
    sets: list[tuple[Path, Material] | tuple[None, None]] = [ours]
    if options.prompts:
        others = Material(options.prompts.stem, history=(options.sessions, options.harness))
        sets.append((options.prompts, others))
    for line in recall.fit(sets) if options.fit else ():
        print(line, flush=True)
    for line in recall.tables(sets):
        print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/eval", description="How well search finds: our own sets, or those.")
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="a data set in LoCoMo's format")
    parser.add_argument("--qmsum", type=Path, metavar="FILE", help="a JSONL file of QMSum: which meeting?")
    parser.add_argument("--cranfield", type=Path, metavar="DIR", help="with cran.all.1400, cran.qry and cranqrel")
    parser.add_argument("--questions", type=Path, metavar="FILE", help='lines {"question": …, "sessions": [id, …]}')
    parser.add_argument("--sessions", type=Path, metavar="PATH", help="a workspace, or what a harness wrote")
    parser.add_argument("--harness", choices=sorted(ADAPTERS), help="which one; else who can read it")
    parser.add_argument("--half", choices=("tuned-on", "held-out"), help="only these questions")
    parser.add_argument("--index", metavar="URL", help="a PostgreSQL database for trials, in place of SQLite")
    parser.add_argument("--held-out", action="store_true", help="choose weights on half of the groups, try the others")
    parser.add_argument("--among", type=int, metavar="N", help="ask once more among so many passages of other text")
    parser.add_argument("--text", type=Path, metavar="DIR", help="whose files that is; else words of the set, drawn")
    parser.add_argument("--mode", action="append", choices=MODES, default=[], help="and this one, by the local model")
    parser.add_argument("--labels", type=Path, metavar="PATH", help="measure what is learned of labelled sessions")
    parser.add_argument("--recall", action="store_true", help="measure instead what is given at prompts")
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="and at those of a file, over --sessions")
    parser.add_argument("--fit", type=Path, action="append", nargs="?", metavar="PATH", help=_FIT)
    parser.add_argument("--model", type=Path, metavar="DIR", help="its folder; else the packaged one")
    return parser


def _sets(options: argparse.Namespace) -> Iterator[Material]:
    if options.locomo:
        yield material.locomo(options.locomo)
    if options.qmsum:
        yield material.qmsum(options.qmsum)
    if options.cranfield:
        yield material.cranfield(options.cranfield)
    if options.questions:
        yield material.chosen(options.questions, options.sessions, options.harness)


if __name__ == "__main__":
    main()
