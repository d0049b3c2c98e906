"""Shelving on a real workspace: the rows of books are those of their files, whoever changed them, and nothing is read
that didn't change.

What each guard rests on:
- an unchanged book isn't read: the comparison of stamps in `index_changed_books`.
- a removed session's books and words have no row: `_stamps`, `removed` in `read_books`, `find_books_of_sessions` in
  `index_changed_books`.
- no loss without a trace: `problems`, and `changed` without them.
- artifacts alone count as a sudden loss: `_diff` of reindexing.py knows no books.
- the same rows after the loss of the index: the property below, over hand edits, shelving and reindexing.
"""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.core.base.book_paths import BookRef
from lineage.core.books import book_edits
from lineage.core.format.documents import Tombstone
from lineage.errors import LineageError, WorkspaceError
from lineage.index import SqliteIndex
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.watch import has_changes
from lineage.pipeline.memory.books import find_entry
from lineage.store import LocalStore
from lineage.workspace.book_index import index_books, index_changed_books
from lineage.workspace.workspace import Workspace
from tests.support.artifacts import make_identity
from tests.support.books import edit_by_hand, make_entry, read_book_rows, write_entry
from tests.support.faults import CountingStore
from tests.support.memory_store import MemoryStore
from tests.support.workspace import NOW, end_session, open_memory_workspace, open_test_workspace

NOTE = "books/global/note.md"
TOKEN = make_identity().token
FROM = f"[[memory/2026-11-20T10-30-00.000Z--{TOKEN}--summary|summary]]"


def texts(ws: Workspace, scope: str = "global", kind: str = "note") -> list[str]:
    return [row.text for row in ws.index.load_entries(scope, kind)]


def bury(ws: Workspace, token: str = TOKEN) -> None:
    ws.documents.tombstones.put(
        Tombstone(
            kind="tombstone", agent_id="default", session_token=token, removed_at=NOW, reason="x", removed_paths=[],
            removed_turns=[],
        )
    )  # fmt: skip


def test_what_is_asked_for_is_shelved_with_all_its_shelves(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        for shelf in ("", "pending", "2025"):
            write(ws, f"apples {shelf}", shelf)
        ws.documents.books.add("global", "fact", make_entry("global", "fact", "pears"))
        index_books(ws, [BookRef("global", "note", "2025")])
        assert sorted(texts(ws)) == ["apples", "apples 2025", "apples pending"]
        assert texts(ws, kind="fact") == []
        index_books(ws, [])
        index_books(ws, [BookRef("global", "fact"), BookRef("agent/x", "no such book")])
        assert texts(ws, kind="fact") == ["pears"]


def write(ws: Workspace, text: str, shelf: str) -> None:
    made = make_entry("global", "note", text)
    ws.documents.books.update("global", "note", lambda book: book_edits.add(book, made), shelf)


def test_an_unchanged_book_is_not_read(tmp_path: Path) -> None:
    store = CountingStore(LocalStore(tmp_path))
    with open_test_workspace(tmp_path, store=store) as ws:
        for kind in ("note", "fact"):
            write_entry(ws, "global", kind, "apples")
        edit_by_hand(ws, NOTE, "pears\n")
        store.reads.clear()
        assert index_changed_books(ws).changed == 1
        assert [key for key in store.reads if key.startswith("books/")] == [NOTE]
        store.reads.clear()
        assert (index_changed_books(ws).changed, texts(ws)) == (0, ["pears"])
        assert [key for key in store.reads if key.startswith("books/")] == []


def test_a_workspace_without_books_costs_a_look_at_the_curated_one(tmp_path: Path) -> None:
    store = CountingStore(MemoryStore())
    with open_test_workspace(tmp_path, store=store, private=MemoryStore()) as ws:
        statements: list[str] = []
        with ws.index.trace_statements(statements.append):
            found = index_changed_books(ws)
        assert (found.changed, store.reads, len(statements)) == (0, ["AGENT_MEMORY.md"], 2)


def test_a_file_that_was_touched_and_is_the_same_has_its_stamp_noted(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        path = tmp_path / NOTE
        path.write_bytes(path.read_bytes())
        (tmp_path / "x").write_bytes(path.read_bytes())
        (tmp_path / "x").replace(path)
        assert index_changed_books(ws).changed == 1
        assert index_changed_books(ws).changed == 0


def test_books_that_vanish_are_no_sudden_loss(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws)
        for number in range(20):
            write_entry(ws, "global", f"kind{number}", "apples")
        for path in (tmp_path / "books").rglob("*.md"):
            path.unlink()
        report = reindex(ws)
        assert report.books >= 20
        assert has_changes(report)
        assert ws.index.search("apples", None, limit=5) == []
        assert not has_changes(reindex(ws))


@pytest.mark.leaves_findings
def test_what_a_removed_session_said_goes_with_the_next_look_and_does_not_come_back(tmp_path: Path) -> None:
    """Also where the tombstone came by a sync, and no file of a book changed."""
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples it said", origin=FROM)
        write_entry(ws, "global", "note", "apples of others")
        write_entry(ws, f"session/{TOKEN}", "note", "apples of its own")
        bury(ws)
        found = index_changed_books(ws)
        assert found.tombstoned == [f"books/session/{TOKEN}/note.md"]
        assert [hit.snippet for hit in ws.index.search("apples", None, limit=5)] == ["\x02apples\x03 of others"]
        left = b"".join(path.read_bytes() for path in (tmp_path / ".lineage").glob("index.db*"))
        assert b"it said" not in left
        edit_by_hand(ws, NOTE, (tmp_path / NOTE).read_text() + "\n")
        index_books(ws, [BookRef("global", "note"), BookRef(f"session/{TOKEN}", "note")])
        assert texts(ws) == ["apples of others"]
        report = reindex(ws)
        assert (report.books, report.buried) == (0, [f"books/session/{TOKEN}/note.md"])


def test_what_cannot_be_read_is_a_problem_of_a_reindex_and_an_error_of_a_writer(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        path = tmp_path / "AGENT_MEMORY.md"
        path.write_text("pears\n")
        assert reindex(ws).books == 1
        path.replace(tmp_path / "elsewhere.md")
        path.symlink_to(tmp_path / "elsewhere.md")
        for _ in range(2):
            report = reindex(ws)
            assert ([problem[0] for problem in report.problems], report.books) == (["AGENT_MEMORY.md"], 0)
            assert ws.index.search("pears", None, limit=5) == []
        with pytest.raises(WorkspaceError):
            index_books(ws, [BookRef("global", "curated")])
        path.unlink()
        (tmp_path / "elsewhere.md").unlink()


PATHS = (NOTE, "books/global/note.archive-2025.md", "books/pending/global/note.md", "AGENT_MEMORY.md",
         "books/agent/ann/daily/2024-02-29.md", "books/global/note 2.md")  # fmt: skip
ACTION = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(["apples\n", "pears\r\n", "", "\xff"])),
    st.tuples(st.just("delete"), st.sampled_from(PATHS), st.just("")),
    st.tuples(st.just("put"), st.sampled_from(["note", "fact"]), st.sampled_from(["one", "two", "three"])),
    st.tuples(st.just("forget"), st.sampled_from(["note", "fact"]), st.sampled_from(["one", "two", "three"])),
    st.tuples(st.just("look"), st.just(""), st.just("")),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(actions=st.lists(ACTION, max_size=12))
def test_rows_are_those_of_the_files_after_any_changes_and_a_look(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("shelving")
    with open_memory_workspace(folder) as ws:
        for what, where, text in actions:
            act(ws, what, where, text)
        index_changed_books(ws)
        grown = read_book_rows(ws.index)
        ws.index.reset()
        index_changed_books(ws)
        assert read_book_rows(ws.index) == grown


def act(ws: Workspace, what: str, where: str, text: str) -> None:
    if what == "write":
        edit_by_hand(ws, where, text)
    elif what == "delete":
        ws.documents.store.delete(where)
    elif what == "put":
        write_entry(ws, "global", where, text)
    elif what == "look":
        index_changed_books(ws)
    else:
        try:
            ws.documents.books.forget("global", where, make_entry("global", where, text).id)
        except LineageError:
            return
        index_books(ws, [BookRef("global", where)])


def test_the_index_is_begun_anew_where_it_has_another_version(tmp_path: Path) -> None:
    """The rows of books came with a version of the tables: an older index is thrown away, not read."""
    with open_test_workspace(tmp_path) as ws:
        write_entry(ws, "global", "note", "apples")
        ws.index.mark_complete()
    with contextlib.closing(sqlite3.connect(tmp_path / ".lineage" / "index.db")) as database:
        database.execute("pragma application_id = 2")
    with contextlib.closing(SqliteIndex(tmp_path / ".lineage" / "index.db")) as index:
        assert index.needs_reindex
        assert list(index.iter_book_files()) == []


def test_an_entry_is_found_by_its_id_without_reading_other_books_and_where_no_index_says_so(tmp_path: Path) -> None:
    store = CountingStore(MemoryStore())
    with open_test_workspace(tmp_path, store=store, private=MemoryStore()) as ws:
        for number in range(30):
            write_entry(ws, f"project/p{number}", "note", "Another one.")
        one = write_entry(ws, "global", "note", "Ship on Fridays.")
        text = ws.documents.store.read(NOTE).data.decode()
        store.reads.clear()
        assert find_entry(ws, one.id).ref.path == NOTE
        assert [path for path in store.reads if path.startswith("books/project")] == []
        edit_by_hand(ws, NOTE, "")
        edit_by_hand(ws, "books/agent/ann/note.md", text)
        assert find_entry(ws, one.id).ref.scope == "agent/ann"
