"""Reindex: from nothing with one process and with four readers, beside its floor; nothing changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks import commands, floors
from benchmarks.corpus import Corpus
from benchmarks.family import peak_of
from benchmarks.pairing import Pair
from benchmarks.recording import recorded
from lineage.database.sqlite import delete_database
from lineage.pipeline.maintenance.reindex import sync_rows

JOBS = 4


@contextmanager
def cold(corpus: Corpus) -> Iterator[list[Pair]]:
    """All of one contest: the floor, one process and four readers run in the same rounds."""
    database = corpus.scratch("reindexed") / "index.db"
    floor, one, four = partial(floors.reindex, corpus.memory, database), _One(corpus), partial(_with_four, corpus)
    yield [
        Pair(
            what="`lineage reindex --jobs 1` from nothing, against reading, hashing and writing the rows",
            floor=floor,
            subject=one.run,
            peak=one.peak,
        ),
        Pair(
            row="reindex-four",
            what=f"`lineage reindex --jobs {JOBS}` from nothing, against the same floor",
            floor=floor,
            subject=four,
            peak=lambda: peak_of([*commands.LINEAGE, *_prepared(corpus, JOBS)]),
        ),
    ]


class _One:
    """A reindex by one process, whose peaks are those of its runs. Its `run` is one action, whoever asks for it."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._peaks: list[int] = []
        self.run = partial(self._run)

    def peak(self) -> int:
        return max(self._peaks)

    def _run(self) -> None:
        self._peaks.append(commands.launched(_prepared(self._corpus, 1)).peak)


def _with_four(corpus: Corpus) -> None:
    commands.run([*commands.LINEAGE, *_prepared(corpus, JOBS)])


def _prepared(corpus: Corpus, jobs: int) -> list[str]:
    """The command's words, its index away."""
    delete_database(corpus.index)
    return ["-w", str(corpus.workspace), "reindex", "--jobs", str(jobs)]


@contextmanager
def unchanged(corpus: Corpus) -> Iterator[Pair]:
    with corpus.opened() as ws:
        watched, log = recorded(ws, corpus)
        sync_rows(watched)
        yield Pair(
            what="reindex where nothing changed, against a directory scan with stat",
            floor=partial(floors.scan, corpus.memory),
            subject=partial(sync_rows, ws),
            counted=f"{log.bodies} bodies read",
            figures=lambda: {"bodies_read": log.bodies},
        )
