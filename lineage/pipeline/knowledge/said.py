"""What the books in use say, for those who show it outside of them: MEMORY.md and the context of a new session.

Read from the files, never from the index. What waits for confirmation, was superseded or forgotten is not in it, nor
what a removed session said, nor what a private one said anywhere but in its own books; and no agent is told what a
session of another one left in a project's books. (format: Books, Removal; spec: agents don't mix)
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage.core import naming
from lineage.core.book import Book, new_book, redacted, superseded
from lineage.core.book_paths import BookRef
from lineage.core.entry import CONFIRMED, HAND, MANUAL, TASK, USER_STATED, Entry
from lineage.core.identity import DEFAULT_AGENT
from lineage.core.privacy import may_reach, session_scope
from lineage.errors import WorkspaceError
from lineage.pipeline.house import House
from lineage.store import read_or_none, together

_PRIVATE = re.compile(rb"^private: true\r?$", re.MULTILINE)
_AGENT = re.compile(rb'^agent_id: "([\w.-]+)"\r?$', re.MULTILINE)
_A_PERSONS = frozenset({HAND, MANUAL, CONFIRMED})
_PROJECT = "project/"


class Known(NamedTuple):
    """An entry, and the book that says it."""

    ref: BookRef
    entry: Entry

    @property
    def at(self) -> str:
        """When it was last said; "" for what a hand wrote between no markers."""
        return self.entry.updated or self.entry.at

    @property
    def text(self) -> str:
        """All that it says: a heading of its own too, not one that only tells the time."""
        title, body = self.entry.title, self.entry.body
        if self.entry.source == HAND:
            return self.entry.text
        has_own = title and self.entry.done is None and title != self.entry.at[:16].replace("T", " ")
        return f"{title}: {body}" if has_own and body != title else body


class _Speaker(NamedTuple):
    """Whose session left an entry, as far as a file of it says."""

    private: bool
    agent_id: str


class Knowledge:
    """The books of a workspace as they are now, for one agent. Each file is read once; those that can't be are in
    `unread`."""

    def __init__(self, house: House, agent_id: str = DEFAULT_AGENT) -> None:
        self._house = house
        self._agent_id = agent_id
        self._books: dict[BookRef, Book] = {}
        self._speakers: dict[str, _Speaker] = {}
        self.removed = house.canon.tombstones.tokens()
        self.unread: list[str] = []

    def of(self, agent_id: str) -> "Knowledge":
        """The same for another agent, without reading anything again."""
        other = Knowledge.__new__(Knowledge)
        vars(other).update(vars(self), _agent_id=agent_id)
        return other

    def fetch(self, refs: Iterable[BookRef]) -> None:
        """Reads books that will be asked for: together, where each alone would wait for an answer."""
        together(self._house.canon.store, self.book, refs)

    def book(self, ref: BookRef) -> Book:
        if ref not in self._books:
            try:
                self._books[ref] = self._redacted(self._house.canon.books.read(ref))
            except WorkspaceError:
                self.unread.append(ref.path)
                self._books[ref] = new_book(ref.scope, ref.kind)
        return self._books[ref]

    def _redacted(self, book: Book) -> Book:
        """What a hand wrote may hold a secret too: none is shown, in MEMORY.md or in a prompt. (lessons: 44)"""
        whole = "".join(part.raw for part in book.parts)
        if not whole.strip():
            return book
        clean = self._house.sanitizer().text
        return book if clean(whole) == whole else redacted(book, clean, by_hand=True)

    def said(self, scope: str, *kinds: str) -> list[Known]:
        """What the books of a scope say, as it ranks: pinned entries, then what the user stated, then what is derived,
        each newest first. Time takes nothing away. (lessons: 22)"""
        found = [known for kind in kinds for known in self.in_force(BookRef(scope, kind))]
        return ranked(found)

    def in_force(self, ref: BookRef) -> list[Known]:
        """What one book says, in the order of its file, each entry once; what a hand wrote comes last."""
        book, newer = self.book(ref), self.book(BookRef(ref.scope, ref.kind))
        gone = newer.forgotten | superseded((*book.entries, *newer.entries) if ref.shelf else book.entries)
        found = {entry.id: Known(ref, entry) for entry in (*book.standing, *book.hand) if entry.id not in gone}
        return [known for known in found.values() if self.may_show(known)]

    def may_show(self, known: Known) -> bool:
        """Whether the entry may be shown where its book may: not where it is a removed session's, nor where it came out
        of a private one into a book of others, nor out of another agent's into a project's."""
        tokens = naming.tokens_in(known.entry.origin or "")
        if self.removed.intersection((*tokens, known.ref.scope.removeprefix(session_scope("")))):
            return False
        path = _path(known.entry.origin)
        speaker = self._speaker(path) if path else None
        if speaker is None:
            return True
        is_anothers = speaker.agent_id not in ("", self._agent_id) and known.entry.source not in _A_PERSONS
        if is_anothers and known.ref.scope.startswith(_PROJECT):
            return False
        return all(may_reach(known.ref.scope, private=speaker.private, token=token) for token in tokens)

    def _speaker(self, path: str) -> _Speaker:
        """Read off the head of a file, for there may be many."""
        if path not in self._speakers:
            blob = read_or_none(self._house.canon.store, path)
            head = blob.data.partition(b"\n---")[0] if blob else b""
            agent = _AGENT.search(head)
            self._speakers[path] = _Speaker(_PRIVATE.search(head) is not None, agent[1].decode() if agent else "")
        return self._speakers[path]


def ranked(found: Iterable[Known]) -> list[Known]:
    newest_first = sorted(found, key=lambda known: (known.at, known.entry.id), reverse=True)
    return sorted(newest_first, key=lambda known: (not known.entry.pinned, known.entry.trust != USER_STATED))


def open_tasks(found: Iterable[Known]) -> Iterator[tuple[Known, str]]:
    """The tasks among these entries that are not done, each with its text; what a hand wrote is one task a line."""
    for known in found:
        if known.entry.source != HAND:
            if not known.entry.done:
                yield known, known.text
            continue
        for line in known.text.splitlines():
            box = Entry(id="", at="", source=HAND, text=line)
            if line.strip() and not line.startswith("#") and not box.done:
                yield known, box.title if box.done is False else line.strip().removeprefix("- ")


def tasks(knowledge: Knowledge, scopes: Iterable[str]) -> list[tuple[Known, str]]:
    """The open tasks of some scopes, as they rank."""
    return list(open_tasks(ranked(known for scope in scopes for known in knowledge.said(scope, TASK))))


def _path(origin: str | None) -> str:
    """The artifact that a link leads to; of a transcript the summary beside it, for that is short. What is no
    artifact's path isn't read: ""."""
    path = (origin or "").strip("[]").partition("|")[0].partition("#")[0]
    name = naming.parse_path(path)
    if name and name.kind == naming.TRANSCRIPT:
        return naming.artifact_path(name.stem, naming.SUMMARY)
    return path if name else ""
