"""`scripts/bench hook`: what the doorbell costs a harness, beside a bare Python that writes as much as durably.

Whole processes in turn, a transcript of 100 MB at hand: neither may look at it. The ratio is that of the medians.
"""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.commands import BARE

_GOAL = 2.5
_TRANSCRIPT_BYTES = 100_000_000
_LINE = b'{"type": "user", "message": {"role": "user", "content": "and so on"}}\n'
_MEGABYTE = 1 << 20
_LAUNCHED = Path(__file__).with_name("launched.py")
_FLOOR = """
import os, sys
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
data = os.read(0, 65536)
path = f"{folder}/{os.urandom(6).hex()}"
descriptor = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
os.write(descriptor, data)
os.fsync(descriptor)
os.close(descriptor)
os.rename(path + ".tmp", path + ".json")
descriptor = os.open(folder, os.O_RDONLY)
os.fsync(descriptor)
os.close(descriptor)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench hook", description="What the doorbell costs a harness.")
    parser.add_argument("--runs", type=int, default=25, metavar="N", help="runs of each (default: 25)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="lineage-bench-") as folder:
        _print(Path(folder), options.runs)


def _print(folder: Path, runs: int) -> None:
    transcript = folder / "transcript.jsonl"
    transcript.write_bytes(_LINE * (_TRANSCRIPT_BYTES // len(_LINE)))
    workspace = folder / "workspace"
    words = ["hook", "claude-code", "--workspace", str(workspace)]
    floor = [sys.executable, "-c", _FLOOR, str(folder / "floor")]
    hook = [sys.executable, "-m", "lineage", *words]
    end = _payload("SessionEnd", transcript)
    measured = [[_seconds(command, end) for command in (BARE, floor, hook)] for _ in range(runs + 1)][1:]
    bare, floors, hooks = (median(column) for column in zip(*measured, strict=True))
    _say("bare python", bare)
    _say("floor: bare python and one durable write", floors)
    _say("lineage hook claude-code", hooks)
    print(f"ratio: {hooks / floors:.2f}, at most {_GOAL} is meant")
    print(f"memory: at most {_peak(words, end) / _MEGABYTE:.1f} MB")
    shutil.rmtree(workspace)  # what was left there is not to be worked off
    _say("with the start of a worker", _seconds(hook, _payload("SessionStart", transcript), worker=True))
    _await_worker(workspace)


def _payload(event: str, transcript: Path) -> bytes:
    named = {"hook_event_name": event, "session_id": "bench", "cwd": str(transcript.parent), "reason": "exit"}
    return json.dumps({**named, "transcript_path": str(transcript)}).encode()


def _seconds(command: Sequence[str], payload: bytes, *, worker: bool = False) -> float:
    start = perf_counter()
    subprocess.run(command, input=payload, env=_environment(worker=worker), check=True)
    return perf_counter() - start


def _peak(words: Sequence[str], payload: bytes) -> int:
    """The most memory that a hook held, in bytes, as it says itself."""
    command = [sys.executable, "-P", str(_LAUNCHED), *words]
    done = subprocess.run(command, input=payload, env=_environment(), stderr=subprocess.PIPE, check=True)
    return int(done.stderr.split()[-1])


def _environment(*, worker: bool = False) -> dict[str, str]:
    own = ("LINEAGE_", "SIGNET_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return kept if worker else {**kept, "LINEAGE_NO_WORKER": "1"}


def _say(what: str, seconds: float) -> None:
    print(f"{what:42} {seconds * 1000:7.1f} ms")


def _await_worker(workspace: Path) -> None:
    """The folder can go once the worker that was started has ended: its lock is free."""
    with (workspace / ".lineage/locks/worker.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
