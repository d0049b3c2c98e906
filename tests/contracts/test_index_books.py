"""Books in the index on a real database: each entry is a row, and nothing is found that isn't to be found.

What each guard rests on:
- what one shelf says bears on all: `_settled`; without `forgotten`, `gone`, `seen` there.
- what waits is not found: `shelf != PENDING` in `_add`. What a removed session said has no row: `removed` in `_parsed`.
- rows that were made little by little are those that a rebuild makes: `sync_book`, and `place` in the order of `_ROWS`.
- one transaction: `_writing` around `begin immediate`.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.book_paths import CURATED, GLOBAL, PENDING, BookRef
from lineage.core.books import book_edits as changes
from lineage.core.books.book import Book, new_book, parse_book, serialize_book
from lineage.core.books.entry import ASSISTANT_TURN, DERIVED, TASK, USER_STATED, Entry
from lineage.errors import WorkspaceError
from lineage.index import BookFile, BookFiles, Index, build_book_rows
from tests.support.artifacts import make_identity
from tests.support.books import AT, make_entry, read_book_rows
from tests.support.indexes import open_emptied_index, open_without_waiting

SCOPE, KIND = "agent/ann", "decision"
LATER = "2026-11-21T10:30:00.000Z"
TOKEN = make_identity().token
FROM = f"[[memory/2026-11-20T10-30-00.000Z--{TOKEN}--summary|summary]]"


def said(text: str, **more: object) -> Entry:
    return make_entry(SCOPE, KIND, text, **more)


def book(*entries: Entry, scope: str = SCOPE, kind: str = KIND) -> Book:
    found = new_book(scope, kind)
    for one in entries:
        found = changes.add(found, one)
    return found


def files(removed: frozenset[str] = frozenset(), /, **shelves: Book) -> BookFiles:
    """A book by its shelves: `use`, `pending`, or a year after an underscore."""
    names = {"use": "", PENDING: PENDING}
    found = [(names.get(name, name.strip("_")), one) for name, one in shelves.items()]
    first = next(iter(shelves.values()))
    return BookFiles(
        first.scope,
        first.kind,
        tuple(_shelf(BookRef(one.scope, one.kind, shelf), serialize_book(one)) for shelf, one in found),
        removed,
    )


def _shelf(ref: BookRef, data: bytes) -> BookFile:
    return BookFile(ref, data, hashlib.sha256(data).hexdigest()[:8])


def found(index: Index, query: str, agent: str | None = None) -> list[str]:
    hits = index.search(query, agent, limit=100)
    assert all(hit.kind == "entry" and hit.entry for hit in hits)
    return [hit.entry.id for hit in hits if hit.entry]


def test_an_entry_s_row_says_what_the_entry_says(index: Index) -> None:
    one = said("Split lines on newline only.", heading="Lines", tags=("csv",), origin=FROM, source=ASSISTANT_TURN)
    one = one._replace(about=("file:read.py", "error:KeyError"))
    index.index_books([files(use=book(one))])
    (row,) = index.load_entries(SCOPE, KIND)
    assert (row.path, row.id, row.scope, row.kind, row.shelf) == (
        BookRef(SCOPE, KIND).path, one.id, SCOPE, KIND, "",
    )  # fmt: skip
    assert (row.at, row.source, row.trust, row.origin, row.tags) == (AT, ASSISTANT_TURN, DERIVED, FROM, ("csv",))
    assert row.about == ("file:read.py", "error:KeyError")
    assert (row.title, row.text, row.origin_token, row.owner) == ("Lines", "Split lines on newline only.", TOKEN, "")
    assert (row.standing, row.hidden, row.done, row.pinned) == (True, False, None, False)
    for query in ("lines", "newline", "csv"):
        assert found(index, query) == [one.id], query


def test_entries_are_listed_as_a_page_shows_them(index: Index) -> None:
    """Pinned ones first, then those that were said last; what is archived or forgotten isn't among them."""
    old, new, pinned, edited = (
        said(f"Rule {number}.", at=f"2026-11-{number:02d}T10:00:00Z") for number in (3, 9, 1, 2)
    )
    use = changes.pin(book(old, new, pinned, edited), pinned.id, "2026-11-04T10:00:00.000Z")
    use = changes.edit(use, edited.id, "Rule 2, said anew.", LATER)
    waiting, archived = said("Rule 7.", at="2026-11-07T10:00:00Z"), said("Rule 8.", at="2026-11-08T10:00:00Z")
    index.index_books([files(use=use, pending=book(waiting), _2026=book(archived))])
    listed = index.list_entries()
    assert [one.id for one in listed] == [pinned.id, edited.id, new.id, waiting.id, old.id]
    assert [one.mentioned_at for one in listed[:2]] == ["2026-11-04T10:00:00.000Z", LATER]
    states = {one.id: (one.shelf, bool(one.standing), bool(one.pinned)) for one in listed}
    assert (states[pinned.id], states[waiting.id]) == (("", True, True), (PENDING, False, False))
    assert index.find_books_of_entry(archived.id) == [(SCOPE, KIND)]
    assert index.find_books_of_entry("0" * 16) == []
    index.index_books([files(use=changes.forget(use, new.id), pending=book(waiting))])
    assert new.id not in [one.id for one in index.list_entries()]


def test_tasks_know_whether_they_are_done(index: Index) -> None:
    one, other = make_entry(SCOPE, TASK, "Write the notes."), make_entry(SCOPE, TASK, "Cut the release.")
    index.index_books([files(use=changes.mark_done(book(one, other, kind=TASK), other.id, LATER))])
    assert {row.id: row.done for row in index.load_entries(SCOPE, TASK)} == {one.id: False, other.id: True}


def test_what_a_human_writes_without_a_marker_is_the_user_s_own(index: Index) -> None:
    text = b"# Rules\n\nNever deploy on Fridays.\n"
    index.index_books([BookFiles(GLOBAL, CURATED, (_shelf(BookRef(GLOBAL, CURATED), text),), frozenset())])
    (hit,) = index.search("fridays", None, limit=5)
    assert hit.entry
    assert (hit.path, hit.entry.trust, hit.entry.source, hit.entry.at) == ("AGENT_MEMORY.md", USER_STATED, "hand", "")
    assert (hit.membership_ts, hit.memory_sentence, hit.session_id, hit.project) == (None, None, None, None)


def test_any_bytes_can_lie_where_a_book_belongs(index: Index) -> None:
    data = b"\xff\xfe <!-- lineage:entry nonsense --> words \x00 zebra\n"
    index.index_books([BookFiles(SCOPE, KIND, (_shelf(BookRef(SCOPE, KIND), data),), frozenset())])
    assert len(found(index, "zebra")) == 1
    assert build_book_rows(BookFiles(SCOPE, KIND, (_shelf(BookRef(SCOPE, KIND), data),), frozenset())).problems


def test_a_time_that_stands_for_a_heading_finds_nothing(index: Index) -> None:
    index.index_books([files(use=book(said("Split on newline.")))])
    assert found(index, "2026 30") == []


def test_what_waits_has_a_row_and_is_not_found(index: Index) -> None:
    one = said("Waits for the user.")
    index.index_books([files(pending=book(one))])
    (row,) = index.load_entries(SCOPE, KIND)
    assert (row.id, row.shelf, row.standing) == (one.id, PENDING, False)
    assert found(index, "waits user") == []
    index.index_books([files(use=changes.confirm(book(one), book(), one.id, LATER)[1])])
    assert found(index, "waits") == [one.id]


def test_archives_are_found(index: Index) -> None:
    old, new = said("An old apple."), said("A new apple.", at=LATER)
    index.index_books([files(use=book(new), _2026=book(old))])
    assert sorted(found(index, "apple")) == sorted([old.id, new.id])


def test_what_was_forgotten_is_not_found_whichever_shelf_has_it_still(index: Index) -> None:
    one, other = said("About apples."), said("About pears.")
    forgetful = changes.forget(book(one, other), one.id)
    index.index_books([files(use=forgetful, _2026=book(one))])
    assert found(index, "about apples pears") == [other.id]
    again = parse_book(serialize_book(forgetful) + serialize_book(book(one)), SCOPE, KIND)
    index.index_books([files(use=again)])
    assert found(index, "apples") == []


def test_what_another_entry_took_the_place_of_stands_no_more_on_any_shelf(index: Index) -> None:
    old = said("Uses apples.")
    new = said("Uses pears now.", at=LATER, supersedes=(old.id,))
    index.index_books([files(use=book(new), _2026=book(old))])
    assert {row.id: row.standing for row in index.load_entries(SCOPE, KIND)} == {old.id: False, new.id: True}
    assert found(index, "apples") == [old.id]
    index.index_books([files(use=changes.forget(book(new), new.id), _2026=book(old))])
    assert [row.standing for row in index.load_entries(SCOPE, KIND)] == [True]


def test_of_two_of_one_time_the_later_one_in_the_files_takes_the_place(index: Index) -> None:
    """The order of the file counts, whatever became of its rows: here one is hidden and comes back."""
    old = said("Uses apples.")
    new = said("Uses pears now.", supersedes=(old.id,))
    index.index_books([files(use=book(new), _2026=book(old))])
    assert {row.id: row.standing for row in index.load_entries(SCOPE, KIND)} == {old.id: False, new.id: True}
    archive = book(old, new)
    for in_use in (changes.forget(book(old), old.id), book(), book()):
        index.index_books([files(use=in_use, _2026=archive)])
    assert {row.id: row.standing for row in index.load_entries(SCOPE, KIND)} == {old.id: False, new.id: True}


def test_what_waits_takes_no_place_yet(index: Index) -> None:
    old = said("Uses apples.")
    index.index_books([files(use=book(old), pending=book(said("Uses pears.", at=LATER, supersedes=(old.id,))))])
    assert {row.id: row.standing for row in index.load_entries(SCOPE, KIND)}[old.id] is True


def test_an_entry_on_two_shelves_is_found_once_where_it_is_in_use(index: Index) -> None:
    one = said("Moved, and the move was cut off.")
    index.index_books([files(use=book(one), _2026=book(one))])
    assert [hit.path for hit in index.search("moved", None, limit=5)] == [BookRef(SCOPE, KIND).path]
    index.index_books([files(use=book(), _2026=book(one))])
    assert [hit.path for hit in index.search("moved", None, limit=5)] == [BookRef(SCOPE, KIND, "2026").path]


def test_two_that_a_hand_gave_one_id_are_both_found(index: Index) -> None:
    one = said("Uses apples.")
    twice = serialize_book(book(one)) + serialize_book(book(one)).replace(b"Uses apples", b"Likes apples")
    index.index_books([files(use=parse_book(twice, SCOPE, KIND))])
    assert found(index, "apples") == [one.id, one.id]


def test_what_a_removed_session_said_has_no_row(index: Index) -> None:
    gone, kept = said("About apples.", origin=FROM), said("About pears.")
    index.index_books([files(frozenset({TOKEN}), use=book(gone, kept))])
    assert [row.id for row in index.load_entries(SCOPE, KIND)] == [kept.id]
    scope = f"session/{TOKEN}"
    index.index_books([files(frozenset({TOKEN}), use=book(make_entry(scope, "note", "x"), scope=scope, kind="note"))])
    assert index.load_entries(scope, "note") == []
    assert [known.path for known in index.iter_book_files()] == [BookRef(SCOPE, KIND).path]


def test_rows_that_were_there_before_the_removal_go_with_the_next_look(index: Index) -> None:
    whole = book(said("About apples.", origin=FROM), said("About pears."))
    index.index_books([files(use=whole)])
    assert index.find_books_of_sessions([TOKEN, "x"]) == [(SCOPE, KIND)]
    index.index_books([files(frozenset({TOKEN}), use=whole)])
    assert index.find_books_of_sessions([TOKEN]) == []
    assert found(index, "apples") == []


def test_what_a_session_said_that_holds_no_longer_is_listed_with_what_took_its_place(index: Index) -> None:
    old, kept = said("About apples.", origin=FROM), said("About pears.", origin=FROM)
    new = said("No apples any more.")._replace(supersedes=(old.id,))
    index.index_books([files(use=book(old, kept, new))])
    (found_one,) = index.list_superseded([TOKEN, "x"])
    assert (found_one.token, found_one.text, found_one.successor) == (TOKEN, "About apples.", new.id)
    assert (found_one.current, found_one.at) == ("No apples any more.", new.at)
    assert index.list_superseded(["x"]) == []


def test_a_session_that_is_forgotten_takes_along_what_it_said(index: Index) -> None:
    scope = f"session/{TOKEN}"
    own = book(make_entry(scope, "note", "apples"), scope=scope, kind="note")
    index.index_books([files(use=own), files(use=book(said("apples", origin=FROM), said("pears")))])
    assert len(index.find_entries_of_session(TOKEN)) == 1 and index.find_entries_of_session("x") == []
    assert index.delete_session(TOKEN) == 2
    assert index.find_entries_of_session(TOKEN) == []
    assert [row.text for row in (*index.load_entries(scope, "note"), *index.load_entries(SCOPE, KIND))] == ["pears"]
    assert index.find_books_of_sessions([TOKEN]) == []
    assert [known.path for known in index.iter_book_files()] == [BookRef(SCOPE, KIND).path]


def test_a_session_is_held_as_long_as_there_is_a_row_of_what_it_said(index: Index) -> None:
    assert index.find_indexed_tokens([TOKEN, "x"]) == set()
    index.index_books([files(use=book(said("apples", origin=FROM), said("pears")))])
    assert index.find_indexed_tokens([TOKEN, "x"]) == {TOKEN}
    index.delete_session(TOKEN)
    scope = f"session/{TOKEN}"
    index.index_books([files(use=book(make_entry(scope, "note", "apples"), scope=scope, kind="note"))])
    assert index.find_indexed_tokens([TOKEN, "x"]) == {TOKEN}
    index.delete_session(TOKEN)
    assert (index.find_indexed_tokens([TOKEN]), index.find_indexed_tokens([])) == (set(), set())


def test_a_file_that_is_gone_takes_its_rows_along(index: Index) -> None:
    index.index_books([files(use=book(said("One apple.")), _2026=book(said("Two apples.")))])
    index.index_books([files(_2026=book(said("Two apples.")))])
    assert [row.text for row in index.load_entries(SCOPE, KIND)] == ["Two apples."]
    index.index_books([BookFiles(SCOPE, KIND, (), frozenset())])
    assert (index.load_entries(SCOPE, KIND), list(index.iter_book_files()), found(index, "apple apples")) == (
        [],
        [],
        [],
    )


def test_books_are_written_whole_or_not_at_all(index: Index) -> None:
    def broken() -> Iterator[BookFiles]:
        yield files(use=book(said("About apples.")))
        raise KeyError

    with pytest.raises(KeyError):
        index.index_books(broken())
    assert (index.load_entries(SCOPE, KIND), list(index.iter_book_files()), found(index, "apples")) == ([], [], [])


def test_nobody_shelves_between_the_reading_of_a_file_and_its_rows(engine: str, index: Index, tmp_path: Path) -> None:
    """The later of two writers has read the file later, too."""

    def reading() -> Iterator[BookFiles]:
        with closing(open_without_waiting(engine, tmp_path / "index.db")) as other, pytest.raises(WorkspaceError):
            other.index_books([files(use=book(said("About pears.")))])
        yield files(use=book(said("About apples.")))

    index.index_books(reading())
    assert len(found(index, "apples")) == 1


TEXTS = ("apple one", "apple two", "apple three", "pear")
SHELVES = ("use", "_2025", "_2026", PENDING)
MOMENTS = (AT, LATER)
STEP = st.tuples(
    st.sampled_from(("add", "forget", "drop", "cut", "hand", "supersede")),
    st.sampled_from(SHELVES),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from(MOMENTS),
)


def changed(one: Book, what: str, first: Entry, second: Entry, number: int) -> Book:
    there = {part.entry.id for part in one.parts if part.entry and part.is_complete}
    if what == "add":
        return changes.add(one, first)
    if what == "supersede" and first.id not in one.all_ids:
        return parse_book(serialize_book(one) + serialize_book(book(first)), SCOPE, KIND)
    if what == "forget" and first.id in there:
        return changes.forget(one, first.id)
    if what == "drop" and first.id in there:
        return changes.remove_entry(one, first.id)
    if what == "cut":
        return parse_book(serialize_book(one)[: -7 * (number + 1)], SCOPE, KIND)
    return parse_book(f"by hand {number}\n\n".encode() + serialize_book(one), SCOPE, KIND) if what == "hand" else one


@pytest.mark.slow
@given(steps=st.lists(st.lists(STEP, min_size=1, max_size=3), min_size=1, max_size=8))
def test_rows_that_came_little_by_little_are_those_of_a_rebuild(
    engine: str, tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, str, int, int, str]]]
) -> None:
    folder = tmp_path_factory.mktemp("index-books")
    shelves = {name: book() for name in SHELVES}
    with (
        closing(open_emptied_index(engine, folder / "one.db")) as grown,
        closing(open_emptied_index(engine, folder / "two.db")) as rebuilt,
    ):
        for several in steps:
            for what, name, number, other, at in several:
                second = said(TEXTS[other])
                more = {"supersedes": (second.id,)} if what == "supersede" else {}
                shelves[name] = changed(shelves[name], what, said(TEXTS[number], at=at, **more), second, number)
            grown.index_books([files(**shelves)])
        rebuilt.index_books([files(**shelves)])
        assert read_book_rows(grown) == read_book_rows(rebuilt)
        rows = grown.load_entries(SCOPE, KIND)
        assert set(build_book_rows(files(**shelves)).rows) == set(rows)
        forgotten = frozenset[str]().union(*(one.forgotten_ids for one in shelves.values()))
        words = "apple pear one two three hand"  # "by" alone is looked up by nobody
        named = [row for row in rows if not set(re.findall(r"\w+", row.text)).isdisjoint(words.split())]
        visible = found(grown, words)
        assert forgotten.isdisjoint(visible)
        assert sorted(visible) == sorted(row.id for row in named if not row.hidden and row.shelf != PENDING)
