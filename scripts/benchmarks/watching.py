"""A burst of files under `lineage watch`: whether any is missed, and how soon all have their rows."""

import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter, sleep

from benchmarks import commands
from benchmarks.corpus import Corpus
from benchmarks.family import peak_of
from benchmarks.pairing import Pair
from lineage.app.locations import STATE_FOLDER
from lineage.core.base import naming
from lineage.database.sqlite import delete_database

_PART = 6  # a session for so many artifacts of the corpus, three files each: half as many files as artifacts
_PATIENCE_SECONDS = 600
_EVERY_SECONDS = 0.02
_ROWS = ("summary", "manifest")


@contextmanager
def burst(corpus: Corpus) -> Iterator[Pair]:
    files = _files(corpus, max(1, corpus.artifacts // _PART))
    there = _workspace(corpus.scratch("reindexed-burst"))
    _link(files, there)
    watched = _Watched(corpus.scratch("watched"), files)
    yield Pair(
        what=f"`lineage watch`, a burst of {len(files):,} files, against `lineage reindex` of them",
        floor=lambda: commands.run(_reindex(there)),
        subject=watched.run,
        apart="starting and ending it",
        peak=lambda: peak_of(_reindex(there)),
        figures=lambda: {"missed": max(watched.missed)},
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """One burst after the other, each into a workspace of its own."""

    folder: Path
    files: Sequence[Path]
    missed: list[int] = field(default_factory=list)

    def run(self) -> float:
        """The seconds that were no part of it."""
        began = perf_counter()
        workspace = _workspace(self.folder)
        with _watch(workspace):
            burst = perf_counter()
            _link(self.files, workspace)
            self.missed.append(_missed(workspace, sum(path.stem.endswith(_ROWS) for path in self.files)))
            done = perf_counter()
        shutil.rmtree(workspace)
        return (burst - began) + (perf_counter() - done)


@contextmanager
def _watch(workspace: Path) -> Iterator[None]:
    """`lineage watch`, once it listens."""
    command = [*commands.LINEAGE, "-w", str(workspace), "watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        _await((workspace / naming.memory_md_path("default")).exists)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def _missed(workspace: Path, rows: int) -> int:
    """Waits for as many rows; how many never came."""
    path = workspace / STATE_FOLDER / "index.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:

        def missing() -> int:
            return rows - int(connection.execute("select count(*) from artifacts").fetchone()[0])

        _await(lambda: not missing())
        return missing()


def _await(happened: Callable[[], bool]) -> None:
    until = monotonic() + _PATIENCE_SECONDS
    while not happened() and monotonic() < until:
        sleep(_EVERY_SECONDS)


def _workspace(folder: Path) -> Path:
    workspace = folder / "workspace"
    shutil.rmtree(workspace, ignore_errors=True)
    (workspace / naming.CLAIMS).mkdir(parents=True)
    return workspace


def _files(corpus: Corpus, sessions: int) -> list[Path]:
    """Claims, summaries and manifests of so many sessions: of transcripts the reading would be all of the cost."""
    claims = sorted((corpus.workspace / naming.CLAIMS).iterdir())[:sessions]
    tokens = {path.stem for path in claims}
    names = ((path, naming.parse_path(naming.MEMORY + path.name)) for path in sorted(corpus.memory.iterdir()))
    return [*claims, *(path for path, name in names if name and name.kind in _ROWS and name.token in tokens)]


def _link(files: Sequence[Path], workspace: Path) -> None:
    for path in files:
        prefix = naming.CLAIMS if naming.parse_path(naming.MEMORY + path.name) is None else naming.MEMORY
        os.link(path, workspace / prefix / path.name)


def _reindex(workspace: Path) -> list[str]:
    """The command, its index away."""
    delete_database(workspace / STATE_FOLDER / "index.db")
    return [*commands.LINEAGE, "-w", str(workspace), "reindex"]
