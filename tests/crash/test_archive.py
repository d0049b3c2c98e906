"""An archive, and a removal and a redaction of what is archived, that die anywhere. (law 1)

A run dies before and after each mutating call of either store and of the databases. After any later command finished
it, and after a recovery did, the workspace is that of a run nobody interrupted, byte for byte; at the moment of the
death itself every artifact can be read, and `verify` finds nothing that is lost.

Fails without the order of bundle, notes and originals in pipeline/maintenance/archive.py, without its job in the spool
or its line in pipeline/maintenance/finish_pending.py, without `collect_garbage` where an archive or a removal ends, and
with an old revision that goes before the new one is there.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lineage.core.sanitizer import BUILTIN, Rule, Ruleset, build_ruleset
from lineage.core.transfer.archive_paths import note_path
from lineage.pipeline.maintenance.archive import archive
from lineage.pipeline.maintenance.findings import MUST
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.resanitize import resanitize
from lineage.pipeline.maintenance.verify import verify
from lineage.workspace.workspace import Workspace
from tests.support.archives import APRIL, BEFORE, find_mentions, read_bundled_artifacts, write_january_sessions
from tests.support.crash_flows import read_everything
from tests.support.dead_processes import (
    copy_workspace,
    list_spool_paths,
    read_workspace_files,
    run_until_crash,
    strip_write_fields,
)
from tests.support.faults import CrashPoint
from tests.support.workspace import open_test_workspace

pytestmark = pytest.mark.slow

RULES = build_ruleset([Rule(id="bird", pattern="heron|bittern", keywords=("heron", "bittern"))])

every_finish = pytest.mark.parametrize("finish", [recover, finish_pending], ids=["recover", "the next command"])


def archived(ws: Workspace) -> object:
    return archive(ws, BEFORE)


def removed(ws: Workspace) -> object:
    return remove(ws, "s-1", reason="asked for")


def texts(root: Path) -> dict[str, bytes]:
    """What a reader of the workspace finds: every file but bundles, and what is in those; MEMORY.md is the caller's."""
    files = read_workspace_files(root).items()
    plain = {path: data for path, data in files if not path.endswith((".zip", ".json")) and path != "MEMORY.md"}
    return strip_write_fields(plain) | {f"bundled {path}": data for path, data in read_bundled_artifacts(root).items()}


def each_death(
    root: Path, flow: Callable[[Workspace], object], rules: Ruleset = BUILTIN
) -> Iterator[tuple[int, Path, bool]]:
    """(point, workspace, whether the run died) of every death of a flow before and after each call, and of the run that
    nobody interrupts; of those that leave the same in every byte and row, as after a call and before the next, one."""
    seen: set[tuple[object, ...]] = set()
    for point, after in itertools.product(range(1, 1000), (False, True)):
        copy = root.with_name(f"copy-{point}-{after}")
        copy_workspace(root, copy, APRIL)
        is_dead = run_until_crash(copy, flow, CrashPoint(point, after), now=APRIL, rules=rules)
        left = tuple(read_everything(copy))
        if left not in seen:
            seen.add(left)
            yield point, copy, is_dead
        shutil.rmtree(copy)
        if not is_dead:
            break


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    write_january_sessions(folder)
    return folder


@pytest.fixture
def packed(root: Path) -> Path:
    with open_test_workspace(root, now=APRIL) as ws:
        archived(ws)
    return root


@every_finish
def test_an_archive_that_died_anywhere_is_finished(root: Path, finish: Callable[[Workspace], object]) -> None:
    with open_test_workspace(root, now=APRIL) as ws:
        recover(ws)
    copy_workspace(root, root.with_name("whole"), APRIL)
    with open_test_workspace(root.with_name("whole"), now=APRIL) as ws:
        archived(ws)
        paths = [item.path for item in ws.index.iter_files()]
    whole, untouched, deaths = texts(root.with_name("whole")), texts(root), 0
    for point, copy, is_dead in each_death(root, archived):
        deaths += is_dead
        with open_test_workspace(copy, now=APRIL) as ws:
            assert all(ws.documents.store.read(path).data for path in paths), point
            assert all((copy / path).exists() or (copy / note_path(path)).exists() for path in paths), point
            assert [finding for finding in verify(ws) if finding.level == MUST] == [], point
            finish(ws)
            assert verify(ws) == [], point
            assert texts(copy) in (whole, untouched), point
            archived(ws)
            assert verify(ws) == [], point
        assert texts(copy) == whole, point
        assert list_spool_paths(copy) == []
    assert deaths >= 20


@pytest.mark.slow
@every_finish
def test_a_removal_of_what_is_archived_is_finished(packed: Path, finish: Callable[[Workspace], object]) -> None:
    copy_workspace(packed, packed.with_name("whole"), APRIL)
    with open_test_workspace(packed.with_name("whole"), now=APRIL) as ws:
        removed(ws)
    whole, begun = texts(packed.with_name("whole")), 0
    for point, copy, _ in each_death(packed, removed):
        is_begun = bool(list_spool_paths(copy)) or bool(list(copy.glob("memory/tombstones/*")))
        begun += is_begun
        with open_test_workspace(copy, now=APRIL) as ws:
            finish(ws)
            assert verify(ws) == [], point
        if is_begun:
            assert find_mentions(copy, "heron") == [], point
            assert texts(copy) == whole, point
        assert list_spool_paths(copy) == []
    assert begun > 10


@pytest.mark.slow
@every_finish
def test_a_redaction_of_what_is_archived_is_finished(packed: Path, finish: Callable[[Workspace], object]) -> None:
    for point, copy, _ in each_death(packed, resanitize, rules=RULES):
        with open_test_workspace(copy, now=APRIL, rules=RULES) as ws:
            finish(ws)
            resanitize(ws)
            assert verify(ws) == [], point
        assert find_mentions(copy, "heron") == find_mentions(copy, "bittern") == [], point
        assert list_spool_paths(copy) == []


@pytest.mark.slow
def test_what_was_removed_while_it_was_archived_leaves_the_bundle_again(root: Path) -> None:
    for point, copy, is_dead in each_death(root, archived):
        spool = copy / ".lineage" / "spool"
        aside = copy.with_name("aside")
        if is_dead and spool.is_dir():
            shutil.copytree(spool, aside)
            shutil.rmtree(spool)
            with open_test_workspace(copy, now=APRIL) as ws:
                removed(ws)
            shutil.copytree(aside, spool, dirs_exist_ok=True)
            shutil.rmtree(aside)
            with open_test_workspace(copy, now=APRIL) as ws:
                finish_pending(ws)
                assert verify(ws) == [], point
            assert find_mentions(copy, "heron") == [], point
