"""Books over every store: many writers, a human among them, and nothing lost. The lessons are those of `lessons.md`.

What the guards rest on: `merged` in `settle`; `_known` over all shelves in `add`; the archive written before the book.
"""

import threading
from functools import partial

import pytest

from lineage.core.base.book_paths import CURATED_PATH, PENDING, BookRef
from lineage.core.books import book_edits as changes
from lineage.core.books.book import Book, parse_book, serialize_book, upgrade_book
from lineage.core.books.book_edits import Cap
from lineage.core.books.entry import ASSISTANT_TURN, MANUAL, USER_STATED, Entry, new_entry
from lineage.core.format.documents import FORMAT
from lineage.documents import Books
from lineage.errors import FormatError, NotFoundError
from lineage.store import Store, read_or_none, update
from tests.support.concurrency import run_concurrently

AT, LATER = "2026-03-28T22:34:06.792Z", "2026-03-29T10:00:00.000Z"
SCOPE, KIND = "agent/ann", "decision"
REF = BookRef(SCOPE, KIND)


def entry(body: str = "One.", kind: str = KIND, scope: str = SCOPE, **more: object) -> Entry:
    return new_entry(scope, kind, body, **{"at": AT, "source": MANUAL, **more})  # type: ignore[arg-type]


def by_hand(store: Store, ref: BookRef, old: str, new: str) -> None:
    """What an editor does: reads the file, changes it and writes it."""
    blob = store.read(ref.path)
    assert old in blob.data.decode()
    store.replace(ref.path, blob.data.decode().replace(old, new, 1).encode(), blob.version)


def said(store: Store, ref: BookRef = REF) -> list[str]:
    return [one.body for one in Books(store).read(ref).entries]


def everything(store: Store) -> str:
    return "".join(store.read(one.key).data.decode() for one in store.list("books/"))


def test_a_book_begins_with_its_first_entry(store: Store) -> None:
    books = Books(store)
    assert books.get(SCOPE, KIND).entries == ()
    assert list(books.list()) == []
    assert books.add(SCOPE, KIND, entry()) is True
    assert books.add(SCOPE, KIND, entry()) is False
    assert books.get(SCOPE, KIND).entries == (entry(),)
    assert books.get(SCOPE, KIND).problems == ()


def test_all_books_are_listed_and_nothing_else(store: Store) -> None:
    books = Books(store)
    refs = [REF, BookRef("global", "daily/2026-03-28"), BookRef("session/..", "a/b"),
            BookRef("global", "note", PENDING), BookRef(SCOPE, KIND, "2026"), BookRef("global", "curated"),
            BookRef("agent/Ann", "note")]  # fmt: skip
    for ref in refs:
        books.update(ref.scope, ref.kind, lambda book, ref=ref: changes.add(book, entry(scope=ref.scope)), ref.shelf)
    store.create("books/global/note.sync-conflict-1.md", b"x")
    assert list(books.list()) == sorted(refs)


def test_a_change_that_changes_nothing_writes_nothing(store: Store) -> None:
    assert Books(store).update(SCOPE, KIND, lambda book: book) is False
    assert read_or_none(store, REF.path) is None


def test_any_file_can_lie_where_a_book_belongs(store: Store) -> None:
    store.create(REF.path, b"\xff\xfe mine\r\n<!-- lineage:entry {} -->")
    Books(store).add(SCOPE, KIND, entry())
    assert store.read(REF.path).data.startswith(
        b"\xff\xfe mine\r\n<!-- lineage:entry {} -->\r\n\r\n<!-- lineage:entry {"
    )
    assert said(store) == ["One."]


def test_what_a_human_writes_while_lineage_thinks_stays(store: Store) -> None:
    books = Books(store)
    books.add(SCOPE, KIND, entry())
    books.add(SCOPE, KIND, entry("Two."))

    def slow(book: Book) -> Book:
        by_hand(store, REF, "One.", "One, by hand.")
        by_hand(store, REF, "<!-- lineage:entry", "Free words.\n\n<!-- lineage:entry")
        return changes.edit(changes.add(book, entry("Three.")), entry("Two.").id, "2", LATER)

    assert books.update(SCOPE, KIND, slow)
    assert said(store) == ["One, by hand.", "2", "Three."]
    assert [one.text for one in books.read(REF).handwritten_entries] == ["Free words.\n"]
    assert books.read(REF).problems == ()


def test_what_a_human_creates_while_lineage_thinks_stays(store: Store) -> None:
    def slow(book: Book) -> Book:
        store.create(REF.path, b"Free words.")
        return changes.add(book, entry())

    Books(store).update(SCOPE, KIND, slow)
    assert store.read(REF.path).data.startswith(b"Free words.\n\n<!-- lineage:entry")


@pytest.mark.parametrize("bound", [0, 1])
def test_a_human_s_edit_of_what_rolls_over_stays(store: Store, bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    books = Books(store)
    for number in range(3):
        books.add(SCOPE, KIND, entry(f"Number {number}.", at=f"2026-03-28T22:34:0{number}.000Z"))
    genuine = Books.archive

    def interrupted(self: Books, *arguments: object) -> None:
        genuine(self, *arguments)  # type: ignore[arg-type]
        by_hand(store, REF, "Number 0.", "Number 0, by hand.")

    monkeypatch.setattr(Books, "archive", interrupted)
    books.roll_over(SCOPE, KIND, Cap(bound, bound))
    assert "Number 0, by hand." in said(store)
    assert "Number 0." in said(store, BookRef(SCOPE, KIND, "2026"))


def test_rolling_over_again_repeats_nothing(store: Store) -> None:
    books = Books(store)
    for number in range(4):
        books.add(SCOPE, KIND, entry(f"Number {number}.", at=f"202{number + 4}-03-28T22:34:00.000Z"))
    whole = books.read(REF)
    assert books.roll_over(SCOPE, KIND, Cap(2, 1)) == 3
    assert books.roll_over(SCOPE, KIND, Cap(2, 1)) == 0
    books.archive(SCOPE, KIND, whole.parts[:3])
    assert [said(store, BookRef(SCOPE, KIND, year)) for year in ("2024", "2025", "2026")] == [
        ["Number 0."], ["Number 1."], ["Number 2."]
    ]  # fmt: skip
    assert said(store) == ["Number 3."]


def test_what_is_archived_waits_or_is_forgotten_is_not_added_again(store: Store) -> None:
    books = Books(store)
    books.add(SCOPE, KIND, entry())
    books.roll_over(SCOPE, KIND, Cap(0, 0))
    assert books.add(SCOPE, KIND, entry()) is False
    assert books.add(SCOPE, KIND, entry(), PENDING) is False
    assert books.add(SCOPE, KIND, entry("Two."), PENDING) is True
    assert books.add(SCOPE, KIND, entry("Two.")) is False
    for body in ("One.", "Two."):
        books.forget(SCOPE, KIND, entry(body).id)
        books.forget(SCOPE, KIND, entry(body).id)
        assert books.add(SCOPE, KIND, entry(body)) is books.add(SCOPE, KIND, entry(body), PENDING) is False
    assert "One." not in everything(store)
    assert "Two." not in everything(store)
    with pytest.raises(NotFoundError):
        books.forget(SCOPE, KIND, "0" * 16)


def test_what_waits_is_confirmed(store: Store) -> None:
    books = Books(store)
    books.add("global", "decision", entry(scope="global", source=ASSISTANT_TURN), PENDING)
    assert books.get("global", "decision").entries == ()
    waiting = books.get("global", "decision", PENDING).entries[0]
    books.confirm("global", "decision", waiting.id, LATER)
    assert books.get("global", "decision", PENDING).entries == ()
    assert [one.trust for one in books.get("global", "decision").entries] == [USER_STATED]
    assert books.add("global", "decision", entry(scope="global", source=ASSISTANT_TURN), PENDING) is False
    with pytest.raises(NotFoundError):
        books.confirm("global", "decision", waiting.id, LATER)


def test_what_is_demoted_lies_in_the_other_book(store: Store) -> None:
    books, target = Books(store), BookRef("session/x", "fact")
    books.add(SCOPE, KIND, entry())
    books.move(REF, target, entry().id, LATER)
    assert (said(store), said(store, target)) == ([], ["One."])
    assert books.add(SCOPE, KIND, entry()) is False


def test_the_curated_book_is_the_human_s_file(store: Store) -> None:
    books = Books(store)
    store.create(CURATED_PATH, b"# Mine\n\n- use tabs")
    assert [one.trust for one in books.get("global", "curated").handwritten_entries] == [USER_STATED]
    books.add("global", "curated", entry(kind="curated", scope="global"))
    assert store.read(CURATED_PATH).data.startswith(b"# Mine\n\n- use tabs\n\n<!-- lineage:entry {")
    assert list(books.list()) == [BookRef("global", "curated")]


@pytest.mark.slow
def test_writers_and_a_human_at_the_same_time_lose_nothing(store: Store) -> None:
    run_concurrently(store, write_many, [(who, 10) for who in range(4)])
    assert sorted(said(store)) == sorted(f"Entry {number} of {who}." for who in range(3) for number in range(10))
    hand = "".join(one.text for one in Books(store).read(REF).handwritten_entries)
    assert [number for number in range(10) if f"typed {number};" in hand] == list(range(10))


def write_many(store: Store, who: int, count: int) -> None:
    for number in range(count):
        if who == 3:
            update(store, REF.path, partial(typed, number))
        else:
            Books(store).add(SCOPE, KIND, entry(f"Entry {number} of {who}."))


def typed(number: int, data: bytes | None) -> bytes:
    return f"typed {number};\n\n".encode() + (data or b"")


@pytest.mark.slow
def test_a_thread_that_edits_in_between_loses_nothing(store: Store) -> None:
    books, stop = Books(store), threading.Event()
    books.add(SCOPE, KIND, entry("Number 0."))
    typed_words: list[str] = []

    def human() -> None:
        while not stop.is_set() and len(typed_words) < 200:
            word = f"typed {len(typed_words)};"
            update(
                store,
                REF.path,
                lambda data, word=word: (data or b"").replace(b"Number 0.", f"Number 0.\n{word}".encode()),
            )
            typed_words.append(word)

    thread = threading.Thread(target=human)
    thread.start()
    for number in range(1, 15):
        books.add(SCOPE, KIND, entry(f"Number {number}."))
        books.update(
            SCOPE,
            KIND,
            lambda book, pinned=number % 2 == 1: changes.pin(book, entry("Number 0.").id, AT, is_pinned=pinned),
        )
    stop.set()
    thread.join()
    text = store.read(REF.path).data.decode()
    assert [word for word in typed_words if word not in text] == []
    assert {f"Number {number}." for number in range(1, 15)} <= set(said(store))


# lessons


@pytest.mark.slow
def test_lesson_20_ids_come_from_content_and_never_from_a_count(store: Store) -> None:
    books = Books(store)
    for number in range(105):
        books.add(SCOPE, KIND, entry(f"Fact {number}."))
        books.roll_over(SCOPE, KIND, Cap(100, 100))
    held = [one.id for ref in books.list() for one in books.read(ref).entries]
    assert len(held) == len(set(held)) == 105


def test_lesson_21_a_change_of_mind_is_no_duplicate(store: Store) -> None:
    books = Books(store)
    said_first = entry("User prefers Go over Python", "preference", "global")
    said_later = entry("User prefers Python over Go", "preference", "global", at=LATER, supersedes=(said_first.id,))
    assert books.add("global", "preference", said_first)
    assert books.add("global", "preference", said_later)
    book = books.get("global", "preference")
    assert (len(book.entries), [one.id for one in book.active_entries]) == (2, [said_later.id])


def test_lesson_25_a_new_process_adds_to_what_is_there(store: Store) -> None:
    for number in range(3):
        Books(store).add(SCOPE, KIND, entry(f"Number {number}."))
    assert said(store) == ["Number 0.", "Number 1.", "Number 2."]


def test_lesson_26_a_rule_ends_nothing_and_text_before_a_heading_stays(store: Store) -> None:
    store.create(REF.path, b"Before any heading.\n\n---\n\n## A heading\n")
    body = "Before the rule.\n\n---\n\n## Within\n\nAfter it."
    Books(store).add(SCOPE, KIND, entry(body))
    Books(store).add(SCOPE, KIND, entry("Two."))
    assert said(store) == [body, "Two."]
    assert [one.text for one in Books(store).read(REF).handwritten_entries] == [
        "Before any heading.\n\n---\n\n## A heading\n"
    ]


def test_lesson_27_tags_read_back_whole_and_survive_an_update(store: Store) -> None:
    books, tags = Books(store), ("auto-extract", "two words", "日本", "a,b", '"', "-->")
    books.add(SCOPE, KIND, entry(tags=tags))
    books.update(SCOPE, KIND, lambda book: changes.edit(book, entry().id, "Other.", LATER))
    books.update(SCOPE, KIND, lambda book: changes.pin(book, entry().id, LATER))
    assert [one.tags for one in books.read(REF).entries] == [tags]


@pytest.mark.slow
def test_lesson_28_all_of_120_decisions_survive_and_open_tasks_stay_apart(store: Store) -> None:
    books = Books(store)
    for number in range(120):
        books.add(
            SCOPE, KIND, entry(f"Decision {number}.", at=f"2026-03-28T{number // 60:02d}:{number % 60:02d}:00.000Z")
        )
        if number < 40:
            books.add(SCOPE, "task", entry(f"Task {number}.", "task"))
        if number % 5 == 4:
            books.roll_over(SCOPE, KIND)
            books.roll_over(SCOPE, "task")
    assert len(said(store)) <= 30
    held = [one.body for ref in books.list() if ref.kind == KIND for one in books.read(ref).entries]
    assert sorted(held) == sorted(f"Decision {number}." for number in range(120))
    assert said(store)[-1] == "Decision 119."
    assert said(store, BookRef(SCOPE, "task")) == [f"Task {number}." for number in range(40)]


def test_what_was_written_reads_back_equal(store: Store) -> None:
    Books(store).add(SCOPE, KIND, entry("A\r\nB"))
    data = store.read(REF.path).data
    assert serialize_book(parse_book(data, SCOPE, KIND)) == data


def test_a_book_of_a_newer_format_is_read_and_not_written(store: Store) -> None:
    books = Books(store)
    books.add(SCOPE, KIND, entry())
    by_hand(store, REF, f"format: {FORMAT}", f"format: {FORMAT + 1}")
    before = everything(store)
    assert [each.text for each in books.get(SCOPE, KIND).entries]
    with pytest.raises(FormatError, match=f"format {FORMAT + 1}"):
        books.add(SCOPE, KIND, entry("Two."))
    with pytest.raises(FormatError):
        books.update(SCOPE, KIND, upgrade_book)
    assert everything(store) == before


@pytest.mark.parametrize("typed", ["word7x2", "-1", "2.5", "", "true", "[1, 2]"])
def test_a_format_that_a_hand_mangled_stops_no_writing_and_is_named(store: Store, typed: str) -> None:
    """A capture that learns would not end otherwise."""
    books = Books(store)
    books.add(SCOPE, KIND, entry())
    by_hand(store, REF, f"format: {FORMAT}", f"format: {typed}")
    assert books.add(SCOPE, KIND, entry("Two."))
    assert said(store)[-1] == "Two."
    assert f"format: {typed}" in everything(store)
    assert books.read(REF).problems == ("frontmatter: 'format' is not a number from 1",)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_upgrade_adds_the_format_to_the_head_of_a_book_and_touches_nothing_else(store: Store, end: str) -> None:
    books = Books(store)
    books.add(SCOPE, KIND, entry())
    today = everything(store).replace("\n", end)
    for head in ("", f"format: 1{end}"):
        update(store, REF.path, lambda _, head=head: today.replace(f"format: {FORMAT}{end}", head).encode())
        assert books.update(SCOPE, KIND, upgrade_book)
        assert everything(store) == today
        assert not books.update(SCOPE, KIND, upgrade_book)
