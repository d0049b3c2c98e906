"""`lineage memory` on files that people and machines have been at: nothing is lost, and what is wrong is named.

What the guards rest on: `found` of core/book_changes.py, `found` and `_places` of pipeline/knowledge/bookkeeping.py.
"""

from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.pipeline.memory.books import forget_entry
from lineage.pipeline.memory.remember import Memo, remember
from tests.support.books import show_book, write_file
from tests.support.commands import LineageCommand
from tests.support.workspace import open_test_workspace

pytestmark = pytest.mark.slow

TABS = "Prefers tabs over spaces in Makefiles."
PATH = "books/global/preference.md"


@pytest.fixture
def vault(lineage: LineageCommand) -> LineageCommand:
    lineage("init")
    return lineage


@pytest.fixture
def tabs(vault: LineageCommand) -> str:
    """The id of a preference that the user stated."""
    return str(vault("book", "add", "global", "preference", TABS, "--json").json["id"])


def test_a_book_with_windows_line_ends_keeps_them(vault: LineageCommand, tabs: str) -> None:
    file = vault.root / PATH
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n") + b"\r\nBy hand.\r\n")
    assert vault("book", "edit", tabs, "One.\nTwo.").code == 0
    assert vault("book", "pin", tabs).code == 0
    assert b"\n" not in file.read_bytes().replace(b"\r\n", b"")
    assert [entry["text"] for entry in show_book(vault)] == ["One.\nTwo.", "By hand."]


@pytest.mark.leaves_findings
def test_half_an_entry_is_kept_and_named(vault: LineageCommand, tabs: str) -> None:
    file = vault.root / PATH
    file.write_text(file.read_text().replace(f"<!-- lineage:end {tabs} -->", "My own words below it."))
    before = file.read_bytes()
    shown = vault("book", "show", "global", "preference", "--json").json
    assert any("end is missing" in problem for problem in shown["problems"])
    assert "problem: " in vault("book", "show", "global", "preference").out
    for arguments in (["edit", tabs, "x y z"], ["pin", tabs], ["forget", tabs], ["demote", tabs, "project/x"]):
        done = vault("book", *arguments)
        assert (done.code, f"<!-- lineage:end {tabs} -->" in done.err) == (2, True), arguments
    assert file.read_bytes() == before
    vault("book", "add", "global", "preference", "Prefers short words.")
    assert file.read_bytes().startswith(before)


@pytest.mark.leaves_findings
def test_a_broken_marker_is_text_and_a_problem(vault: LineageCommand, tabs: str) -> None:
    file = vault.root / PATH
    file.write_text(file.read_text().replace('"source": "manual"', '"source": manual'))
    done = vault("book", "pin", tabs)
    assert (done.code, "lineage memory show" in done.err) == (1, True)
    (entry,) = show_book(vault)
    assert (entry["source"], TABS in entry["text"]) == ("hand", True)
    assert vault("remember", "--kind", "preference", TABS, "--json").json["status"] == "known"
    vault("reindex")


@pytest.mark.leaves_findings
def test_an_id_that_is_there_twice_is_a_problem_and_both_stay(vault: LineageCommand, tabs: str) -> None:
    file = vault.root / PATH
    part = "<!-- lineage:entry" + file.read_text().partition("<!-- lineage:entry")[2]
    file.write_text(file.read_text() + "\n" + part.replace("tabs", "TABS"))
    assert any(
        "2 times" in problem for problem in vault("book", "show", "global", "preference", "--json").json["problems"]
    )
    assert vault("book", "pin", tabs).code == 0
    assert [entry["text"] for entry in show_book(vault)] == [TABS, TABS.replace("tabs", "TABS")]
    write_file(vault, "books/project/x/preference.md", part)
    elsewhere = vault("book", "pin", tabs)
    assert (elsewhere.code, "ambiguous" in elsewhere.err) == (1, True)


def test_an_archived_entry_is_found_and_forgotten(vault: LineageCommand) -> None:
    with open_test_workspace(vault.root) as ws:
        for number in range(31):
            text = f"Decision number {number} stands."
            remember(ws, Memo(text=text, scope="agent/ann", kind="decision"))
        first = ws.documents.books.list()
        year = next(ref.shelf for ref in first if ref.kind == "decision" and ref.shelf)
    archived = show_book(vault, "agent/ann", "decision", "--archive", year)
    assert len(archived) + len(show_book(vault, "agent/ann", "decision")) == 31
    known = vault("remember", "--scope", "agent/ann", "--kind", "decision", archived[1]["text"]).out
    assert f"it is archived: `lineage memory pin {archived[1]['id']}` brings it back into use" in known
    assert f"({BookRef('agent/ann', 'decision').path})" in vault("memory", "pin", archived[1]["id"]).out
    assert archived[1]["id"] in [entry["id"] for entry in show_book(vault, "agent/ann", "decision")]
    assert archived[1]["id"] not in [
        entry["id"] for entry in show_book(vault, "agent/ann", "decision", "--archive", year)
    ]
    with open_test_workspace(vault.root) as ws:
        forget_entry(ws, archived[0]["id"])
    assert archived[0]["text"] not in (vault.root / str(archived[0]["path"])).read_text()
    said = vault("remember", "--scope", "agent/ann", "--kind", "decision", archived[0]["text"], "--json")
    assert said.json["status"] == "forgotten"


@pytest.mark.leaves_findings
def test_a_book_that_cannot_be_read_is_named(vault: LineageCommand, tabs: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("not ours")
    (vault.root / "books/global/fact.md").symlink_to(tmp_path / "elsewhere.md")
    (vault.root / "books/global/lesson.md").mkdir()
    assert vault("book", "pin", tabs).code == 0
    assert [one["kind"] for one in vault("book", "list", "--json").json["books"]] == ["curated", "preference"]
    for kind in ("fact", "lesson"):
        done = vault("remember", "--scope", "global", "--kind", kind, "Some words of mine.")
        assert (done.code, f"books/global/{kind}.md" in done.err) == (1, True)
    assert (tmp_path / "elsewhere.md").read_text() == "not ours"
