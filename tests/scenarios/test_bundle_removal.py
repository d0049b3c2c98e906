"""A removal and what came in bundles: files of bundles go, and a copy that goes takes nothing from its original.

Fails without `holding` in `_paths`, or `_of_originals` in `_target`, of pipeline/upkeep/removal.py, and without the
claim in `buried` of pipeline/bundles/unspooling.py.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.capture.request import SESSION_END, parse_request
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.transfer.bundles import import_bundle
from lineage.workspace.lookup import load_document
from tests.support.bundles import TURNS, export_bundle, write_session_with_books
from tests.support.workspace import make_turns, open_test_workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def ws(tmp_path: Path) -> Any:
    with open_test_workspace(tmp_path / "here") as opened:
        yield opened


def test_a_bundle_of_the_session_that_lies_in_the_workspace_goes_with_it(ws: Any) -> None:
    write_session_with_books(ws)
    write_session_with_books(ws, "s-2")
    for name, session in (("one", "s-1"), ("two", "s-2")):
        ws.documents.store.create(f"attic/{name}.zip", export_bundle(ws, session))
    receipt = remove(ws, "s-1", reason="asked for")
    assert "attic/one.zip" in receipt.removed_paths
    assert [entry.key for entry in ws.documents.store.list("attic/")] == ["attic/two.zip"]


def test_a_copy_that_is_removed_takes_no_turn_from_its_original(ws: Any) -> None:
    write_session_with_books(ws)
    (copy,) = import_bundle(ws, export_bundle(ws), copy=True).sessions
    remove(ws, copy.session_id, reason="one too many")
    assert ws.documents.tombstones.read_removed_turns() == frozenset()
    more = [*TURNS, *make_turns("And now?", "Nothing.", start="2026-11-20T20:00")]
    asked = {"harness": "generic", "session_id": "s-1", "project": "/home/ada/demo", "transcript": more}
    outcome = run_capture(ws, parse_request(SESSION_END, asked, agent_id=None, now="2026-11-21T15:00:00.000Z"))
    captured = load_document(ws, outcome.transcript_path or "")
    assert isinstance(captured, Artifact)
    assert [turn.number for turn in transcript.parse_turns(captured.body)] == [5, 6]
    assert verify(ws) == []
    remove(ws, "s-1", reason="asked for")
    assert len(ws.documents.tombstones.read_removed_turns()) == 6


def test_an_original_that_lives_is_restored_though_its_copy_was_removed(ws: Any) -> None:
    token = write_session_with_books(ws)
    data = export_bundle(ws)
    (copy,) = import_bundle(ws, data, copy=True).sessions
    remove(ws, copy.session_id, reason="one too many")
    names = (e.key for e in ws.documents.store.list(naming.MEMORY) if token in e.key)
    lost = next(key for key in names if key.endswith("summary.md"))
    ws.documents.store.delete(lost)
    assert import_bundle(ws, data, restore=True).sessions[0].files == [lost]
