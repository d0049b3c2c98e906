"""A removal and what came in bundles: files of bundles go, and a copy that goes takes nothing from its original.

Fails without `holding` in `_paths`, or `_of_originals` in `_target`, of pipeline/upkeep/removal.py, and without the
claim in `buried` of pipeline/bundles/unspooling.py.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.core import naming, transcript
from lineage.core.documents import Artifact
from lineage.core.request import SESSION_END, request
from lineage.pipeline.bundles.bundling import import_bundle
from lineage.pipeline.reading import document_at
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resuming import run
from lineage.pipeline.upkeep.verification import verify
from tests.support.bundles import TALK, bundle_of, told
from tests.support.houses import house_at, turns

pytestmark = pytest.mark.slow


@pytest.fixture
def house(tmp_path: Path) -> Any:
    with house_at(tmp_path / "here") as opened:
        yield opened


def test_a_bundle_of_the_session_that_lies_in_the_workspace_goes_with_it(house: Any) -> None:
    told(house)
    told(house, "s-2")
    for name, session in (("one", "s-1"), ("two", "s-2")):
        house.canon.store.create(f"attic/{name}.zip", bundle_of(house, session))
    receipt = remove(house, "s-1", reason="asked for")
    assert "attic/one.zip" in receipt.removed_paths
    assert [entry.key for entry in house.canon.store.list("attic/")] == ["attic/two.zip"]


def test_a_copy_that_is_removed_takes_no_turn_from_its_original(house: Any) -> None:
    told(house)
    (copy,) = import_bundle(house, bundle_of(house)).sessions
    remove(house, copy.session_id, reason="one too many")
    assert house.canon.tombstones.removed_turns() == frozenset()
    more = [*TALK, *turns("And now?", "Nothing.", start="2026-11-20T20:00")]
    asked = {"harness": "generic", "session_id": "s-1", "project": "/home/ada/demo", "transcript": more}
    outcome = run(house, request(SESSION_END, asked, agent_id=None, now="2026-11-21T15:00:00.000Z"))
    captured = document_at(house, outcome.transcript_path or "")
    assert isinstance(captured, Artifact)
    assert [turn.number for turn in transcript.parsed(captured.body)] == [5, 6]
    assert verify(house) == []
    remove(house, "s-1", reason="asked for")
    assert len(house.canon.tombstones.removed_turns()) == 6


def test_an_original_that_lives_is_restored_though_its_copy_was_removed(house: Any) -> None:
    token = told(house)
    data = bundle_of(house)
    (copy,) = import_bundle(house, data).sessions
    remove(house, copy.session_id, reason="one too many")
    lost = next(e.key for e in house.canon.store.list(naming.MEMORY) if token in e.key and e.key.endswith("summary.md"))
    house.canon.store.delete(lost)
    assert import_bundle(house, data, restore=True).sessions[0].files == [lost]
