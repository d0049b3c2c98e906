"""Books in the index on a real database: each entry is a row, and nothing is found that isn't to be found.

What each guard rests on:
- what one shelf says bears on all: `_settled`; without `forgotten`, `gone`, `seen` there.
- what waits is not found: `shelf != PENDING` in `_add`. What a removed session said has no row: `removed` in `_parsed`.
- rows that were made little by little are those that a rebuild makes: `keep_up`, and `place` in the order of `_ROWS`.
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

from lineage.core import book_changes as changes
from lineage.core.book import Book, new_book, parsed_book, serialized_book
from lineage.core.book_paths import CURATED, GLOBAL, PENDING, BookRef
from lineage.core.entry import ASSISTANT_TURN, DERIVED, TASK, USER_STATED, Entry
from lineage.errors import WorkspaceError
from lineage.index import Index, Shelf, Shelves, shelved
from tests.support.artifacts import identity
from tests.support.books import AT, entry, rows_of_books
from tests.support.indexes import impatient, opened

SCOPE, KIND = "agent/ann", "decision"
LATER = "2026-11-21T10:30:00.000Z"
TOKEN = identity().token
FROM = f"[[memory/2026-11-20T10-30-00.000Z--{TOKEN}--summary|summary]]"


def said(text: str, **more: object) -> Entry:
    return entry(SCOPE, KIND, text, **more)


def book(*entries: Entry, scope: str = SCOPE, kind: str = KIND) -> Book:
    found = new_book(scope, kind)
    for one in entries:
        found = changes.add(found, one)
    return found


def files(removed: frozenset[str] = frozenset(), /, **shelves: Book) -> Shelves:
    """A book by its shelves: `use`, `pending`, or a year after an underscore."""
    names = {"use": "", PENDING: PENDING}
    found = [(names.get(name, name.strip("_")), one) for name, one in shelves.items()]
    first = next(iter(shelves.values()))
    return Shelves(
        first.scope,
        first.kind,
        tuple(_shelf(BookRef(one.scope, one.kind, shelf), serialized_book(one)) for shelf, one in found),
        removed,
    )


def _shelf(ref: BookRef, data: bytes) -> Shelf:
    return Shelf(ref, data, hashlib.sha256(data).hexdigest()[:8])


def found(index: Index, query: str, agent: str | None = None) -> list[str]:
    hits = index.search(query, agent, limit=100)
    assert all(hit.kind == "entry" and hit.entry for hit in hits)
    return [hit.entry.id for hit in hits if hit.entry]


def test_an_entry_s_row_says_what_the_entry_says(index: Index) -> None:
    one = said("Split lines on newline only.", heading="Lines", tags=("csv",), origin=FROM, source=ASSISTANT_TURN)
    index.shelve([files(use=book(one))])
    (row,) = index.entries(SCOPE, KIND)
    assert (row.path, row.id, row.scope, row.kind, row.shelf) == (
        BookRef(SCOPE, KIND).path, one.id, SCOPE, KIND, "",
    )  # fmt: skip
    assert (row.at, row.source, row.trust, row.origin, row.tags) == (AT, ASSISTANT_TURN, DERIVED, FROM, ("csv",))
    assert (row.title, row.text, row.origin_token, row.owner) == ("Lines", "Split lines on newline only.", TOKEN, "")
    assert (row.standing, row.hidden, row.done, row.pinned) == (True, False, None, False)
    for query in ("lines", "newline", "csv"):
        assert found(index, query) == [one.id], query


def test_tasks_know_whether_they_are_done(index: Index) -> None:
    one, other = entry(SCOPE, TASK, "Write the notes."), entry(SCOPE, TASK, "Cut the release.")
    index.shelve([files(use=changes.done(book(one, other, kind=TASK), other.id, LATER))])
    assert {row.id: row.done for row in index.entries(SCOPE, TASK)} == {one.id: False, other.id: True}


def test_what_a_human_writes_without_a_marker_is_the_user_s_own(index: Index) -> None:
    text = b"# Rules\n\nNever deploy on Fridays.\n"
    index.shelve([Shelves(GLOBAL, CURATED, (_shelf(BookRef(GLOBAL, CURATED), text),), frozenset())])
    (hit,) = index.search("fridays", None, limit=5)
    assert hit.entry
    assert (hit.path, hit.entry.trust, hit.entry.source, hit.entry.at) == ("AGENT_MEMORY.md", USER_STATED, "hand", "")
    assert (hit.membership_ts, hit.memory_sentence, hit.session_id, hit.project) == (None, None, None, None)


def test_any_bytes_can_lie_where_a_book_belongs(index: Index) -> None:
    data = b"\xff\xfe <!-- lineage:entry nonsense --> words \x00 zebra\n"
    index.shelve([Shelves(SCOPE, KIND, (_shelf(BookRef(SCOPE, KIND), data),), frozenset())])
    assert len(found(index, "zebra")) == 1
    assert shelved(Shelves(SCOPE, KIND, (_shelf(BookRef(SCOPE, KIND), data),), frozenset())).problems


def test_a_time_that_stands_for_a_heading_finds_nothing(index: Index) -> None:
    index.shelve([files(use=book(said("Split on newline.")))])
    assert found(index, "2026 30") == []


def test_what_waits_has_a_row_and_is_not_found(index: Index) -> None:
    one = said("Waits for the user.")
    index.shelve([files(pending=book(one))])
    (row,) = index.entries(SCOPE, KIND)
    assert (row.id, row.shelf, row.standing) == (one.id, PENDING, False)
    assert found(index, "waits user") == []
    index.shelve([files(use=changes.confirm(book(one), book(), one.id, LATER)[1])])
    assert found(index, "waits") == [one.id]


def test_archives_are_found(index: Index) -> None:
    old, new = said("An old apple."), said("A new apple.", at=LATER)
    index.shelve([files(use=book(new), _2026=book(old))])
    assert sorted(found(index, "apple")) == sorted([old.id, new.id])


def test_what_was_forgotten_is_not_found_whichever_shelf_has_it_still(index: Index) -> None:
    one, other = said("About apples."), said("About pears.")
    forgetful = changes.forget(book(one, other), one.id)
    index.shelve([files(use=forgetful, _2026=book(one))])
    assert found(index, "about apples pears") == [other.id]
    again = parsed_book(serialized_book(forgetful) + serialized_book(book(one)), SCOPE, KIND)
    index.shelve([files(use=again)])
    assert found(index, "apples") == []


def test_what_another_entry_took_the_place_of_stands_no_more_on_any_shelf(index: Index) -> None:
    old = said("Uses apples.")
    new = said("Uses pears now.", at=LATER, supersedes=(old.id,))
    index.shelve([files(use=book(new), _2026=book(old))])
    assert {row.id: row.standing for row in index.entries(SCOPE, KIND)} == {old.id: False, new.id: True}
    assert found(index, "apples") == [old.id]
    index.shelve([files(use=changes.forget(book(new), new.id), _2026=book(old))])
    assert [row.standing for row in index.entries(SCOPE, KIND)] == [True]


def test_of_two_of_one_time_the_later_one_in_the_files_takes_the_place(index: Index) -> None:
    """The order of the file counts, whatever became of its rows: here one is hidden and comes back."""
    old = said("Uses apples.")
    new = said("Uses pears now.", supersedes=(old.id,))
    index.shelve([files(use=book(new), _2026=book(old))])
    assert {row.id: row.standing for row in index.entries(SCOPE, KIND)} == {old.id: False, new.id: True}
    archive = book(old, new)
    for in_use in (changes.forget(book(old), old.id), book(), book()):
        index.shelve([files(use=in_use, _2026=archive)])
    assert {row.id: row.standing for row in index.entries(SCOPE, KIND)} == {old.id: False, new.id: True}


def test_what_waits_takes_no_place_yet(index: Index) -> None:
    old = said("Uses apples.")
    index.shelve([files(use=book(old), pending=book(said("Uses pears.", at=LATER, supersedes=(old.id,))))])
    assert {row.id: row.standing for row in index.entries(SCOPE, KIND)}[old.id] is True


def test_an_entry_on_two_shelves_is_found_once_where_it_is_in_use(index: Index) -> None:
    one = said("Moved, and the move was cut off.")
    index.shelve([files(use=book(one), _2026=book(one))])
    assert [hit.path for hit in index.search("moved", None, limit=5)] == [BookRef(SCOPE, KIND).path]
    index.shelve([files(use=book(), _2026=book(one))])
    assert [hit.path for hit in index.search("moved", None, limit=5)] == [BookRef(SCOPE, KIND, "2026").path]


def test_two_that_a_hand_gave_one_id_are_both_found(index: Index) -> None:
    one = said("Uses apples.")
    twice = serialized_book(book(one)) + serialized_book(book(one)).replace(b"Uses apples", b"Likes apples")
    index.shelve([files(use=parsed_book(twice, SCOPE, KIND))])
    assert found(index, "apples") == [one.id, one.id]


def test_what_a_removed_session_said_has_no_row(index: Index) -> None:
    gone, kept = said("About apples.", origin=FROM), said("About pears.")
    index.shelve([files(frozenset({TOKEN}), use=book(gone, kept))])
    assert [row.id for row in index.entries(SCOPE, KIND)] == [kept.id]
    scope = f"session/{TOKEN}"
    index.shelve([files(frozenset({TOKEN}), use=book(entry(scope, "note", "x"), scope=scope, kind="note"))])
    assert index.entries(scope, "note") == []
    assert [known.path for known in index.books()] == [BookRef(SCOPE, KIND).path]


def test_rows_that_were_there_before_the_removal_go_with_the_next_look(index: Index) -> None:
    whole = book(said("About apples.", origin=FROM), said("About pears."))
    index.shelve([files(use=whole)])
    assert index.books_of([TOKEN, "x"]) == [(SCOPE, KIND)]
    index.shelve([files(frozenset({TOKEN}), use=whole)])
    assert index.books_of([TOKEN]) == []
    assert found(index, "apples") == []


def test_a_session_that_is_forgotten_takes_along_what_it_said(index: Index) -> None:
    scope = f"session/{TOKEN}"
    own = book(entry(scope, "note", "apples"), scope=scope, kind="note")
    index.shelve([files(use=own), files(use=book(said("apples", origin=FROM), said("pears")))])
    assert index.forget(TOKEN) == 2
    assert [row.text for row in (*index.entries(scope, "note"), *index.entries(SCOPE, KIND))] == ["pears"]
    assert index.books_of([TOKEN]) == []
    assert [known.path for known in index.books()] == [BookRef(SCOPE, KIND).path]


def test_a_session_is_held_as_long_as_there_is_a_row_of_what_it_said(index: Index) -> None:
    assert index.held([TOKEN, "x"]) == set()
    index.shelve([files(use=book(said("apples", origin=FROM), said("pears")))])
    assert index.held([TOKEN, "x"]) == {TOKEN}
    index.forget(TOKEN)
    scope = f"session/{TOKEN}"
    index.shelve([files(use=book(entry(scope, "note", "apples"), scope=scope, kind="note"))])
    assert index.held([TOKEN, "x"]) == {TOKEN}
    index.forget(TOKEN)
    assert (index.held([TOKEN]), index.held([])) == (set(), set())


def test_a_file_that_is_gone_takes_its_rows_along(index: Index) -> None:
    index.shelve([files(use=book(said("One apple.")), _2026=book(said("Two apples.")))])
    index.shelve([files(_2026=book(said("Two apples.")))])
    assert [row.text for row in index.entries(SCOPE, KIND)] == ["Two apples."]
    index.shelve([Shelves(SCOPE, KIND, (), frozenset())])
    assert (index.entries(SCOPE, KIND), list(index.books()), found(index, "apple apples")) == ([], [], [])


def test_books_are_written_whole_or_not_at_all(index: Index) -> None:
    def broken() -> Iterator[Shelves]:
        yield files(use=book(said("About apples.")))
        raise KeyError

    with pytest.raises(KeyError):
        index.shelve(broken())
    assert (index.entries(SCOPE, KIND), list(index.books()), found(index, "apples")) == ([], [], [])


def test_nobody_shelves_between_the_reading_of_a_file_and_its_rows(engine: str, index: Index, tmp_path: Path) -> None:
    """The later of two writers has read the file later, too."""

    def reading() -> Iterator[Shelves]:
        with closing(impatient(engine, tmp_path / "index.db")) as other, pytest.raises(WorkspaceError):
            other.shelve([files(use=book(said("About pears.")))])
        yield files(use=book(said("About apples.")))

    index.shelve(reading())
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
    there = {part.entry.id for part in one.parts if part.entry and part.sound}
    if what == "add":
        return changes.add(one, first)
    if what == "supersede" and first.id not in one.known:
        return parsed_book(serialized_book(one) + serialized_book(book(first)), SCOPE, KIND)
    if what == "forget" and first.id in there:
        return changes.forget(one, first.id)
    if what == "drop" and first.id in there:
        return changes.without(one, first.id)
    if what == "cut":
        return parsed_book(serialized_book(one)[: -7 * (number + 1)], SCOPE, KIND)
    return parsed_book(f"by hand {number}\n\n".encode() + serialized_book(one), SCOPE, KIND) if what == "hand" else one


@pytest.mark.slow
@given(steps=st.lists(st.lists(STEP, min_size=1, max_size=3), min_size=1, max_size=8))
def test_rows_that_came_little_by_little_are_those_of_a_rebuild(
    engine: str, tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, str, int, int, str]]]
) -> None:
    folder = tmp_path_factory.mktemp("index-books")
    shelves = {name: book() for name in SHELVES}
    with closing(opened(engine, folder / "one.db")) as grown, closing(opened(engine, folder / "two.db")) as rebuilt:
        for several in steps:
            for what, name, number, other, at in several:
                second = said(TEXTS[other])
                more = {"supersedes": (second.id,)} if what == "supersede" else {}
                shelves[name] = changed(shelves[name], what, said(TEXTS[number], at=at, **more), second, number)
            grown.shelve([files(**shelves)])
        rebuilt.shelve([files(**shelves)])
        assert rows_of_books(grown) == rows_of_books(rebuilt)
        rows = grown.entries(SCOPE, KIND)
        assert set(shelved(files(**shelves)).rows) == set(rows)
        forgotten = frozenset[str]().union(*(one.forgotten for one in shelves.values()))
        words = "apple pear one two three hand"  # "by" alone is looked up by nobody
        named = [row for row in rows if not set(re.findall(r"\w+", row.text)).isdisjoint(words.split())]
        visible = found(grown, words)
        assert forgotten.isdisjoint(visible)
        assert sorted(visible) == sorted(row.id for row in named if not row.hidden and row.shelf != PENDING)
