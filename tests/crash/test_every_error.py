"""The disk is full, fails or is interrupted, at any call of the store: a clear error or success, and nothing is lost.

strace fails each call by which the store, its locks and its folders are written (SQLite's own are not touched here),
with EIO, and every third one with each further error that the call can have, at an offset that moves on from day to
day. The command succeeds or ends with exit 1, a message and a hint; every canonical
file is whole; the next run finishes, and `verify` finds nothing: that is run once for all workspaces that are the same
in every byte and row, for most errors leave what another one left. Of the commands on books that share their calls with
`remember`, of `upgrade` and of contexts every 8th call is taken, at an offset that moves on. A write that takes less
than it was given is continued, and where the disk is full in the middle of a file, nothing of it is seen.

Fails without the loop in `_write_all` (short writes), without the `raise` of `_translate_os_errors` (exit 3), and
where `create` writes in place instead of `rename_exclusive` (the disk that is full in the middle of a file).
"""

import re
from collections.abc import Callable
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
    read_state,
    recover_and_read,
    thin_out,
)
from tests.support.strace import SystemCall, TracedProcesses, TracedRun

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]

_CREATING = {"openat", "write", "link", "linkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "fsync"}
_POSSIBLE = {"EIO": None, "ENOSPC": _CREATING, "EINTR": {"openat", "write", "fsync"}}
_IS_DONE = re.compile("(removed|forgotten) already|was moved: it is|doesn't wait")
_COMPLAINT = re.compile(r"lineage: .+\n  .+\n")


@pytest.mark.parametrize("flow", ["first-end", "resumed-end", "remove", "remember", "forget", *VERBS, *REPEATED])
@pytest.mark.parametrize("error", _POSSIBLE)
def test_an_error_at_any_call_of_the_store_is_reported_and_the_next_run_finishes(
    scene_of: Callable[[str], CrashScene], running: TracedProcesses, flow: str, error: str
) -> None:
    scene = scene_of(flow)
    assert run_in_workspace(scene.copy(f"{error}-start"), verify) == []
    points = [call for call in scene.calls if not call.is_database and _is_possible(error, call)]
    assert len(points) > (5 if flow in REPEATED else 20)
    points = thin_out(points, flow, step=8)
    # What follows an error is hardly ever another thing for another error: EIO is tried at every call.
    for number, call in enumerate(points if error == "EIO" or len(points) < 20 else points[OF_TODAY % 3 :: 3]):
        root = scene.copy(f"{error}-{number}")
        try:
            failing = f"{call.name}:error={error}:when={call.number}"
            ran = running.run(root, *scene.flow.arguments, inject=failing)
            assert "(INJECTED)" in "".join(ran.trace)
            _assert_survived(root, scene, ran, running)
        except Exception as problem:
            problem.add_note(f"{error} at {call}; the workspace is {root}")
            raise
        scene.delete(root)


def _is_possible(error: str, call: SystemCall) -> bool:
    return _POSSIBLE[error] is None or call.name in _POSSIBLE[error]


def _assert_survived(root: Path, scene: CrashScene, ran: TracedRun, running: TracedProcesses) -> None:
    """A success is one; a failure says what to do, and the next run finishes what it had begun."""
    assert ran.code in (0, 1), ran
    assert_consistent(root, scene)
    if ran.code == 0:
        assert read_state(root) == scene.done
    else:
        assert _COMPLAINT.fullmatch(ran.err), ran
    if scene.is_new(root, "the next run finishes it"):
        again = running.run(root, *scene.flow.arguments)
        assert again.code == 0 or _IS_DONE.search(again.err), again
        if scene.is_new(root, "it is finished"):
            assert recover_and_read(root) == scene.finished


@pytest.mark.parametrize("flow", FLOWS)
def test_short_writes_are_continued(scene_of: Callable[[str], CrashScene], running: TracedProcesses, flow: str) -> None:
    scene = scene_of(flow)
    root = scene.copy("short")
    assert running.run(root, *scene.flow.arguments, short_writes=True).code == 0
    assert read_state(root) == scene.done
    assert recover_and_read(root) == scene.finished


def test_a_disk_that_is_full_in_the_middle_of_a_file_shows_nothing_of_it(
    scene_of: Callable[[str], CrashScene], running: TracedProcesses
) -> None:
    scene = scene_of("resumed-end")
    for nth in range(2, 1000, 7):
        root = scene.copy(f"full-{nth}")
        ran = running.run(root, *scene.flow.arguments, inject=f"write:error=ENOSPC:when={nth}", short_writes=True)
        if "(INJECTED)" not in "".join(ran.trace):
            break
        if "No space left" in ran.err:  # else it was the output that found the disk full
            _assert_survived(root, scene, ran, running)
        scene.delete(root)
    assert nth > 50
