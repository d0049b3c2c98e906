"""Reindex: from nothing with one process and with four, beside its floor and the obvious pipeline; nothing changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks import commands, floors, library
from benchmarks.corpus import Corpus
from benchmarks.family import peak_of
from benchmarks.pairing import Pair
from benchmarks.recording import recorded
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.reindexing import synchronize
from lineage.store.databases import discard

JOBS = 4


@contextmanager
def cold(corpus: Corpus) -> Iterator[list[Pair]]:
    """All of one contest: the floor, one process, four and the library's way run in the same rounds."""
    database = corpus.scratch("reindexed") / "index.db"
    with corpus.opened() as house:
        floor = partial(floors.reindex, corpus.memory, database)
        one, four = partial(_reindex, house), partial(_with_four, corpus)
        pairs = [
            Pair(what="reindex from nothing, one process", floor=floor, subject=one),
            Pair(
                row="reindex-four",
                what="`lineage reindex --jobs 4` from nothing, against the same floor",
                floor=floor,
                subject=four,
                peak=lambda: peak_of(_prepared(corpus)),
            ),
            Pair(
                row="reindex-library",
                what="the same, against python-frontmatter and sqlite-utils",
                floor=partial(library.index, corpus.memory, database),
                subject=four,
            ),
        ]
        if not corpus.smaller:
            yield pairs
            return
        with corpus.smaller[-1].opened() as small:
            yield [*pairs, _growth(corpus, partial(_reindex, small), one)]


def _growth(corpus: Corpus, floor: partial[None], subject: partial[None]) -> Pair:
    small = corpus.smaller[-1].artifacts
    return Pair(
        row="growth-reindex",
        what=f"reindex from nothing, against the same with {small:,} artifacts",
        floor=floor,
        subject=subject,
        growth=corpus.artifacts / small,
    )


def _reindex(house: House) -> None:
    house.index.reset()
    synchronize(house, confirmed=True)


def _with_four(corpus: Corpus) -> None:
    commands.run(_prepared(corpus))


def _prepared(corpus: Corpus) -> list[str]:
    """The command, its index away."""
    discard(corpus.index)
    return [*commands.LINEAGE, "-w", str(corpus.workspace), "reindex", "--jobs", str(JOBS)]


@contextmanager
def unchanged(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as house:
        watched, log = recorded(house, corpus)
        synchronize(watched)
        yield Pair(
            what="reindex where nothing changed, against a directory scan with stat",
            floor=partial(floors.scan, corpus.memory),
            subject=partial(synchronize, house),
            counted=f"{log.bodies} bodies read",
            figures=lambda: {"bodies_read": log.bodies},
        )
