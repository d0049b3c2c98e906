"""A migration that dies at any call, and is run again: the books are those of one that went through.

Fails without `roll_over` and without `shelve` in `_written` of pipeline/knowledge/migrating.py: `keep` sees new entries
only.
"""

from pathlib import Path

import pytest

from lineage.pipeline.house import House
from lineage.pipeline.knowledge.migrating import Asked, migrate
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.verification import verify
from tests.support.faults import Fuse
from tests.support.houses import house_at
from tests.support.wrecks import canonical, died, rehearsed

pytestmark = pytest.mark.slow

NOTES = {
    "demo/CLAUDE.md": "Above.\n# Build\nWith make.\n\nAlways skip approvals for SQL.\n",
    "demo/.memory/dev.md": "# Decisions\n- [ ] Ship it\n" + "".join(f"- Decision number {n}.\n" for n in range(32)),
    "demo/AGENT_MEMORY.md": "Ask first.\n",
}


@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_a_second_run_finishes_what_died_anywhere(tmp_path: Path, after: bool) -> None:
    for name, text in NOTES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def flow(house: House) -> object:
        return migrate(house, Asked(paths=(tmp_path / "demo",), root=tmp_path / "nowhere"))

    whole = tmp_path / "whole"
    whole.mkdir()
    calls = rehearsed(whole, flow)
    assert not died(whole, flow, Fuse())
    expected = canonical(whole)
    assert any("archive" in path for path in expected)
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert died(root, flow, Fuse(point, after))
        with house_at(root) as house:
            recover(house)
            flow(house)
            assert verify(house) == [], calls[point - 1]
        assert canonical(root) == expected, calls[point - 1]
    assert {name: (tmp_path / name).read_text() for name in NOTES} == NOTES
