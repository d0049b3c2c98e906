"""Killed at any system call, a workspace is whole, and the next recovery finishes it. (law 1; law 2)

strace kills the process before each call that changes a file or makes it durable, in every flow that writes, recovery
included, on a fresh copy of a real workspace. After each kill: every canonical file is absent or whole; `recover` ends
in the state of an uninterrupted run; `verify` finds nothing; a second recovery changes no byte. A run that died before
it had promised anything (no job, no file) is as if it had not been.

The calls are those of one recorded run: all of the store's, the locks' and the folders', one by one. Only of SQLite's
own writes to its files every 8th is taken, at an offset that moves on from day to day: SQLite proves its own. Of calls
between which nothing was changed one is taken: a death before a sync leaves what a death behind it leaves.

Fails where `replace` writes in place instead of renaming the temporary file, without `Step.SPOOL` before the first
canonical write (core/planner.py), and without the line with `tidy` in pipeline/upkeep/recovery.py.
"""

import datetime
from collections.abc import Callable

import pytest

from tests.support.crash_flows import FLOWS, CrashScene, assert_consistent, assert_recoverable
from tests.support.strace import KILLED, SystemCall, TracedProcesses

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]
_STEP = 8


@pytest.mark.parametrize("flow", FLOWS)
def test_a_process_killed_at_any_system_call_leaves_what_recovery_finishes(
    scene_of: Callable[[str], CrashScene], running: TracedProcesses, flow: str
) -> None:
    scene = scene_of(flow)
    for number, call in enumerate(_points(scene.calls)):
        root = scene.copy(f"killed-{number}")
        try:
            killed = running.run(root, *scene.flow.arguments, inject=f"{call.name}:signal=KILL:when={call.number}")
            assert killed.code == KILLED, killed
            assert_consistent(root, scene)
            assert_recoverable(root, scene, running)
        except Exception as error:
            error.add_note(f"killed at {call}; the workspace is {root}")
            raise
        scene.delete(root)


def _points(calls: list[SystemCall]) -> list[SystemCall]:
    ours, of_sqlite = ([call for call in calls if call.is_database is which] for which in (False, True))
    assert len(ours) > 20
    taken = ours + of_sqlite[datetime.date.today().toordinal() % _STEP :: _STEP]
    return list({call.state: call for call in reversed(taken)}.values())[::-1]
