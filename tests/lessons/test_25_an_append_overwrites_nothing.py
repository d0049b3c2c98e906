"""Lessons, 25: "A new process's first append overwrites the search index with one entry."

Fails where a process that shelves an entry begins with an index of its own: without `ensure_indexed` for an index that
is missing, with `reset` where it is there, or where `sync_book` drops the rows of other books.
"""

from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.store import LocalStore, Store
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace
from tests.support.books import make_entry
from tests.support.commands import LineageCommand, run_process
from tests.support.concurrency import run_concurrently
from tests.support.workspace import end_session, open_test_workspace

pytestmark = pytest.mark.slow


def found(root: Path, word: str = "apples") -> set[str]:
    return {hit["snippet"].strip() for hit in run_process(root, "search", word, "--json").json["results"]}


def test_each_process_adds_to_what_the_others_wrote(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    with open_test_workspace(root) as ws:
        end_session(ws)
    said = [("global", "apples one"), ("global", "apples two"), ("project/demo", "apples three")]
    for number, (scope, text) in enumerate(said, start=1):
        assert run_process(root, "remember", "--scope", scope, text).code == 0
        assert found(root) == {text for _, text in said[:number]}
    assert run_process(root, "search", "reader", "--json").json["results"][0]["session_id"] == "s-1"


def test_the_first_to_write_after_the_index_was_lost_brings_all_of_it_back(lineage: LineageCommand) -> None:
    lineage("init")
    for text in ("apples one", "apples two"):
        lineage("remember", text)
    lineage.end_sample()
    for path in (lineage.root / ".lineage").glob("index.db*"):
        path.unlink()
    assert run_process(lineage.root, "remember", "apples three").code == 0
    assert found(lineage.root) == {"apples one", "apples two", "apples three"}
    assert lineage("search", "newline", "--json").json["results"]


def remembered(store: Store, number: int) -> None:
    """A process of its own: it opens the workspace, adds an entry to one book and one to another, and shelves both."""
    assert isinstance(store, LocalStore)
    with open_test_workspace(store.root) as ws:
        for kind in ("note", f"kind{number}"):
            one = make_entry("global", kind, f"apples {number} {kind}")
            ws.documents.books.add("global", kind, one)
            index_books(ws, [BookRef("global", kind)])


@pytest.mark.slow
def test_many_at_once_lose_none(tmp_path: Path) -> None:
    run_concurrently(LocalStore(tmp_path), remembered, [(number,) for number in range(6)])
    with open_test_workspace(tmp_path) as ws:
        assert len(texts(ws, "note")) == 6
        assert all(texts(ws, f"kind{number}") == [f"apples {number} kind{number}"] for number in range(6))


def texts(ws: Workspace, kind: str) -> list[str]:
    return [row.text for row in ws.index.load_entries("global", kind)]
