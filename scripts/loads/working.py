"""One process of a load, and all of them at once."""

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from lineage.app.workspace import open_workspace
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.workspace.workspace import Workspace
from loads.sessions import End, Load, ends_of, request_of

_PATIENCE_SECONDS = 120

_gate: Any = None


@dataclass(slots=True)
class Tally:
    """How ends came out: by status, by error, and how long the slowest took."""

    outcomes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.outcomes + other.outcomes, self.errors + other.errors, max(self.longest, other.longest))


def worked(root: Path, load: Load) -> tuple[Tally, float]:
    """Runs the load with as many processes as it says, begun at once; the tally and the seconds that it took."""
    spawning = multiprocessing.get_context("spawn")
    gate = spawning.Barrier(load.processes + 1)
    with ProcessPoolExecutor(load.processes, mp_context=spawning, initializer=_meet_at, initargs=(gate,)) as pool:
        futures = [pool.submit(_share, root, load, process) for process in range(load.processes)]
        gate.wait(_PATIENCE_SECONDS)
        began = time.monotonic()
        tallies = [future.result() for future in futures]
        return reduce(Tally.__add__, tallies), time.monotonic() - began


def _meet_at(gate: Any) -> None:
    global _gate  # noqa: PLW0603  (a barrier reaches a process only when it starts)
    _gate = gate


def _share(root: Path, load: Load, process: int) -> Tally:
    """What one process does, in a workspace that it opens itself."""
    tally = Tally()
    _gate.wait(_PATIENCE_SECONDS)
    ws = open_workspace(root, create=True)
    try:
        for end in ends_of(load, process):
            _signalled(ws, end, tally)
    finally:
        ws.close()
    return tally


def _signalled(ws: Workspace, end: End, tally: Tally) -> None:
    began = time.monotonic()
    try:
        outcome = run_capture(replace(ws, now=end.now), request_of(end))
        tally.outcomes[outcome.status] += 1
    except Exception as error:  # noqa: BLE001  (whatever goes wrong is a finding of the load)
        tally.errors[f"{type(error).__name__}: {error}"[:200]] += 1
    tally.longest = max(tally.longest, time.monotonic() - began)
