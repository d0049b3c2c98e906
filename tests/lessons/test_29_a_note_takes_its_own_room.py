"""Lessons, 29: "A 25 kB project note gives 6,250 of 2,000 budgeted tokens, and evicts the decisions and the handoff."

Fails without a cap or a floor for each section in RULES of projection/context.py, and where the budget counts only what
is left after some section had what it wanted.
"""

from pathlib import Path

import pytest

from lineage.core.budget import cost, tokens
from lineage.pipeline.house import House
from lineage.pipeline.incoming.preparing import prepare
from lineage.pipeline.knowledge.context import Asked, context
from lineage.pipeline.publishing import publish_all
from lineage.telemetry import Seen
from tests.support.books import by_hand, put
from tests.support.doorbells import block
from tests.support.houses import end, house_at

DEMO = "/home/ada/demo"
NOTE = "The demo reads lines, and this is how it does that. " * 500
NAMED = {"handoff": "The writer is next.", "decision": "We split by splitlines.", "lesson": "The fixture is needed."}


def furnish(house: House) -> None:
    end(house, "s-1")
    for kind, text in NAMED.items():
        put(house, "agent/default", kind, text, at="2026-11-21T00:00:00Z")
    put(house, "project/demo", "task", "Release the reader.")
    publish_all(house)


@pytest.mark.parametrize(
    ("path", "heading"),
    [("books/project/demo/note.md", "## This project"), ("AGENT_MEMORY.md", "## AGENT_MEMORY.md (authoritative)")],
)
def test_a_note_of_25_kb_keeps_to_its_room(tmp_path: Path, path: str, heading: str) -> None:
    assert len(NOTE) > 25_000
    with house_at(tmp_path) as house:
        furnish(house)
        by_hand(house, path, NOTE)
        found = context(house, Asked(project=DEMO))
        assert tokens(cost(found.text)) == found.tokens <= 2000
        assert heading in found.text
        for text in (*NAMED.values(), "Release the reader."):
            assert text in found.text
        (cut,) = [spent for spent in found.sections if spent.cut]
        assert 0 < cut.tokens <= cut.cap
        assert "The demo reads lines" in found.text.partition(f"{heading}\n")[2].partition("\n")[0]


def test_what_the_doorbell_finds_keeps_to_it_too(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        furnish(house)
        by_hand(house, "books/project/demo/note.md", NOTE)
        house.telemetry.saw(Seen("generic", "default", "s-1", "t", None, DEMO, "turn-end", house.now, None))
        prepare(house)
    text = block(tmp_path, DEMO)
    assert tokens(cost(text)) <= 2000
    assert NAMED["handoff"] in text
