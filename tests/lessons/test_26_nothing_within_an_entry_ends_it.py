"""Lessons, 26: "A `---` rule inside an entry ends it: the rest is lost. Text before the first `##` is lost on
migration."

Fails where an entry ends at anything but its own end marker, and where `book show` or an edit passes over what stands
between no markers. (`lineage memory migrate` itself is tested with its own command.)
"""

import pytest

from tests.support.commands import LineageCommand

pytestmark = pytest.mark.slow

FIRST = "Text before the first heading.\n\nSome more of it."
INSIDE = [
    "before\n\n---\n\nafter",
    "before\n\n## A heading\n\nafter",
    "before\n<!-- lineage:end 0123456789abcdef -->\nafter",
    'before\n<!-- lineage:entry {"id": "0123456789abcdef"} -->\nafter',
    "before\n<!-- lineage:forgotten 0123456789abcdef -->\nafter",
    "before\n```\n---\nafter",
    "---\nkind: book\n---\nafter",
    "before\n<!-- a comment that never ends\nafter",
]


@pytest.mark.parametrize("text", INSIDE)
def test_an_entry_holds_all_that_it_was_given(lineage: LineageCommand, text: str) -> None:
    lineage("init")
    path = lineage.root / "AGENT_MEMORY.md"
    path.write_text(f"{FIRST}\n\n## A heading by hand\n\nBelow it.\n")
    lineage("remember", "--curated", "--", text)
    lineage("remember", "--curated", "An entry behind it.")
    shown = lineage("book", "show", "global", "curated", "--json").json
    by_hand, entry, behind = shown["entries"]
    assert by_hand["text"].startswith(FIRST)
    assert by_hand["text"].endswith("Below it.")
    assert entry["text"].replace("&lt;", "<") == text
    assert behind["text"] == "An entry behind it."
    assert shown["problems"] == []


@pytest.mark.parametrize("text", INSIDE)
def test_an_edit_keeps_it_whole_too(lineage: LineageCommand, text: str) -> None:
    lineage("init")
    path = lineage.root / "AGENT_MEMORY.md"
    path.write_text(FIRST + "\n")
    identifier = lineage("remember", "--curated", "Something else at first.", "--json").json["id"]
    lineage("book", "edit", identifier, "--", text)
    lineage("book", "pin", identifier)
    shown = lineage("book", "show", "global", "curated", "--json").json["entries"]
    assert [entry["text"].replace("&lt;", "<") for entry in shown] == [FIRST, text]
    assert path.read_text().startswith(FIRST + "\n")
