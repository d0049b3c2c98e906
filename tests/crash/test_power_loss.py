"""Power is lost: what was not synced is gone, and nothing that the store had returned from is. (law 2)

A recorded run is replayed on a model of a disk (tests/support/power_loss.py). After each of its calls power is lost
in two
ways: nothing unsynced survives; or every name does, and of the data only what was synced. Either way: each canonical
file that is there is whole; recovery ends in the state of an uninterrupted run, or of none where nothing had been
promised; `verify` finds nothing. Where the store has returned from a call, its key is what the call made it, whatever
survives; and when the run has ended, all of it is there without any recovery.

Fails without any one of these lines of the store: `sync` in `_temporary`; `fsync_directory` in `create`, `replace`,
`delete`, `_collected` and `make_directories`; and where databases.py makes its folder with a plain `mkdir`, for then no
job in it is durable.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lineage.store.temporaries import TEMP_PREFIX
from tests.support.crash_flows import FLOWS, CrashScene, assert_consistent, assert_recoverable, read_state
from tests.support.power_loss import STRACE, DurabilityReport, SimulatedDisk, replay_trace, write_tree
from tests.support.strace import TracedProcesses

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]


@pytest.mark.leaves_findings
@pytest.mark.parametrize("flow", FLOWS)
def test_what_was_not_synced_is_gone_and_nothing_else(
    tmp_path: Path, scene_of: Callable[[str], CrashScene], running: TracedProcesses, flow: str
) -> None:
    scene = scene_of(flow)
    recorded = scene.copy("recorded")
    disk = SimulatedDisk(recorded)
    ran = running.run(recorded, *scene.flow.arguments, strace=STRACE, report=True)
    assert ran.code == 0
    judged: set[tuple[tuple[str, bytes], ...]] = set()
    reports = 0
    for number, (line, report) in enumerate(replay_trace(disk, ran.trace)):
        for way, tree in (("synced", disk.read_durable()), ("named", disk.read_durable_names())):
            if report:
                reports += 1
                _assert_kept(report, disk, tree)
            key = tuple(sorted(tree.items()))
            if key not in judged:
                judged.add(key)
                _judge(tmp_path / f"lost-{number}-{way}" / "w", tree, scene, running, line)
    assert reports >= 2
    assert len(judged) >= 8
    _assert_all_of_it_is_there(tmp_path / "ended", disk, scene)


def _assert_kept(report: DurabilityReport, disk: SimulatedDisk, tree: dict[str, bytes]) -> None:
    expected = None if report.call == "delete" else disk.read_visible(report.path)
    assert (report.call == "delete") == (expected is None)
    assert tree.get(report.path) == expected, f"{report.call} of {report.path} had returned and was lost"


def _judge(root: Path, tree: dict[str, bytes], scene: CrashScene, running: TracedProcesses, line: str) -> None:
    root.mkdir(parents=True)
    write_tree(tree, scene.template, root)
    try:
        assert_consistent(root, scene)
        assert_recoverable(root, scene, running)
    except Exception as error:
        error.add_note(f"power lost after {line[:200]}; the workspace is {root}")
        raise
    scene.delete(root)


def _assert_all_of_it_is_there(folder: Path, disk: SimulatedDisk, scene: CrashScene) -> None:
    """The run has ended: what it did needs no recovery, and what it removed does not come back."""
    for way, tree in (("synced", disk.read_durable()), ("named", disk.read_durable_names())):
        root = folder / way / "w"
        root.mkdir(parents=True)
        write_tree(tree, scene.template, root)
        assert read_state(root) == scene.done
        assert not [path for path in tree if "/spool/" in path and path.endswith(".json")]


def test_a_text_that_a_dead_writer_left_behind_does_not_come_back_after_its_removal(
    scene_of: Callable[[str], CrashScene], running: TracedProcesses
) -> None:
    scene = scene_of("remove")
    recorded = scene.copy("recorded-leftover")
    (recorded / "memory" / f"{TEMP_PREFIX}0123456789abcdef").write_text("of the session")
    disk = SimulatedDisk(recorded)
    ran = running.run(recorded, *scene.flow.arguments, strace=STRACE, report=True)
    assert ran.code == 0
    list(replay_trace(disk, ran.trace))
    assert not [path for path, data in disk.read_durable().items() if data == b"of the session"]
