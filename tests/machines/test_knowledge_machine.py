"""Sessions teach, and a person works with what they taught, in any order: no word of the user's is lost, nothing that
was forgotten comes back, and nothing derived is global without the user's word.

Two sessions go on, are ended, die while they end, and are rewritten by their harness, so that turns are captured again;
the user remembers, edits, forgets and confirms, types anywhere into any book, and books roll over. After every step:

- a word that the user remembered, edited or typed, and hasn't deleted or forgotten since, stands in some book;
- what was forgotten stands in no book again, nor what its turn said, whatever is extracted;
- in a global book that is in use stands only what the user typed or confirmed;
- nothing is learned twice: of a book with all its shelves no two entries have one id.

What makes it fail: ids that are made of the transcript's path instead of the turn; a `keep` that doesn't look into
archives; a confirmation that leaves before it has arrived; a global text that doesn't wait.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.base.times import shift_time
from lineage.core.books.book_edits import Cap
from lineage.core.books.entry import CONFIRMED, MANUAL, Entry
from lineage.errors import LineageError
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.memory.books import (
    EntryLocation,
    edit_entry,
    find_entry,
    forget_entry,
)
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.memory.waiting_entries import confirm_entries, load_evidence
from lineage.store import read_or_none
from tests.support.faults import CrashPoint, crashes, with_crash_point
from tests.support.memory_store import MemoryStore
from tests.support.workspace import NOW, at_time, build_end_request, open_test_workspace, read_store

pytestmark = pytest.mark.slow

SESSIONS = ("s-1", "s-2")
BOOKS = "books/"
WORD = re.compile(r"word\d+x")
SAYINGS = (
    ("user", "I prefer thing {n} over all the others."),
    ("user", "We decided to go on with thing {n}."),
    ("user", "I am currently working on thing {n}."),
    ("user", "The project uses thing {n} for everything."),
    ("assistant", "We decided to keep thing {n} as it is."),
    ("assistant", "Lesson: thing {n} needs a newline at its end."),
    ("assistant", "TODO: write a test for thing {n}."),
)
SURROUNDINGS = (
    "{}", "\n{}\n", "\r\n{}\r\n", "---\n{}\n---\n", "## {}\n", "<!-- {} -->", "\n<!-- lineage:end {} -->\n", "```\n{}",
    "<!-- lineage:", "",
)  # fmt: skip
KINDS = ("note", "preference", "decision")

places = st.integers(0, 10**6)
sessions = st.sampled_from(SESSIONS)
sayings = st.integers(0, 20)


class KnowledgeMachine(RuleBasedStateMachine):
    """`live` are the user's words, `forgotten` the ids that must stay away, each with the turn that its entry came from
    ("" for none)."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="knowledge-machine-"))
        self.store, self.private = MemoryStore(), MemoryStore()
        self.opened = ExitStack()
        self.ws = self.opened.enter_context(open_test_workspace(self.folder, store=self.store, private=self.private))
        self.now = NOW
        self.said: dict[str, list[dict[str, Any]]] = {session: [] for session in SESSIONS}
        self.live: set[str] = set()
        self.forgotten: dict[str, str] = {}
        self.count = 0
        self.was_typed = False

    def teardown(self) -> None:
        if hasattr(self, "opened"):
            self.opened.close()
            shutil.rmtree(self.folder)

    # sessions

    @rule(session=sessions, numbers=st.lists(sayings, min_size=1, max_size=4))
    def go_on_and_end(self, session: str, numbers: list[int]) -> None:
        self.say(session, numbers)
        self.end(session)

    @rule(session=sessions, numbers=st.lists(sayings, min_size=1, max_size=4), call=st.integers(1, 25))
    def die_while_it_ends(self, session: str, numbers: list[int], call: int) -> None:
        self.say(session, numbers)
        ws = with_crash_point(self.later(), self.store, self.private, CrashPoint(call, after=bool(call % 2)))
        crashes(lambda: run_capture(ws, self.request(session)))

    @rule(session=sessions, first=st.integers(0, 3), number=sayings)
    def be_rewritten_and_end(self, session: str, first: int, number: int) -> None:
        """The harness drops the first turns and the last one: what is left is captured again."""
        self.said[session] = self.said[session][first:-1]
        self.say(session, [number])
        self.end(session)

    @rule()
    def recover(self) -> None:
        recover(self.later())

    # the user, with commands

    @rule(kind=st.sampled_from(KINDS), project=st.booleans())
    def remember(self, kind: str, project: bool) -> None:
        word = self.fresh()
        memo = Memo(text=f"The user says {word} here.", kind=kind, scope="project/demo" if project else None)
        assert remember(self.later(), memo).status == "remembered"
        self.live.add(word)

    @rule(which=places)
    def edit(self, which: int) -> None:
        if (place := self.chosen(which)) is None:
            return
        word = self.fresh()
        with suppress(LineageError):
            edit_entry(self.later(), place.entry.id, f"The user changes it to {word}.")
            self.live -= set(WORD.findall(place.entry.body))
            self.live.add(word)

    @rule(which=places)
    def forget(self, which: int) -> None:
        if (place := self.chosen(which)) is None:
            return
        parts = [part for book in self.books() for part in book.parts if part.entry]
        raw = "".join(part.raw for part in parts if part.entry and part.entry.id == place.entry.id)
        with suppress(LineageError):
            forget_entry(self.later(), place.entry.id)
            self.live -= set(WORD.findall(raw))
            self.forgotten[place.entry.id] = turn_of(place.entry)

    @rule(which=places)
    def confirm(self, which: int) -> None:
        if (place := self.chosen(which, PENDING)) is None:
            return
        with suppress(LineageError):
            confirm_entries(self.later(), load_evidence(self.ws, [place.entry.id]))

    @rule(which=places, most=st.integers(0, 3))
    def roll_over(self, which: int, most: int) -> None:
        refs = [ref for ref in self.ws.documents.books.list() if ref.shelf == ""]
        if refs:
            ref = refs[which % len(refs)]
            self.ws.documents.books.roll_over(ref.scope, ref.kind, Cap(most, most))

    # the user, with an editor

    @rule(which=places, place=places, form=st.sampled_from(SURROUNDINGS))
    def type_into(self, which: int, place: int, form: str) -> None:
        word = self.fresh()
        text = form.format(word).encode()
        self.by_hand(which, lambda data: data[: place % (len(data) + 1)] + text + data[place % (len(data) + 1) :])
        self.live |= self.written() & {word}

    @rule(which=places, place=places, length=st.integers(1, 80))
    def delete_from(self, which: int, place: int, length: int) -> None:
        self.by_hand(which, lambda data: data[: place % (len(data) + 1)] + data[place % (len(data) + 1) + length :])

    # the law

    @invariant()
    def no_user_s_word_is_lost(self) -> None:
        assert self.live - self.written() == set()

    @invariant()
    def nothing_forgotten_stands_again(self) -> None:
        standing = [entry for book in self.books() for entry in book.active_entries]
        assert {entry.id for entry in standing} & self.forgotten.keys() == set()
        assert {turn_of(entry) for entry in standing} & set(filter(None, self.forgotten.values())) == set()

    @invariant()
    def nothing_derived_is_global_without_the_user_s_word(self) -> None:
        if not self.was_typed:
            refs = (ref for ref in self.ws.documents.books.list() if ref.scope == GLOBAL and ref.shelf != PENDING)
            sources = {entry.source for ref in refs for entry in self.ws.documents.books.read(ref).entries}
            assert sources <= {MANUAL, CONFIRMED}

    @invariant()
    def nothing_is_learned_twice(self) -> None:
        if not self.was_typed:
            ids = [(book.scope, book.kind, entry.id) for book in self.books() for entry in book.entries]
            assert len(ids) == len(set(ids))

    # how

    def fresh(self) -> str:
        self.count += 1
        return f"word{self.count}x"

    def later(self) -> Any:
        self.now = shift_time(self.now, milliseconds=60_000)
        return at_time(self.ws, self.now)

    def say(self, session: str, numbers: list[int]) -> None:
        for number in numbers:
            self.count += 1
            role, text = SAYINGS[number % len(SAYINGS)]
            turn = {"role": role, "text": text.format(n=number), "id": f"{session}-{self.count}"}
            self.said[session].append(turn)

    def request(self, session: str) -> Any:
        return build_end_request(at_time(self.ws, self.now), session, transcript=self.said[session])

    def end(self, session: str) -> None:
        ws = self.later()
        assert run_capture(ws, self.request(session)).status in ("captured", "unchanged")

    def books(self) -> Iterator[Any]:
        return (self.ws.documents.books.read(ref) for ref in self.ws.documents.books.list())

    def written(self) -> set[str]:
        text = "\n".join(data.decode(errors="replace") for data in read_store(self.store, BOOKS).values())
        return set(WORD.findall(text))

    def chosen(self, which: int, shelf: str | None = None) -> EntryLocation | None:
        """An entry that a command can name, None where there is none."""
        refs = [ref for ref in self.ws.documents.books.list() if shelf in (None, ref.shelf)]
        ids = sorted({entry.id for ref in refs for entry in self.ws.documents.books.read(ref).entries})
        with suppress(LineageError):
            return find_entry(self.ws, ids[which % len(ids)], shelf) if ids else None
        return None

    def by_hand(self, which: int, change: Callable[[bytes], bytes]) -> None:
        """What the human deletes is no word of theirs any more; an id that they deleted may come back."""
        refs = sorted({*self.ws.documents.books.list(), BookRef("project/demo", "lesson")})
        path = refs[which % len(refs)].path
        blob = read_or_none(self.store, path)
        if blob is None:
            self.store.create(path, change(b""))
        else:
            self.store.replace(path, change(blob.data), blob.version)
        self.was_typed = True
        self.live &= self.written()
        marks = {mark for book in self.books() for mark in book.forgotten_ids}
        self.forgotten = {identifier: turn for identifier, turn in self.forgotten.items() if identifier in marks}


def turn_of(entry: Entry) -> str:
    """The turn that an entry's link leads to, "" for none."""
    return (entry.origin or "").partition("#^")[2].removesuffix("]]")


TestKnowledge = KnowledgeMachine.TestCase
TestKnowledge.settings = settings(max_examples=settings().max_examples, stateful_step_count=20)
