"""Shelving on a real workspace: the rows of books are those of their files, whoever changed them, and nothing is read
that didn't change.

What each guard rests on:
- an unchanged book isn't read: the comparison of stamps in `shelve_all`.
- a removed session's books and words have no row: `_stamps`, `removed` in `read_books`, `books_of` in `shelve_all`.
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

from lineage.core import book_changes
from lineage.core.book_paths import BookRef
from lineage.core.documents import Tombstone
from lineage.errors import LineageError, WorkspaceError
from lineage.index import SqliteIndex
from lineage.pipeline.house import House
from lineage.pipeline.incoming.watching import is_change
from lineage.pipeline.knowledge.shelving import shelve, shelve_all
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.store import LocalStore, MemoryStore
from tests.support.artifacts import identity
from tests.support.books import by_hand, entry, put, rows_of_books
from tests.support.faults import CountingStore
from tests.support.houses import NOW, end, house_at, memory_house

NOTE = "books/global/note.md"
TOKEN = identity().token
FROM = f"[[memory/2026-11-20T10-30-00.000Z--{TOKEN}--summary|summary]]"


def texts(house: House, scope: str = "global", kind: str = "note") -> list[str]:
    return [row.text for row in house.index.entries(scope, kind)]


def bury(house: House, token: str = TOKEN) -> None:
    house.canon.tombstones.put(
        Tombstone(
            kind="tombstone", agent_id="default", session_token=token, removed_at=NOW, reason="x", removed_paths=[],
            removed_turns=[],
        )
    )  # fmt: skip


def test_what_is_asked_for_is_shelved_with_all_its_shelves(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        for shelf in ("", "pending", "2025"):
            write(house, f"apples {shelf}", shelf)
        house.canon.books.add("global", "fact", entry("global", "fact", "pears"))
        shelve(house, [BookRef("global", "note", "2025")])
        assert sorted(texts(house)) == ["apples", "apples 2025", "apples pending"]
        assert texts(house, kind="fact") == []
        shelve(house, [])
        shelve(house, [BookRef("global", "fact"), BookRef("agent/x", "no such book")])
        assert texts(house, kind="fact") == ["pears"]


def write(house: House, text: str, shelf: str) -> None:
    made = entry("global", "note", text)
    house.canon.books.update("global", "note", lambda book: book_changes.add(book, made), shelf)


def test_an_unchanged_book_is_not_read(tmp_path: Path) -> None:
    store = CountingStore(LocalStore(tmp_path))
    with house_at(tmp_path, store=store) as house:
        for kind in ("note", "fact"):
            put(house, "global", kind, "apples")
        by_hand(house, NOTE, "pears\n")
        store.reads.clear()
        assert shelve_all(house).changed == 1
        assert [key for key in store.reads if key.startswith("books/")] == [NOTE]
        store.reads.clear()
        assert (shelve_all(house).changed, texts(house)) == (0, ["pears"])
        assert [key for key in store.reads if key.startswith("books/")] == []


def test_a_workspace_without_books_costs_a_look_at_the_curated_one(tmp_path: Path) -> None:
    store = CountingStore(MemoryStore())
    with house_at(tmp_path, store=store, private=MemoryStore()) as house:
        statements: list[str] = []
        with house.index.traced(statements.append):
            found = shelve_all(house)
        assert (found.changed, store.reads, len(statements)) == (0, ["AGENT_MEMORY.md"], 2)


def test_a_file_that_was_touched_and_is_the_same_has_its_stamp_noted(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples")
        path = tmp_path / NOTE
        path.write_bytes(path.read_bytes())
        (tmp_path / "x").write_bytes(path.read_bytes())
        (tmp_path / "x").replace(path)
        assert shelve_all(house).changed == 1
        assert shelve_all(house).changed == 0


def test_books_that_vanish_are_no_sudden_loss(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        end(house)
        for number in range(20):
            put(house, "global", f"kind{number}", "apples")
        for path in (tmp_path / "books").rglob("*.md"):
            path.unlink()
        report = reindex(house)
        assert report.books >= 20
        assert is_change(report)
        assert house.index.search("apples", None, limit=5) == []
        assert not is_change(reindex(house))


@pytest.mark.leaves_findings
def test_what_a_removed_session_said_goes_with_the_next_look_and_does_not_come_back(tmp_path: Path) -> None:
    """Also where the tombstone came by a sync, and no file of a book changed."""
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples it said", origin=FROM)
        put(house, "global", "note", "apples of others")
        put(house, f"session/{TOKEN}", "note", "apples of its own")
        bury(house)
        found = shelve_all(house)
        assert found.buried == [f"books/session/{TOKEN}/note.md"]
        assert [hit.snippet for hit in house.index.search("apples", None, limit=5)] == ["\x02apples\x03 of others"]
        left = b"".join(path.read_bytes() for path in (tmp_path / ".lineage").glob("index.db*"))
        assert b"it said" not in left
        by_hand(house, NOTE, (tmp_path / NOTE).read_text() + "\n")
        shelve(house, [BookRef("global", "note"), BookRef(f"session/{TOKEN}", "note")])
        assert texts(house) == ["apples of others"]
        report = reindex(house)
        assert (report.books, report.buried) == (0, [f"books/session/{TOKEN}/note.md"])


def test_what_cannot_be_read_is_a_problem_of_a_reindex_and_an_error_of_a_writer(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples")
        path = tmp_path / "AGENT_MEMORY.md"
        path.write_text("pears\n")
        assert reindex(house).books == 1
        path.replace(tmp_path / "elsewhere.md")
        path.symlink_to(tmp_path / "elsewhere.md")
        for _ in range(2):
            report = reindex(house)
            assert ([problem[0] for problem in report.problems], report.books) == (["AGENT_MEMORY.md"], 0)
            assert house.index.search("pears", None, limit=5) == []
        with pytest.raises(WorkspaceError):
            shelve(house, [BookRef("global", "curated")])
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
    with memory_house(folder) as house:
        for what, where, text in actions:
            act(house, what, where, text)
        shelve_all(house)
        grown = rows_of_books(house.index)
        house.index.reset()
        shelve_all(house)
        assert rows_of_books(house.index) == grown


def act(house: House, what: str, where: str, text: str) -> None:
    if what == "write":
        by_hand(house, where, text)
    elif what == "delete":
        house.canon.store.delete(where)
    elif what == "put":
        put(house, "global", where, text)
    elif what == "look":
        shelve_all(house)
    else:
        try:
            house.canon.books.forget("global", where, entry("global", where, text).id)
        except LineageError:
            return
        shelve(house, [BookRef("global", where)])


def test_the_index_is_begun_anew_where_it_has_another_version(tmp_path: Path) -> None:
    """The rows of books came with a version of the tables: an older index is thrown away, not read."""
    with house_at(tmp_path) as house:
        put(house, "global", "note", "apples")
        house.index.complete()
    with contextlib.closing(sqlite3.connect(tmp_path / ".lineage" / "index.db")) as database:
        database.execute("pragma application_id = 2")
    with contextlib.closing(SqliteIndex(tmp_path / ".lineage" / "index.db")) as index:
        assert index.is_new
        assert list(index.books()) == []
