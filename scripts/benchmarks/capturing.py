"""Session ends: a transcript of 2 MB beside its floors, on a larger folder, and a transcript of a size of its own."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from benchmarks import commands, floors, plain_capture, transcripts
from benchmarks.corpus import SEED, Corpus, midnight
from benchmarks.launched import SanitizerClock
from benchmarks.pairing import Pair
from benchmarks.recording import capture_plan
from benchmarks.words import Prose
from lineage.pipeline.capture.session_end import capture_session
from lineage.workspace.workspace import Workspace

_SANITIZER = "its sanitizer"
_MEGABYTE = 1_000_000


@contextmanager
def capture(corpus: Corpus) -> Iterator[Pair]:
    plan = corpus.scratch("plan-in-process")
    with corpus.opened() as ws:
        log = capture_plan(ws, corpus, plan)
        yield Pair(
            what="session-end of a 2 MB transcript, in process",
            floor=partial(plain_capture.run, str(plan)),
            subject=partial(_capture, ws, corpus),
            apart=_SANITIZER,
            counted=f"{log.count('read')} reads, {log.count('write')} durable writes, {log.count('delete')} removals",
        )


def _capture(ws: Workspace, corpus: Corpus) -> float:
    with SanitizerClock() as clock:
        capture_session(ws, corpus.end_request(ws))
    return clock.seconds


@contextmanager
def growth(corpus: Corpus) -> Iterator[Pair]:
    """One capture on this folder and one on the next smaller one."""
    with corpus.opened() as ws:
        new_id = ws.new_id

    def ended(on: Corpus) -> float:
        return _session_end(on, new_id()).sanitizer_seconds

    small = corpus.smaller[-1]
    yield Pair(
        what=f"`lineage session-end`, against the same with {small.artifacts:,} artifacts",
        floor=partial(ended, small),
        subject=partial(ended, corpus),
        peak=lambda: _session_end(corpus, new_id()).peak,
        growth=corpus.artifacts / small.artifacts,
    )


def _session_end(corpus: Corpus, name: str, transcript: Path | None = None) -> commands.Finished:
    path = transcript or corpus.transcript
    options = ["--harness", "claude-code", "--session-id", name, "--transcript-path", str(path)]
    return commands.launched(["-w", str(corpus.workspace), "session-end", *options])


def large(megabytes: int) -> Callable[[Corpus], AbstractContextManager[Pair]]:
    """The case of a transcript of so many megabytes, sanitizer included, in a workspace of its own."""

    @contextmanager
    def case(corpus: Corpus) -> Iterator[Pair]:
        folder = corpus.scratch("large")
        transcript, own = folder / "session.jsonl", Corpus(folder)
        transcripts.write(transcript, megabytes * _MEGABYTE, Prose(SEED), midnight())
        own.workspace.mkdir()
        finished: list[commands.Finished] = []
        try:
            yield Pair(
                what=f"`lineage session-end` of {megabytes:,} MB, sanitizer included, against reading and hashing it",
                floor=partial(floors.digest, transcript),
                subject=lambda: finished.append(_session_end(own, f"large-{len(finished)}", transcript)),
                peak=lambda: max(done.peak for done in finished),
                size=transcript.stat().st_size,
            )
        finally:
            shutil.rmtree(folder)

    return case
