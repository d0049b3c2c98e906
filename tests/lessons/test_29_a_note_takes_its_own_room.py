"""Lessons, 29: "A 25 kB project note gives 6,250 of 2,000 budgeted tokens, and evicts the decisions and the handoff."

Fails without a cap or a floor for each section in RULES of projection/context.py, and where the budget counts only what
is left after some section had what it wanted.
"""

from pathlib import Path

import pytest

from lineage.core.capture.budget import cost_to_tokens, estimate_cost
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.telemetry import SeenSession
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.books import edit_by_hand, write_entry
from tests.support.hook_process import read_context_block
from tests.support.workspace import end_session, open_test_workspace

DEMO = "/home/ada/demo"
NOTE = "The demo reads lines, and this is how it does that. " * 500
NAMED = {"handoff": "The writer is next.", "decision": "We split by splitlines.", "lesson": "The fixture is needed."}


def furnish(ws: Workspace) -> None:
    end_session(ws, "s-1")
    for kind, text in NAMED.items():
        write_entry(ws, "agent/default", kind, text, at="2026-11-21T00:00:00Z")
    write_entry(ws, "project/demo", "task", "Release the reader.")
    publish_all(ws)


@pytest.mark.parametrize(
    ("path", "heading"),
    [("books/project/demo/note.md", "## This project"), ("AGENT_MEMORY.md", "## AGENT_MEMORY.md (authoritative)")],
)
def test_a_note_of_25_kb_keeps_to_its_room(tmp_path: Path, path: str, heading: str) -> None:
    assert len(NOTE) > 25_000
    with open_test_workspace(tmp_path) as ws:
        furnish(ws)
        edit_by_hand(ws, path, NOTE)
        found = build_context(ws, ContextRequest(project=DEMO))
        assert cost_to_tokens(estimate_cost(found.text)) == found.tokens <= 2000
        assert heading in found.text
        for text in (*NAMED.values(), "Release the reader."):
            assert text in found.text
        (cut,) = [spent for spent in found.sections if spent.cut]
        assert 0 < cut.tokens <= cut.cap
        assert "The demo reads lines" in found.text.partition(f"{heading}\n")[2].partition("\n")[0]
        publish_all(ws)  # MEMORY.md begins with what a hand wrote, and keeps to its room, too
        assert len(ws.documents.store.read("MEMORY.md").data) < 25_000


def test_the_context_of_a_hook_keeps_to_it_too(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        furnish(ws)
        edit_by_hand(ws, "books/project/demo/note.md", NOTE)
        ws.telemetry.record_event(SeenSession("generic", "default", "s-1", "t", None, DEMO, "turn-end", ws.now, None))
        prepare_contexts(ws)
        publish_all(ws)
    text = read_context_block(tmp_path, DEMO)
    assert cost_to_tokens(estimate_cost(text)) <= 2000
    assert NAMED["handoff"] in text
