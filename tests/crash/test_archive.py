"""An archive, and a removal and a redaction of what is archived, that die anywhere. (law 1)

A run dies before and after each mutating call of either store and of the databases. After any later command finished
it, and after a recovery did, the workspace is that of a run nobody interrupted, byte for byte; at the moment of the
death itself every artifact can be read, and `verify` finds nothing that is lost.

Fails without the order of bundle, notes and originals in pipeline/archive/archiving.py, without its job in the spool or
its line in pipeline/upkeep/resuming.py, without `tidy` where an archive or a removal ends, and with an old revision
that goes before the new one is there.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lineage.core.archive import note_path
from lineage.core.sanitizer import BUILTIN, Rule, Ruleset, ruleset
from lineage.pipeline.archive.archiving import archive
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resanitizing import resanitize
from lineage.pipeline.upkeep.resuming import resume
from lineage.pipeline.upkeep.verification import MUST, verify
from tests.support.archives import APRIL, BEFORE, bundled, mentions, told
from tests.support.faults import Fuse
from tests.support.houses import house_at
from tests.support.wrecks import canonical, copied, died, spooled, without_write_times

pytestmark = pytest.mark.slow

RULES = ruleset([Rule(id="bird", pattern="heron|bittern", keywords=("heron", "bittern"))])

every_finish = pytest.mark.parametrize("finish", [recover, resume], ids=["recover", "the next command"])
every_side = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


def archived(house: House) -> object:
    return archive(house, BEFORE)


def removed(house: House) -> object:
    return remove(house, "s-1", reason="asked for")


def texts(root: Path) -> dict[str, bytes]:
    """What a reader of the workspace finds: every file but bundles, and what is in those; MEMORY.md is the caller's."""
    files = canonical(root).items()
    plain = {path: data for path, data in files if not path.endswith((".zip", ".json")) and path != "MEMORY.md"}
    return without_write_times(plain) | {f"bundled {path}": data for path, data in bundled(root).items()}


def each_death(
    root: Path, flow: Callable[[House], object], *, after: bool, rules: Ruleset = BUILTIN
) -> Iterator[tuple[int, Path, bool]]:
    """(point, workspace, whether the run died) of every death of a flow, and of the run that nobody interrupts."""
    for point in itertools.count(1):
        copy = root.with_name(f"copy-{point}")
        copied(root, copy, APRIL)
        is_dead = died(copy, flow, Fuse(point, after), now=APRIL, rules=rules)
        yield point, copy, is_dead
        shutil.rmtree(copy)
        if not is_dead:
            break


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    told(folder)
    return folder


@pytest.fixture
def packed(root: Path) -> Path:
    with house_at(root, now=APRIL) as house:
        archived(house)
    return root


@every_side
@every_finish
def test_an_archive_that_died_anywhere_is_finished(root: Path, finish: Callable[[House], object], after: bool) -> None:
    with house_at(root, now=APRIL) as house:
        recover(house)
    copied(root, root.with_name("whole"), APRIL)
    with house_at(root.with_name("whole"), now=APRIL) as house:
        archived(house)
        paths = [item.path for item in house.index.known()]
    whole, untouched, deaths = texts(root.with_name("whole")), texts(root), 0
    for point, copy, is_dead in each_death(root, archived, after=after):
        deaths += is_dead
        with house_at(copy, now=APRIL) as house:
            assert all(house.canon.store.read(path).data for path in paths), point
            assert all((copy / path).exists() or (copy / note_path(path)).exists() for path in paths), point
            assert [finding for finding in verify(house) if finding.level == MUST] == [], point
            finish(house)
            assert verify(house) == [], point
            assert texts(copy) in (whole, untouched), point
            archived(house)
            assert verify(house) == [], point
        assert texts(copy) == whole, point
        assert spooled(copy) == []
    assert deaths >= 20


@pytest.mark.slow
@every_side
@every_finish
def test_a_removal_of_what_is_archived_is_finished(
    packed: Path, finish: Callable[[House], object], after: bool
) -> None:
    copied(packed, packed.with_name("whole"), APRIL)
    with house_at(packed.with_name("whole"), now=APRIL) as house:
        removed(house)
    whole, begun = texts(packed.with_name("whole")), 0
    for point, copy, _ in each_death(packed, removed, after=after):
        is_begun = bool(spooled(copy)) or bool(list(copy.glob("memory/tombstones/*")))
        begun += is_begun
        with house_at(copy, now=APRIL) as house:
            finish(house)
            assert verify(house) == [], point
        if is_begun:
            assert mentions(copy, "heron") == [], point
            assert texts(copy) == whole, point
        assert spooled(copy) == []
    assert begun > 10


@pytest.mark.slow
@every_side
@every_finish
def test_a_redaction_of_what_is_archived_is_finished(
    packed: Path, finish: Callable[[House], object], after: bool
) -> None:
    for point, copy, _ in each_death(packed, resanitize, after=after, rules=RULES):
        with house_at(copy, now=APRIL, rules=RULES) as house:
            finish(house)
            resanitize(house)
            assert verify(house) == [], point
        assert mentions(copy, "heron") == mentions(copy, "bittern") == [], point
        assert spooled(copy) == []


@pytest.mark.slow
def test_what_was_removed_while_it_was_archived_leaves_the_bundle_again(root: Path) -> None:
    for point, copy, is_dead in each_death(root, archived, after=True):
        spool = copy / ".lineage" / "spool"
        aside = copy.with_name("aside")
        if is_dead and spool.is_dir():
            shutil.copytree(spool, aside)
            shutil.rmtree(spool)
            with house_at(copy, now=APRIL) as house:
                removed(house)
            shutil.copytree(aside, spool, dirs_exist_ok=True)
            shutil.rmtree(aside)
            with house_at(copy, now=APRIL) as house:
                resume(house)
                assert verify(house) == [], point
            assert mentions(copy, "heron") == [], point
