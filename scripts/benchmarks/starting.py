"""Whole processes that do little: what starting lineage costs."""

import fcntl
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import commands
from benchmarks.corpus import Corpus
from benchmarks.pairing import Pair
from lineage.app.locations import STATE_FOLDER
from lineage.core.base import hook_protocol

_TRANSCRIPT_BYTES = 100_000_000
_LINE = b'{"type": "user", "message": {"role": "user", "content": "and so on"}}\n'


@contextmanager
def help_command(corpus: Corpus) -> Iterator[Pair]:
    del corpus
    yield _command("`lineage --help`, against a bare interpreter", ["--help"])


@contextmanager
def status_command(corpus: Corpus) -> Iterator[Pair]:
    yield _command("`lineage status`, against a bare interpreter", ["-w", str(corpus.workspace), "status"])


@contextmanager
def context_command(corpus: Corpus) -> Iterator[Pair]:
    arguments = ["-w", str(corpus.workspace), "context", "--project", "/home/ada/lantern"]
    yield _command("`lineage context`, against a bare interpreter", arguments)


def _command(what: str, arguments: Sequence[str]) -> Pair:
    return Pair(
        what=what,
        floor=partial(commands.run, commands.BARE),
        subject=partial(commands.run, [*commands.LINEAGE, *arguments]),
        peak=lambda: commands.launched(arguments).peak,
    )


@contextmanager
def hook(corpus: Corpus) -> Iterator[Pair]:
    """The hook with a transcript of 100 MB at hand, which it may not look at."""
    folder = corpus.scratch("hooked")
    end = _payload("SessionEnd", _transcript(folder))
    words = _hook(folder / "workspace")
    try:
        yield Pair(
            what="`lineage hook` at a session's end, against a bare interpreter with the same durable write",
            floor=partial(commands.run, [*commands.PLAIN_SIGNAL, str(folder / "floor")], end),
            subject=partial(commands.run, [*commands.LINEAGE, *words], end),
            peak=lambda: commands.launched(words, end).peak,
        )
    finally:
        shutil.rmtree(folder)


@contextmanager
def hook_with_worker(corpus: Corpus) -> Iterator[Pair]:
    """The same at a session's start, where it starts a worker: the harness waits for the hook alone."""
    folder = corpus.scratch("hooked-worker")
    workspace = folder / "workspace"
    start = _payload("SessionStart", _transcript(folder))
    subject = partial(commands.run, [*commands.LINEAGE, *_hook(workspace)], start, worker=True)
    try:
        yield Pair(
            what="`lineage hook` at a session's start, with the start of a worker",
            floor=partial(commands.run, [*commands.PLAIN_SIGNAL, str(folder / "floor")], start),
            subject=subject,
            peak=lambda: commands.launched(_hook(workspace), start).peak,
        )
    finally:
        _await_worker(workspace)
        shutil.rmtree(folder)


@contextmanager
def hook_growth(corpus: Corpus) -> Iterator[Pair]:
    small = corpus.smaller[-1]
    workspaces = [small.workspace, corpus.workspace]
    end = _payload("SessionEnd", corpus.transcript)
    floor, subject = (partial(commands.run, [*commands.LINEAGE, *_hook(one)], end) for one in workspaces)
    try:
        yield Pair(
            what=f"`lineage hook`, against the same with {small.artifacts:,} artifacts",
            floor=floor,
            subject=subject,
            peak=lambda: commands.launched(_hook(corpus.workspace), end).peak,
            growth=corpus.artifacts / small.artifacts,
        )
    finally:
        for workspace in workspaces:
            shutil.rmtree(workspace / STATE_FOLDER / hook_protocol.EVENT_QUEUE, ignore_errors=True)


def _hook(workspace: Path) -> list[str]:
    return ["hook", "claude-code", "--workspace", str(workspace)]


def _transcript(folder: Path) -> Path:
    path = folder / "transcript.jsonl"
    path.write_bytes(_LINE * (_TRANSCRIPT_BYTES // len(_LINE)))
    return path


def _payload(event: str, transcript: Path) -> str:
    named = {"hook_event_name": event, "session_id": "bench", "cwd": str(transcript.parent), "reason": "exit"}
    return json.dumps({**named, "transcript_path": str(transcript)})


def _await_worker(workspace: Path) -> None:
    """The folder can go once the worker that was started has ended: its lock is free."""
    lock = workspace / STATE_FOLDER / "locks" / "worker.lock"
    if lock.exists():
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
