"""Many writers at once: renders that take in whoever waits, against one render for each capture."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus
from benchmarks.family import peak_here
from benchmarks.pairing import Pair
from lineage.app.workspace import open_workspace
from lineage.core.capture.request import SESSION_END, Request, parse_request
from lineage.pipeline.capture.session_end import capture_session
from lineage.workspace import publish
from lineage.workspace.workspace import Workspace

_CAPTURES = 64
_PATIENCE_SECONDS = 300
_LIMIT = "_MAX_BATCH"  # how many waiting captures a render takes in

_gate: Any = None


@contextmanager
def eight(corpus: Corpus) -> Iterator[Pair]:
    with _writers(corpus, 8) as pair:
        yield pair


@contextmanager
def thirty_two(corpus: Corpus) -> Iterator[Pair]:
    with _writers(corpus, 32) as pair:
        yield pair


@contextmanager
def _writers(corpus: Corpus, count: int) -> Iterator[Pair]:
    """So many processes, begun before; each of them ends its share of 64 short sessions."""
    spawning = multiprocessing.get_context("spawn")
    gate = spawning.Barrier(count)
    with ProcessPoolExecutor(count, mp_context=spawning, initializer=_meet_at, initargs=(gate,)) as pool:
        write = partial(_write, pool, corpus.workspace, count)
        together = partial(write, getattr(publish, _LIMIT))
        yield Pair(
            what=f"{_CAPTURES} captures by {count} writers at once, against one render for each",
            floor=partial(write, 0),
            subject=together,
            peak=lambda: peak_here(together),
        )


def _write(pool: ProcessPoolExecutor, workspace: Path, count: int, limit: int) -> None:
    shares = [pool.submit(_share, workspace, _CAPTURES // count, limit) for _ in range(count)]
    for share in shares:
        share.result(_PATIENCE_SECONDS)


def _meet_at(gate: Any) -> None:
    global _gate  # noqa: PLW0603  (a barrier reaches a process only when it starts)
    _gate = gate


def _share(workspace: Path, captures: int, limit: int) -> None:
    """What one process does: with a limit of none its renders take in nobody else's capture."""
    setattr(publish, _LIMIT, limit)
    ws = open_workspace(workspace)
    try:
        _gate.wait(_PATIENCE_SECONDS)
        for _ in range(captures):
            capture_session(ws, _request(ws))
    finally:
        ws.close()


def _request(ws: Workspace) -> Request:
    """The end of a short session."""
    name = ws.new_id()
    said = f"Please look at reader_{name}.py: its last line is lost.", "The loop ends one line early; I changed that."
    payload = {
        "harness": "generic",
        "session_id": name,
        "project": "/home/ada/lantern",
        "transcript": [{"role": role, "text": text} for role, text in zip(("user", "assistant"), said, strict=True)],
    }
    return parse_request(SESSION_END, payload, agent_id=None, now=ws.now)
