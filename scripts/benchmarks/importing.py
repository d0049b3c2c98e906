"""The import of a history: one process beside four."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from benchmarks import commands, transcripts
from benchmarks.corpus import SEED, Corpus, cache, fingerprint, midnight
from benchmarks.family import peak_of
from benchmarks.pairing import Pair
from benchmarks.words import Prose

JOBS = 4

_MOST = 1_500  # sessions
_ARTIFACTS_EACH = 60
_MEDIAN_LOG, _SPREAD, _LONGEST = 10.8, 1.0, 4_000_000  # bytes of a session: median 49,000


@contextmanager
def history(corpus: Corpus) -> Iterator[Pair]:
    """As many sessions as a sixtieth of the corpus's artifacts, at most 1,500, into a workspace that is made anew."""
    sessions = min(_MOST, max(JOBS, corpus.artifacts // _ARTIFACTS_EACH))
    folder = _kept(sessions)
    workspace = corpus.scratch("imported") / "workspace"
    yield Pair(
        what=f"`lineage import` of {sessions:,} sessions with four processes, against one",
        floor=lambda: commands.run(_command(workspace, folder, 1)),
        subject=lambda: commands.run(_command(workspace, folder, JOBS)),
        peak=lambda: peak_of(_command(workspace, folder, JOBS)),
        size=sum(path.stat().st_size for path in folder.iterdir()),
    )


def _command(workspace: Path, folder: Path, jobs: int) -> list[str]:
    """The import, its workspace empty."""
    shutil.rmtree(workspace, ignore_errors=True)
    (workspace / ".lineage").mkdir(parents=True)
    return [*commands.LINEAGE, "-w", str(workspace), "import", "claude-code", str(folder), "--jobs", str(jobs)]


def _kept(sessions: int) -> Path:
    """The transcripts, of the sizes that sessions have, in the cache."""
    folder = cache() / f"history-{sessions}-{midnight()[:10]}-{fingerprint()}"
    if not folder.is_dir():
        making = folder.with_name(f"making-{folder.name}")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        write = partial(transcripts.write, prose=Prose(SEED), latest=midnight())
        random = Random(SEED)
        for number in range(sessions):
            path = making / f"{number}.jsonl"
            session = write(path, min(_LONGEST, int(random.lognormvariate(_MEDIAN_LOG, _SPREAD))))
            path.rename(making / f"{session}.jsonl")
        making.rename(folder)
    return folder
