"""An import that dies at any call, and `recover`, or the next command: it is there as a whole, or not at all.

Fails without the dispatch on `IMPORT` in `_finish_job` of pipeline/upkeep/resuming.py, and without IMPORT in its
`resume`.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.core.request import SESSION_END, request
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.resuming import run
from lineage.pipeline.upkeep.verification import verify
from tests.support.bundles import TALK, bundle_of, imports, told
from tests.support.faults import Fuse
from tests.support.houses import NOW, house_at, turns
from tests.support.wrecks import canonical, died, rehearsed, spooled

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> bytes:
    with house_at(tmp_path / "there") as there:
        told(there)
        return bundle_of(there)


@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_recover_finishes_an_import_that_died_anywhere(tmp_path: Path, data: bytes, restore: bool, after: bool) -> None:
    flow, whole = imports(data, restore=restore), tmp_path / "whole"
    whole.mkdir()
    calls = rehearsed(whole, flow)
    assert not died(whole, flow, Fuse())
    expected = canonical(whole)
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert died(root, flow, Fuse(point, after))
        begun = bool(spooled(root)) or canonical(root) == expected
        with house_at(root, now=NOW) as house:
            recover(house)
            assert verify(house) == [], calls[point - 1]
            again = recover(house)
            assert (again.finished, again.waiting) == ([], [])
        assert spooled(root) == []
        found = {path: found for path, found in canonical(root).items() if path != "MEMORY.md"}
        wanted = {path: found for path, found in expected.items() if path != "MEMORY.md"}
        assert found == (wanted if begun else {}), calls[point - 1]


def test_the_end_of_the_very_session_that_is_being_restored_finishes_it_first(tmp_path: Path, data: bytes) -> None:
    flow = imports(data, restore=True)
    (tmp_path / "calls").mkdir()
    calls = rehearsed(tmp_path / "calls", flow)
    more = [*TALK, *turns("And now?", "Nothing.", start="2026-11-20T20:00")]
    asked = {"harness": "generic", "session_id": "s-1", "project": "/home/ada/demo", "transcript": more}

    def ended(house: House) -> Any:
        return run(house, request(SESSION_END, asked, agent_id=None, now="2026-11-21T15:00:00.000Z"))

    for point in range(2, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert died(root, flow, Fuse(point))
        with house_at(root, now="2026-11-21T15:00:00.000Z") as house:
            outcome = ended(house)
            assert (outcome.status, outcome.turns) == ("captured", 2), calls[point - 1]
            assert len(house.canon.manifests.get(house.canon.claims.stem_of(outcome.session_token) or "").captures) == 3
            assert verify(house) == []
        assert spooled(root) == []
