"""The measurements by name: each opens what it needs of a corpus and gives a pair of floor and subject."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial

from benchmarks import commands, floors, plain_capture
from benchmarks.corpus import SEED, Corpus
from benchmarks.launched import SanitizerClock
from benchmarks.pairing import Pair
from benchmarks.recording import capture_plan, recorded
from benchmarks.words import Prose
from lineage.core.ledger import Ledger
from lineage.core.naming import MEMORY
from lineage.core.window import Window
from lineage.index import match_expression
from lineage.pipeline.capture.session_end import session_end
from lineage.pipeline.house import House
from lineage.pipeline.lookup import search as search_use_case
from lineage.pipeline.publishing import publish_all
from lineage.pipeline.upkeep.reindexing import synchronize
from lineage.projection import render

Case = Callable[[Corpus], AbstractContextManager[Pair]]

_AGENT = "default"
_SANITIZER = "its sanitizer"
_UNLIMITED = 1 << 40
_QUESTIONS = 8


@contextmanager
def capture(corpus: Corpus) -> Iterator[Pair]:
    plan = corpus.scratch("plan-in-process")
    with corpus.opened() as house:
        log = capture_plan(house, corpus, plan)
        yield Pair(
            what="session-end of a 2 MB transcript, in process",
            floor=partial(plain_capture.run, str(plan)),
            subject=partial(_capture, house, corpus),
            apart=_SANITIZER,
            counted=f"{log.count('read')} reads, {log.count('write')} durable writes, {log.count('delete')} removals",
        )


def _capture(house: House, corpus: Corpus) -> float:
    with SanitizerClock() as clock:
        session_end(house, corpus.end_request(house))
    return clock.seconds


@contextmanager
def session_end_command(corpus: Corpus) -> Iterator[Pair]:
    plan = corpus.scratch("plan-of-command")
    with corpus.opened() as house:
        capture_plan(house, corpus, plan)
        yield Pair(
            what="`lineage session-end` of it, against a bare script",
            floor=partial(commands.run, [*commands.PLAIN_CAPTURE, str(plan)]),
            subject=lambda: _session_end(corpus, house.new_id()).sanitizer_seconds,
            apart=_SANITIZER,
            peak=lambda: _session_end(corpus, house.new_id()).peak,
        )


@contextmanager
def session_end_start(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as house:
        yield Pair(
            what="`lineage session-end` of it, against a bare interpreter",
            floor=partial(commands.run, commands.BARE),
            subject=lambda: _session_end(corpus, house.new_id()).sanitizer_seconds,
            apart=_SANITIZER,
            peak=lambda: _session_end(corpus, house.new_id()).peak,
        )


def _session_end(corpus: Corpus, name: str) -> commands.Finished:
    options = ["--harness", "claude-code", "--session-id", name, "--transcript-path", str(corpus.transcript)]
    return commands.launched(["-w", str(corpus.workspace), "session-end", *options])


@contextmanager
def render_clipped(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as house:
        watched, log = recorded(house, corpus)
        publish_all(watched)
        rows = floors.ledger_rows(_ledger(house).entries)
        limit = house.settings.ledger.max_bytes
        kept = render(_ledger(house), max_bytes=limit).kept
        yield Pair(
            what=f"MEMORY.md of {len(rows):,} sessions in the window, {kept:,} kept",
            floor=partial(floors.ledger, rows[:kept]),
            subject=partial(_render, house, limit),
            counted=f"{log.bodies} bodies read",
        )


@contextmanager
def render_full(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as house:
        rows = floors.ledger_rows(_ledger(house).entries)
        yield Pair(
            what=f"MEMORY.md of {len(rows):,} sessions in the window, all kept",
            floor=partial(floors.ledger, rows),
            subject=partial(_render, house, _UNLIMITED),
        )


def _render(house: House, limit: int) -> None:
    render(_ledger(house), max_bytes=limit)


def _ledger(house: House) -> Ledger:
    return house.index.ledger(_AGENT, Window.ending(house.now))


@contextmanager
def reindex_cold(corpus: Corpus) -> Iterator[Pair]:
    database = corpus.scratch("reindexed") / "index.db"
    with corpus.opened() as house:
        yield Pair(
            what="reindex, cold",
            floor=partial(floors.reindex, corpus.workspace / MEMORY, database),
            subject=partial(_reindex_cold, house),
        )


def _reindex_cold(house: House) -> None:
    house.index.reset()
    synchronize(house, confirmed=True)


@contextmanager
def reindex_unchanged(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as house:
        watched, log = recorded(house, corpus)
        synchronize(watched)
        yield Pair(
            what="reindex, nothing changed",
            floor=partial(floors.scan, corpus.workspace / MEMORY),
            subject=partial(synchronize, house),
            counted=f"{log.bodies} bodies read",
        )


@contextmanager
def search(corpus: Corpus) -> Iterator[Pair]:
    questions = _questions()
    expressions = [match_expression(question) or "" for question in questions]
    with corpus.opened() as house, closing(_read_only(corpus)) as connection:
        yield Pair(
            what=f"search, {len(questions)} questions of 1 to 6 words",
            floor=partial(floors.search, connection, expressions),
            subject=partial(_search, house, questions),
        )


def _search(house: House, questions: list[str]) -> None:
    for question in questions:
        search_use_case(house, question, _AGENT, 10)


def _read_only(corpus: Corpus) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{corpus.index}?mode=ro", uri=True)


def _questions() -> list[str]:
    """Words out of sentences of the corpus: common and rare ones mixed, as people ask."""
    prose = Prose(SEED)
    sentences = (prose.sentence().lower().rstrip(".").split() for _ in range(_QUESTIONS))
    return [" ".join(prose.random.sample(words, min(len(words), 1 + n % 6))) for n, words in enumerate(sentences)]


@contextmanager
def help_command(corpus: Corpus) -> Iterator[Pair]:
    del corpus
    yield _command("`lineage --help`", ["--help"])


@contextmanager
def status_command(corpus: Corpus) -> Iterator[Pair]:
    yield _command("`lineage status`", ["-w", str(corpus.workspace), "status"])


def _command(what: str, arguments: list[str]) -> Pair:
    return Pair(
        what=what,
        floor=partial(commands.run, commands.BARE),
        subject=partial(commands.run, [*commands.LINEAGE, *arguments]),
        peak=lambda: commands.launched(arguments).peak,
    )


CASES: Mapping[str, Case] = {
    "help": help_command,
    "status": status_command,
    "render": render_clipped,
    "render-full": render_full,
    "reindex-cold": reindex_cold,
    "reindex-unchanged": reindex_unchanged,
    "search": search,
    # captures add sessions to the corpus: they come last
    "capture": capture,
    "session-end": session_end_command,
    "session-end-start": session_end_start,
}
