"""MEMORY.md: beside its floor, and with a hundred times as many sessions in the window and outside of it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from benchmarks import floors
from benchmarks.corpus import Corpus, kept_index
from benchmarks.pairing import Action, Pair
from benchmarks.recording import recorded
from benchmarks.rows import ledger_rows
from lineage.core.capture.ledger import Ledger, Window
from lineage.index import Index
from lineage.projection.memory_md import render_memory_md
from lineage.workspace.publish import publish_all, render_agent_memory
from lineage.workspace.workspace import Workspace

_AGENT = "default"
_UNLIMITED = 1 << 40
_FEW = 1_500  # sessions
_SHARE = 1.5  # sessions an artifact: 150,000 sessions stand beside 100,000 artifacts


@contextmanager
def clipped(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as ws:
        watched, log = recorded(ws, corpus)
        publish_all(watched)
        rows = floors.ledger_rows(_ledger(ws).entries)
        limit = ws.settings.ledger.max_bytes
        kept = render_memory_md(_ledger(ws), max_bytes=limit).row_count
        yield Pair(
            what=f"MEMORY.md of {len(rows):,} sessions in the window, {kept:,} kept",
            floor=partial(floors.ledger, rows[:kept]),
            subject=partial(_render, ws, limit),
            counted=f"{log.bodies} bodies read",
        )


@contextmanager
def full(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as ws:
        rows = floors.ledger_rows(_ledger(ws).entries)
        yield Pair(
            what=f"MEMORY.md of {len(rows):,} sessions in the window, all kept",
            floor=partial(floors.ledger, rows),
            subject=partial(_render, ws, _UNLIMITED),
        )


def _render(ws: Workspace, limit: int) -> None:
    render_memory_md(_ledger(ws), max_bytes=limit)


def _ledger(ws: Workspace) -> Ledger:
    return ws.index.load_ledger(_AGENT, Window.from_end(ws.now))


@contextmanager
def more_in_window(corpus: Corpus) -> Iterator[Pair]:
    many = int(corpus.artifacts * _SHARE)
    with corpus.opened() as ws, _index(ws, _FEW, 0) as few, _index(ws, many, 0) as large:
        yield _against(ws, few, large, f"MEMORY.md, {many:,} sessions in the window, against {_FEW:,}")


@contextmanager
def more_outside(corpus: Corpus) -> Iterator[Pair]:
    more = max(0, int(corpus.artifacts * _SHARE) - _FEW)
    with corpus.opened() as ws, _index(ws, _FEW, 0) as few, _index(ws, _FEW, more) as large:
        yield _against(ws, few, large, f"MEMORY.md, {_FEW:,} sessions in the window, {more:,} outside, against none")


def _against(ws: Workspace, few: Index, large: Index, what: str) -> Pair:
    return Pair(what=what, floor=_clipped(ws, few), subject=_clipped(ws, large))


def _clipped(ws: Workspace, index: Index) -> Action:
    return lambda: render_agent_memory(ws, _AGENT, index.load_ledger(_AGENT, Window.from_end(ws.now))).text


@contextmanager
def growth(corpus: Corpus) -> Iterator[Pair]:
    small = corpus.smaller[-1]
    with ExitStack() as opened:
        before, ws = (opened.enter_context(one.opened()) for one in (small, corpus))
        yield Pair(
            what=f"MEMORY.md, against the same with {small.artifacts:,} artifacts",
            floor=_clipped(before, before.index),
            subject=_clipped(ws, ws.index),
            growth=corpus.artifacts / small.artifacts,
        )


def _index(ws: Workspace, inside: int, outside: int) -> AbstractContextManager[Index]:
    """An index of so many sessions: what a render reads."""
    return kept_index(f"ledger-{inside}-{outside}", partial(ledger_rows, ws.now, inside, outside))
