"""An import is there as a whole or not at all: it is finished from its job, or undone.

Fails without `undo` in `_finish_or_undo` of pipeline/bundles/bundling.py, without any deletion or row that it takes
back, without the question to the tombstones in `finish_session`, and without `unfinished` in app/bundling.py.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.canon.bundles import unpacked
from lineage.errors import WorkspaceError
from lineage.pipeline.bundles.bundling import finish_import, import_bundle
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.verification import verify
from lineage.store import LocalStore
from tests.support.bundles import bundle_of, files, imports, told
from tests.support.commands import Lineage
from tests.support.faults import Fuse
from tests.support.houses import NOW, contents, end, house_at
from tests.support.wrecks import canonical, died, rehearsed, spooled

pytestmark = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_an_import_that_died_anywhere_is_finished_from_its_job(tmp_path: Path, restore: bool, after: bool) -> None:
    with house_at(tmp_path / "there") as there:
        told(there)
        data = bundle_of(there)
    flow = imports(data, restore=restore)
    whole = tmp_path / "whole"
    whole.mkdir()
    calls = rehearsed(whole, flow)
    assert not died(whole, flow, Fuse())
    expected = canonical(whole)
    assert len(calls) > 10
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert died(root, flow, Fuse(point, after))
        begun = bool(spooled(root))
        assert begun or canonical(root) in ({}, expected), calls[point - 1]
        with house_at(root, now=NOW) as house:
            for job in house.canon.spool.pending():
                finish_import(house, job)
            assert verify(house) == [], calls[point - 1]
        assert spooled(root) == []
        assert canonical(root) in ([expected] if begun else [{}, expected]), calls[point - 1]


class _Failing(LocalStore):
    """A store whose disk is full from some write on; what is deleted is deleted."""

    def __init__(self, root: Path, writes: int) -> None:
        super().__init__(root)
        self.left = writes

    def create(self, key: str, data: bytes, *, frozen: bool = False) -> str:
        if not key.startswith(".lineage/"):
            self.left -= 1
        if self.left < 0 and key.startswith(("memory/", "books/")):
            raise WorkspaceError(f"{key}: no space left on device")
        return super().create(key, data, frozen=frozen)


@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
def test_an_import_whose_writing_fails_is_undone(tmp_path: Path, there: House, restore: bool) -> None:
    token = told(there)
    data = bundle_of(there)
    for writes in range(len(unpacked(data).files) + 1):
        root = tmp_path / f"full-{writes}"
        root.mkdir()
        (root / "books" / "session" / token).mkdir(parents=True)
        with house_at(root, store=_Failing(root, writes)) as house:
            end(house.__class__(**_plain(house, root)), "other")
            before = contents(house.canon.store, "memory/", "books/")
            with pytest.raises(WorkspaceError):
                import_bundle(house, data, restore=restore)
            assert contents(house.canon.store, "memory/", "books/") == before
            assert house.canon.spool.pending() == []
            assert len(house.index.sessions(None)) == 1
            assert verify(house) == []


def _plain(house: House, root: Path) -> dict[str, Any]:
    """The same house over a disk with room."""
    from lineage.canon import Canon

    return {**house._asdict(), "canon": Canon(LocalStore(root), house.canon.spool.store)}


def test_a_session_that_was_removed_while_its_import_was_cut_off_goes_again(tmp_path: Path, there: House) -> None:
    token = told(there)
    data = bundle_of(there)
    root = tmp_path / "root"
    root.mkdir()
    with house_at(root) as house:
        import_bundle(house, data, restore=True)
    calls = rehearsed(root, imports(data))
    assert died(root, imports(data), Fuse(len(calls) - 1))
    with house_at(root) as house:
        (job,) = house.canon.spool.pending()
        house.canon.spool.clear(job)
        remove(house, token, reason="asked for")
        house.canon.spool.put(job)
        finish_import(house, job)
        assert house.canon.spool.pending() == []
        assert [path for path in files(house) if job.token in path] == []
        assert [finding for finding in verify(house) if job.token in finding.path] == []


def test_importing_again_what_was_cut_off_finishes_it(tmp_path: Path, there: House, lineage: Lineage) -> None:
    told(there)
    file = tmp_path / "x.zip"
    file.write_bytes(bundle_of(there))
    lineage("init")
    flow = imports(file.read_bytes())
    calls = rehearsed(lineage.root, flow)
    assert died(lineage.root, flow, Fuse(next(n for n, call in enumerate(calls, 1) if "manifest" in call)))
    (job,) = spooled(lineage.root)
    done = lineage("bundle", "import", str(file), "--json").json
    assert done["sessions"][0]["session_token"] in job
    assert len(lineage("sessions", "--json").json["sessions"]) == 1
    assert spooled(lineage.root) == []
