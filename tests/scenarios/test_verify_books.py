"""`lineage verify` over books: each promise of `_books` in pipeline/upkeep/verification.py is broken once, and said to
be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lineage.core.documents import Tombstone
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.verification import MUST, SHOULD, Finding, verify
from tests.support.artifacts import identity
from tests.support.books import by_hand, put
from tests.support.houses import NOW, house_at

NOTE = "books/global/note.md"
TOKEN = identity().token
FROM = f"[[memory/2026-11-20T10-30-00.000Z--{TOKEN}--summary|summary]]"

pytestmark = [pytest.mark.slow, pytest.mark.leaves_findings]


def of_books(house: House) -> list[Finding]:
    return [finding for finding in verify(house) if finding.path.startswith(("books/", "AGENT_MEMORY.md"))]


def bury(house: House) -> None:
    house.canon.tombstones.put(
        Tombstone(
            kind="tombstone", agent_id="default", session_token=TOKEN, removed_at=NOW, reason="x", removed_paths=[],
            removed_turns=[],
        )
    )  # fmt: skip


def test_books_that_are_whole_and_shelved_are_no_finding(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples", origin=FROM)
        put(house, "global", "note", "pears", shelf="pending")
        by_hand(house, "AGENT_MEMORY.md", "Never on Fridays.\n")
        by_hand(house, "books/agent/default/daily/2024-02-29.md", "No properties, and no need of any.\n")
        by_hand(house, "books/README.md", "A note of somebody's.\n")
        reindex(house)
        assert of_books(house) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda text: text.replace("lineage:end ", "lineage:end x"), "a damaged marker"),
        (lambda text: text[: text.index("<!-- lineage:end")], "its end is missing"),
        (lambda text: text + text[text.index("<!-- lineage:entry") :], "is there 2 times"),
        (lambda text: text.replace('scope: "global"', 'scope: "project/x"'), "it is that of another book"),
        (lambda text: text.replace("---\n", "---\nx: [\n", 1), "frontmatter: "),
    ],
)
def test_what_a_hand_broke_is_said_with_its_path_and_nothing_is_lost(
    tmp_path: Path, change: Callable[[str], str], what: str
) -> None:
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples")
        by_hand(house, NOTE, change((tmp_path / NOTE).read_text()))
        reindex(house)
        found = of_books(house)
        assert {(finding.level, finding.path) for finding in found} == {(SHOULD, NOTE)}
        assert any(what in finding.what for finding in found)
        assert house.index.search("apples", None, limit=5)


def test_a_hand_edit_waits_for_a_reindex(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples")
        by_hand(house, "books/global/fact.md", "pears\n")
        (tmp_path / NOTE).unlink()
        (changed, gone) = of_books(house)
        assert (changed.path, changed.mend, gone.path) == ("books/global/fact.md", "lineage reindex", NOTE)
        reindex(house)
        assert of_books(house) == []


def test_an_entry_without_its_row_is_found(tmp_path: Path) -> None:
    import sqlite3

    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples")
        with sqlite3.connect(house.index.path) as database:
            database.execute("delete from book_entries")
        (finding,) = of_books(house)
        assert (finding.level, finding.path) == (SHOULD, NOTE)
        assert "index.db" in finding.mend
        house.index.reset()
        reindex(house)
        assert of_books(house) == []


def test_nothing_of_a_removed_session_may_be_in_any_book(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        for shelf in ("", "pending", "2025"):
            put(house, f"session/{TOKEN}", "note", "apples", shelf=shelf)
            put(house, "project/demo", "note", f"pears {shelf}", shelf=shelf, origin=FROM)
        put(house, "project/demo", "note", "plums")
        bury(house)
        reindex(house)
        found = of_books(house)
        assert {finding.level for finding in found} == {MUST}
        assert {finding.mend for finding in found} == {f"lineage remove {TOKEN} --again"}
        paths = {finding.path for finding in found}
        places = (f"books/session/{TOKEN}/note", "books/project/demo/note")
        assert paths == {f"{place}{end}" for place in places for end in (".md", ".archive-2025.md")} | {
            f"books/pending/{place.removeprefix('books/')}.md" for place in places
        }


@pytest.mark.parametrize("name", ["note.sync-conflict-20260328.md", "note (conflicted copy).md", "note 2.md"])
def test_what_a_sync_client_left_beside_a_book_is_said(tmp_path: Path, name: str) -> None:
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples")
        by_hand(house, f"books/global/{name}", "pears\n")
        reindex(house)
        (finding,) = of_books(house)
        assert (finding.level, finding.path) == (SHOULD, f"books/global/{name}")
