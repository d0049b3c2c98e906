"""MEMORY.md: beside its floor, and with a hundred times as many sessions in the window and outside of it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from benchmarks import floors
from benchmarks.corpus import Corpus, kept_index
from benchmarks.pairing import Action, Pair
from benchmarks.recording import recorded
from benchmarks.rows import ledger_rows
from lineage.core.ledger import Ledger
from lineage.core.window import Window
from lineage.index import Index
from lineage.pipeline.house import House
from lineage.pipeline.publishing import publish_all, rendered
from lineage.projection import render

_AGENT = "default"
_UNLIMITED = 1 << 40
_FEW = 1_500  # sessions
_SHARE = 1.5  # sessions an artifact: 150,000 sessions stand beside 100,000 artifacts


@contextmanager
def clipped(corpus: Corpus) -> Iterator[Pair]:
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
def full(corpus: Corpus) -> Iterator[Pair]:
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
def more_in_window(corpus: Corpus) -> Iterator[Pair]:
    many = int(corpus.artifacts * _SHARE)
    with corpus.opened() as house, _index(house, _FEW, 0) as few, _index(house, many, 0) as large:
        yield _against(house, few, large, f"MEMORY.md, {many:,} sessions in the window, against {_FEW:,}")


@contextmanager
def more_outside(corpus: Corpus) -> Iterator[Pair]:
    more = max(0, int(corpus.artifacts * _SHARE) - _FEW)
    with corpus.opened() as house, _index(house, _FEW, 0) as few, _index(house, _FEW, more) as large:
        yield _against(house, few, large, f"MEMORY.md, {_FEW:,} sessions in the window, {more:,} outside, against none")


def _against(house: House, few: Index, large: Index, what: str) -> Pair:
    return Pair(what=what, floor=_clipped(house, few), subject=_clipped(house, large))


def _clipped(house: House, index: Index) -> Action:
    return lambda: rendered(house, _AGENT, index.ledger(_AGENT, Window.ending(house.now))).text


@contextmanager
def growth(corpus: Corpus) -> Iterator[Pair]:
    small = corpus.smaller[-1]
    with ExitStack() as opened:
        before, house = (opened.enter_context(one.opened()) for one in (small, corpus))
        yield Pair(
            what=f"MEMORY.md, against the same with {small.artifacts:,} artifacts",
            floor=_clipped(before, before.index),
            subject=_clipped(house, house.index),
            growth=corpus.artifacts / small.artifacts,
        )


def _index(house: House, inside: int, outside: int) -> AbstractContextManager[Index]:
    """An index of so many sessions: what a render reads."""
    return kept_index(f"ledger-{inside}-{outside}", partial(ledger_rows, house.now, inside, outside))
