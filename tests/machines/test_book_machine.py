"""A book under lineage and a human at once, in any order: no user's word is lost, nothing forgotten comes back.

What a user's word is: one that stands in a text the user remembered, edited or typed into the file, and that the user
has not deleted, replaced or forgotten since. A head that the human's typing made one of a newer format is refused: what
was not written then was never said. What makes it fail: a marker that takes free text with it; a merge that
prefers one side; a roll-over that leaves before it has arrived; an `add` that doesn't ask the tombstones.
"""

import re
from collections.abc import Callable, Set

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lineage.core.base.book_paths import BookRef
from lineage.core.books import book_edits as changes
from lineage.core.books.book import Book, parse_book, read_properties, serialize_book
from lineage.core.books.book_edits import Cap
from lineage.core.books.entry import ASSISTANT_TURN, BEFORE, MANUAL, Entry, new_entry
from lineage.core.format.documents import FORMAT
from lineage.documents import Books
from lineage.errors import FormatError, LineageError
from tests.support.memory_store import MemoryStore

pytestmark = pytest.mark.slow

SCOPE, KIND = "agent/ann", "lesson"
REF = BookRef(SCOPE, KIND)
WORD = re.compile(r"word\d+x")
NOW = "2026-03-28T10:00:00.000Z"
SURROUNDINGS = (
    "{}", "\n{}\n", "\r\n{}\r\n", "---\n{}\n---\n", "## {}\n", "<!-- {} -->", "\n<!-- lineage:end {} -->\n",
    "\n<!-- lineage:entry {} -->\n", "```\n{}", "<!-- lineage:", "{} é日本", "",
)  # fmt: skip

places = st.integers(0, 10**6)
facts = st.integers(0, 5)


def at(number: int) -> str:
    return f"202{number % 3 + 4}-03-28T10:{number % 60:02d}:00.000Z"


class BookMachine(RuleBasedStateMachine):
    """`live` are the user's words, `forgotten` the ids that must stay away."""

    @initialize()
    def begin(self) -> None:
        self.store = MemoryStore()
        self.books = Books(self.store)
        self.live: set[str] = set()
        self.forgotten: set[str] = set()
        self.count = 0

    # what lineage does

    @rule(number=facts)
    def extract(self, number: int) -> None:
        self.writing(lambda: self.books.add(SCOPE, KIND, fact(number)))

    @rule(hand=st.booleans(), place=places, form=st.sampled_from(SURROUNDINGS))
    def remember(self, hand: bool, place: int, form: str) -> None:
        word = self.fresh()
        entry = new_entry(SCOPE, KIND, f"{word}\n---\n## more", at=at(self.count), source=MANUAL)
        self.live.add(word)
        self.apply(lambda book: changes.add(book, entry), hand, place, form)

    @rule(which=places, hand=st.booleans(), place=places, form=st.sampled_from(SURROUNDINGS))
    def edit(self, which: int, hand: bool, place: int, form: str) -> None:
        if entry := self.chosen(which):
            word = self.fresh()
            first = next(one for one in self.books.read(REF).entries if one.id == entry.id)  # of copies it is edited
            # With the body goes what its marker keeps of the body before it.
            gone = set(WORD.findall(f"{first.body}{dict(first.more).get(BEFORE, '')}")) & self.live
            self.live = self.live - gone | {word}
            self.apply(lambda book: changes.edit(book, entry.id, word, NOW), hand, place, form, gone)

    @rule(which=places, hand=st.booleans(), place=places, form=st.sampled_from(SURROUNDINGS))
    def pin(self, which: int, hand: bool, place: int, form: str) -> None:
        if entry := self.chosen(which):
            self.apply(lambda book: changes.pin(book, entry.id, NOW, is_pinned=not entry.pinned), hand, place, form)

    @rule(which=places, hand=st.booleans(), place=places, form=st.sampled_from(SURROUNDINGS))
    def forget(self, which: int, hand: bool, place: int, form: str) -> None:
        if entry := self.chosen(which):
            shelves = map(self.books.read, self.books.list_shelves(SCOPE, KIND))  # a copy may have rolled over
            parts = (part for book in shelves for part in book.parts if part.entry and part.entry.id == entry.id)
            gone = {word for part in parts for word in WORD.findall(part.raw)} & self.live
            self.live -= gone
            self.forgotten.add(entry.id)
            if self.apply(lambda book: changes.forget(book, entry.id), hand, place, form, gone):
                for ref in self.books.list_shelves(SCOPE, KIND)[1:]:  # as `Books.forget` does
                    if any(one.id == entry.id for one in self.books.read(ref).entries):
                        self.books.update(SCOPE, KIND, lambda book: changes.forget(book, entry.id), ref.shelf)

    @rule(most=st.integers(0, 3))
    def roll_over(self, most: int) -> None:
        self.writing(lambda: self.books.roll_over(SCOPE, KIND, Cap(most, most)))

    # what the human does

    @rule(place=places, form=st.sampled_from(SURROUNDINGS))
    def type_into(self, place: int, form: str) -> None:
        self.typed(place, form)

    @rule(place=places, length=st.integers(1, 80))
    def delete_from(self, place: int, length: int) -> None:
        self.by_hand(lambda data: data[: place % (len(data) + 1)] + data[place % (len(data) + 1) + length :])

    @rule(place=places, length=st.integers(50, 400), goal=places)
    def copy_and_paste(self, place: int, length: int, goal: int) -> None:
        def pasted(data: bytes) -> bytes:
            start, cut = place % (len(data) + 1), goal % (len(data) + 1)
            return data[:cut] + data[start : start + length] + data[cut:]

        self.by_hand(pasted)

    @rule(end=st.sampled_from([b"\n", b"\r\n", b"\r"]))
    def change_line_ends(self, end: bytes) -> None:
        self.by_hand(lambda data: re.sub(b"\r\n|\r|\n", end, data))

    # the law

    @invariant()
    def no_user_s_word_is_lost(self) -> None:
        assert self.live - set(WORD.findall(self.everything())) == set()

    @invariant()
    def nothing_forgotten_stands_again(self) -> None:
        standing = {entry.id for ref in self.books.list() for entry in self.books.read(ref).active_entries}
        assert standing & self.forgotten == set()

    @invariant()
    def every_book_is_written_as_it_is_read(self) -> None:
        for entry in self.store.list("books/"):
            data = self.store.read(entry.key).data
            assert serialize_book(parse_book(data, SCOPE, KIND)) == data

    # how

    def fresh(self) -> str:
        self.count += 1
        return f"word{self.count}x"

    def everything(self) -> str:
        return "\n".join(
            self.store.read(entry.key).data.decode(errors="replace") for entry in self.store.list("books/")
        )

    def chosen(self, which: int) -> Entry | None:
        """An entry of the book that can be worked on, None where there is none."""
        sound = [part.entry for part in self.books.read(REF).parts if part.entry and part.is_complete]
        book = self.books.read(REF)
        firsts = [entry for entry in sound if is_sound(book, entry.id)]
        return firsts[which % len(firsts)] if firsts else None

    def writing(self, write: Callable[[], object]) -> bool:
        """Whether lineage wrote; it refuses a book that says a newer format, and nothing else."""
        try:
            write()
        except FormatError:
            number = read_properties(self.books.read(REF)).get("format")
            assert isinstance(number, int)
            assert number > FORMAT
            return False
        return True

    def apply(self, change: changes.BookEdit, hand: bool, place: int, form: str, gone: Set[str] = frozenset()) -> bool:
        """Whether lineage's change is written; with `hand`, the human types into the file after lineage read it.

        `gone` are the words that the change takes: they are still the user's where it is refused.
        """

        def slow(book: Book) -> Book:
            changed = change(book)
            if hand:
                not_yet_written = self.live - set(WORD.findall(self.everything()))
                self.typed(place, form)
                self.live |= not_yet_written
            return changed

        if not self.writing(lambda: self.books.update(SCOPE, KIND, slow)):
            self.live |= gone
            self.settle()
            return False
        return True

    def typed(self, place: int, form: str) -> None:
        """Types anywhere into the file; a word that this splits is no longer one."""
        word = self.fresh()
        text = form.format(word).encode()
        self.by_hand(lambda data: data[: place % (len(data) + 1)] + text + data[place % (len(data) + 1) :])
        self.live |= set(WORD.findall(self.everything())) & {word}

    def by_hand(self, change: Callable[[bytes], bytes]) -> None:
        """What the human deletes is no word of theirs any more; an id that they deleted may come back."""
        path = REF.path
        data = self.store.read(path).data if any(entry.key == path for entry in self.store.list("books/")) else None
        changed = change(data or b"")
        if data is None:
            self.store.create(path, changed)
        else:
            self.store.replace(path, changed, self.store.read(path).version)
        self.settle()

    def settle(self) -> None:
        """Only what stands in the files is left of the user's words and of what is forgotten."""
        self.live &= set(WORD.findall(self.everything()))
        marks = {mark for ref in self.books.list() for mark in self.books.read(ref).forgotten_ids}
        self.forgotten &= marks


def fact(number: int) -> Entry:
    return new_entry(SCOPE, KIND, f"A fact, number {number}.", at=at(number), source=ASSISTANT_TURN, tags=("auto-x",))


def is_sound(book: Book, identifier: str) -> bool:
    try:
        changes.find_part(book, identifier)
    except LineageError:
        return False
    return True


TestBooks = BookMachine.TestCase
TestBooks.settings = settings(max_examples=4 * settings().max_examples, stateful_step_count=25)
