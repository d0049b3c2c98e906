"""`lineage verify` over books: each promise of `_books` in pipeline/upkeep/verification.py is broken once, and said to
be."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage.core.format.documents import Tombstone
from lineage.pipeline.maintenance.findings import MUST, SHOULD, VerifyFinding
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.books import forget_entry
from lineage.pipeline.memory.restore import restore_entries
from lineage.workspace.workspace import Workspace
from tests.support.artifacts import make_identity
from tests.support.books import edit_by_hand, write_entry
from tests.support.workspace import NOW, open_test_workspace

NOTE = "books/global/note.md"
TOKEN = make_identity().token
FROM = f"[[memory/2026-11-20T10-30-00.000Z--{TOKEN}--summary|summary]]"

pytestmark = [pytest.mark.slow, pytest.mark.leaves_findings]


def of_books(ws: Workspace) -> list[VerifyFinding]:
    return [finding for finding in verify(ws) if finding.path.startswith(("books/", "AGENT_MEMORY.md"))]


def bury(ws: Workspace) -> None:
    ws.documents.tombstones.put(
        Tombstone(
            kind="tombstone", agent_id="default", session_token=TOKEN, removed_at=NOW, reason="x", removed_paths=[],
            removed_turns=[],
        )
    )  # fmt: skip


def test_books_that_are_whole_and_shelved_are_no_finding(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples", origin=FROM)
        write_entry(ws, "global", "note", "pears", shelf="pending")
        edit_by_hand(ws, "AGENT_MEMORY.md", "Never on Fridays.\n")
        edit_by_hand(ws, "books/agent/default/daily/2024-02-29.md", "No properties, and no need of any.\n")
        edit_by_hand(ws, "books/README.md", "A note of somebody's.\n")
        reindex(ws)
        assert of_books(ws) == []


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
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        edit_by_hand(ws, NOTE, change((tmp_path / NOTE).read_text()))
        reindex(ws)
        found = of_books(ws)
        assert {(finding.level, finding.path) for finding in found} == {(SHOULD, NOTE)}
        assert any(what in finding.what for finding in found)
        assert ws.index.search("apples", None, limit=5)


def test_what_a_hand_broke_is_mended_as_it_says(tmp_path: Path) -> None:
    """A lost end by the line that is printed, an entry that came back by either command."""
    with open_test_workspace(tmp_path) as ws:
        name = write_entry(ws, "global", "note", "apples").id
        whole = (tmp_path / NOTE).read_text()
        edit_by_hand(ws, NOTE, whole[: whole.index("<!-- lineage:end")])
        reindex(ws)
        (lost,) = of_books(ws)
        assert f"`lineage memory edit {name}` opens it" in lost.mend
        (line,) = re.findall(r"`(<!-- .* -->)`", lost.what)
        edit_by_hand(ws, NOTE, f"{(tmp_path / NOTE).read_text()}{line}\n")
        reindex(ws)
        assert of_books(ws) == []
        for command in ("restore", "forget"):
            edit_by_hand(ws, NOTE, f"{whole}\n<!-- lineage:forgotten {name} -->\n")
            reindex(ws)
            (returned,) = of_books(ws)
            assert f"lineage memory {command} {name}" in returned.mend
            restore_entries(ws, [name]) if command == "restore" else forget_entry(ws, name)
            assert of_books(ws) == []
        edit_by_hand(ws, NOTE, whole.replace('"at"', "at"))
        reindex(ws)
        _, first = sorted(of_books(ws))
        assert "line 8: a damaged marker: its JSON breaks at character" in first.what
        assert "put that line right in an editor, then lineage reindex" in first.mend


def test_a_hand_edit_waits_for_a_reindex(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        edit_by_hand(ws, "books/global/fact.md", "pears\n")
        (tmp_path / NOTE).unlink()
        (changed, gone) = of_books(ws)
        assert (changed.path, changed.mend, gone.path) == ("books/global/fact.md", "lineage reindex", NOTE)
        reindex(ws)
        assert of_books(ws) == []


def test_an_entry_without_its_row_is_found(tmp_path: Path) -> None:
    import sqlite3

    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        with sqlite3.connect(ws.index.path) as database:
            database.execute("delete from book_entries")
        (finding,) = of_books(ws)
        assert (finding.level, finding.path) == (SHOULD, NOTE)
        assert "index.db" in finding.mend
        ws.index.reset()
        reindex(ws)
        assert of_books(ws) == []


def test_nothing_of_a_removed_session_may_be_in_any_book(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        for shelf in ("", "pending", "2025"):
            write_entry(ws, f"session/{TOKEN}", "note", "apples", shelf=shelf)
            write_entry(ws, "project/demo", "note", f"pears {shelf}", shelf=shelf, origin=FROM)
        write_entry(ws, "project/demo", "note", "plums")
        bury(ws)
        reindex(ws)
        found = of_books(ws)
        assert {finding.level for finding in found} == {MUST}
        assert {finding.mend for finding in found} == {f"lineage remove {TOKEN} --again"}
        paths = {finding.path for finding in found}
        places = (f"books/session/{TOKEN}/note", "books/project/demo/note")
        assert paths == {f"{place}{end}" for place in places for end in (".md", ".archive-2025.md")} | {
            f"books/pending/{place.removeprefix('books/')}.md" for place in places
        }


@pytest.mark.parametrize("name", ["note.sync-conflict-20260328.md", "note (conflicted copy).md", "note 2.md"])
def test_what_a_sync_client_left_beside_a_book_is_said(tmp_path: Path, name: str) -> None:
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        edit_by_hand(ws, f"books/global/{name}", "pears\n")
        reindex(ws)
        (finding,) = of_books(ws)
        assert (finding.level, finding.path) == (SHOULD, f"books/global/{name}")


@pytest.mark.parametrize(
    "name",
    [
        "AGENT_MEMORY.sync-conflict-20260328.md",
        "AGENT_MEMORY (conflicted copy).md",
        "MEMORY 2.md",
        "lineage (a conflicted copy).toml",
    ],
)
def test_what_a_sync_client_left_beside_memory_is_said(tmp_path: Path, name: str) -> None:
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        edit_by_hand(ws, name, "pears\n")
        for own in (
            "My own notes 2.md",
            "projects/Trip to Rome 2019.md",
            "MEMORY of 2019.md",
            "lineages of kings 12.md",
        ):
            edit_by_hand(ws, own, "plums\n")
        assert [(one.level, one.path) for one in verify(ws) if "sync" in one.what] == [(SHOULD, name)]


def test_what_git_could_not_merge_is_said(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        known = (tmp_path / "books/global/note.md").read_text()
        edit_by_hand(ws, "books/global/note.md", f"{known}\n<<<<<<< HEAD\npears\n=======\nplums\n>>>>>>> other\n")
        reindex(ws)
        assert {(one.level, one.mend) for one in of_books(ws)} == {
            (SHOULD, "take git's lines out in an editor, keep of the rest what holds, then lineage reindex")
        }
