"""Killed at any system call, a workspace is whole, and the next recovery finishes it. (law 1; law 2)

strace kills the process before each call that changes a file or makes it durable, in every flow that writes, recovery
included, on a fresh copy of a real workspace. After each kill: every canonical file is absent or whole; `recover` ends
in the state of an uninterrupted run; `verify` finds nothing; a second recovery changes no byte. A run that died before
it had promised anything (no job, no file) is as if it had not been.

The calls are those of one recorded run: all of the store's, the locks' and the folders', one by one. Only of SQLite's
own writes to its files every 8th is taken, at an offset that moves on from day to day: SQLite proves its own. Of calls
between which nothing was changed one is taken: a death before a sync leaves what a death behind it leaves. Of the
commands on books that share their calls with `remember` every 4th is taken, of `upgrade` and contexts every 2nd, at
such an offset.

Fails where `replace` writes in place instead of exchanging names with the temporary file, without `CaptureStep.SPOOL`
before the first canonical write (core/capture/planner.py), and without `collect_garbage` in `recover`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lineage.app.workspace import run_in_workspace
from lineage.pipeline.maintenance.verify import verify
from tests.support.crash_flows import (
    FLOWS,
    OF_TODAY,
    REPEATED,
    VERBS,
    CrashScene,
    assert_consistent,
    assert_recoverable,
    read_state,
    thin_out,
)
from tests.support.strace import KILLED, SystemCall, TracedProcesses

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]
_STEP = 8


@pytest.mark.parametrize("flow", [*FLOWS, *VERBS])
def test_a_process_killed_at_any_system_call_leaves_what_recovery_finishes(
    scene_of: Callable[[str], CrashScene], running: TracedProcesses, flow: str
) -> None:
    scene = scene_of(flow)
    for root in _each_death(scene, running, thin_out(_points(scene.calls), flow)):
        assert_recoverable(root, scene, running)


@pytest.mark.parametrize("flow", REPEATED)
def test_a_process_killed_at_any_system_call_is_finished_by_the_same_command(
    scene_of: Callable[[str], CrashScene], running: TracedProcesses, flow: str
) -> None:
    """`upgrade`, and the preparation of contexts: until then each file is as before or as afterwards, and valid."""
    scene = scene_of(flow)
    assert scene.start != scene.done
    for root in _each_death(scene, running, thin_out(_points(scene.calls, least=10), flow, step=2)):
        assert running.run(root, *scene.flow.arguments).code == 0
        assert read_state(root) == scene.done
        assert run_in_workspace(root, verify) == []


def _each_death(scene: CrashScene, running: TracedProcesses, points: list[SystemCall]) -> Iterator[Path]:
    """Workspaces after a kill at each of the calls."""
    for number, call in enumerate(points):
        root = scene.copy(f"killed-{number}")
        try:
            killed = running.run(root, *scene.flow.arguments, inject=f"{call.name}:signal=KILL:when={call.number}")
            assert killed.code == KILLED, killed
            assert_consistent(root, scene)
            yield root
        except Exception as error:
            error.add_note(f"killed at {call}; the workspace is {root}")
            raise
        scene.delete(root)


def _points(calls: list[SystemCall], least: int = 20) -> list[SystemCall]:
    ours, of_sqlite = ([call for call in calls if call.is_database is which] for which in (False, True))
    assert len(ours) > least
    taken = ours + of_sqlite[OF_TODAY % _STEP :: _STEP]
    return list({call.state: call for call in reversed(taken)}.values())[::-1]
