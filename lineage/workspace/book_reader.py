"""What the books in use say, for those who show it outside of them: MEMORY.md and the context of a new session.

Read from the files, never from the index. What waits for confirmation, was superseded or forgotten is not in it, nor
what a removed session said, nor what a private one said anywhere but in its own books; and no agent is told what a
session of another one left in a project's books. (format: Books, Removal; spec: agents don't mix)
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import BookRef
from lineage.core.base.identity import DEFAULT_AGENT
from lineage.core.base.privacy import is_allowed_in_scope, session_scope
from lineage.core.books.book import Book, find_superseded, new_book, redact_book
from lineage.core.books.entry import CONFIRMED, HAND, MANUAL, TASK, USER_STATED, Entry
from lineage.errors import WorkspaceError
from lineage.store import map_concurrently, read_or_none
from lineage.workspace.workspace import Workspace

_PRIVATE = re.compile(rb"^private: true\r?$", re.MULTILINE)
_AGENT = re.compile(rb'^agent_id: "([\w.-]+)"\r?$', re.MULTILINE)
_USER_SOURCES = frozenset({HAND, MANUAL, CONFIRMED})
_PROJECT_PREFIX = "project/"


class BookEntry(NamedTuple):
    """An entry, and the book that says it."""

    ref: BookRef
    entry: Entry

    @property
    def updated_at(self) -> str:
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


class _SourceSession(NamedTuple):
    """Whose session left an entry, as far as a file of it says."""

    private: bool
    agent_id: str


class BookReader:
    """The books of a workspace as they are now, for one agent. Each file is read once; those that can't be are in
    `unread`."""

    def __init__(self, ws: Workspace, agent_id: str = DEFAULT_AGENT) -> None:
        self._ws = ws
        self._agent_id = agent_id
        self._books: dict[BookRef, Book] = {}
        self._source_sessions: dict[str, _SourceSession] = {}
        self.removed_tokens = ws.documents.tombstones.list_tokens()
        self.unreadable_paths: list[str] = []

    def for_agent(self, agent_id: str) -> "BookReader":
        """The same for another agent, without reading anything again."""
        other = BookReader.__new__(BookReader)
        vars(other).update(vars(self), _agent_id=agent_id)
        return other

    def prefetch(self, refs: Iterable[BookRef]) -> None:
        """Reads books that will be asked for: together, where each alone would wait for an answer."""
        map_concurrently(self._ws.documents.store, self.read_book, refs)

    def read_book(self, ref: BookRef) -> Book:
        if ref not in self._books:
            try:
                self._books[ref] = self._redact(self._ws.documents.books.read(ref))
            except WorkspaceError:
                self.unreadable_paths.append(ref.path)
                self._books[ref] = new_book(ref.scope, ref.kind)
        return self._books[ref]

    def _redact(self, book: Book) -> Book:
        """What a hand wrote may hold a secret too: none is shown, in MEMORY.md or in a prompt. (lessons: 44)"""
        whole = "".join(part.raw for part in book.parts)
        if not whole.strip():
            return book
        clean = self._ws.build_sanitizer().sanitize
        return book if clean(whole) == whole else redact_book(book, clean, include_handwritten=True)

    def entries(self, scope: str, *kinds: str) -> list[BookEntry]:
        """What the books of a scope say, as it ranks: pinned entries, then what the user stated, then what is derived,
        each newest first. Time takes nothing away. (lessons: 22)"""
        found = [known for kind in kinds for known in self.active_entries(BookRef(scope, kind))]
        return rank_entries(found)

    def active_entries(self, ref: BookRef) -> list[BookEntry]:
        """What one book says, in the order of its file, each entry once; what a hand wrote comes last."""
        book, newer = self.read_book(ref), self.read_book(BookRef(ref.scope, ref.kind))
        gone = newer.forgotten_ids | find_superseded((*book.entries, *newer.entries) if ref.shelf else book.entries)
        found = {
            entry.id: BookEntry(ref, entry)
            for entry in (*book.active_entries, *book.handwritten_entries)
            if entry.id not in gone
        }
        return [known for known in found.values() if self.is_visible(known)]

    def is_visible(self, book_entry: BookEntry) -> bool:
        """Whether the entry may be shown where its book may: not where it is a removed session's, nor where it came out
        of a private one into a book of others, nor out of another agent's into a project's."""
        tokens = naming.find_tokens(book_entry.entry.origin or "")
        if self.removed_tokens.intersection((*tokens, book_entry.ref.scope.removeprefix(session_scope("")))):
            return False
        path = _parse_origin_path(book_entry.entry.origin)
        speaker = self._read_source_session(path) if path else None
        if speaker is None:
            return True
        is_anothers = speaker.agent_id not in ("", self._agent_id) and book_entry.entry.source not in _USER_SOURCES
        if is_anothers and book_entry.ref.scope.startswith(_PROJECT_PREFIX):
            return False
        return all(is_allowed_in_scope(book_entry.ref.scope, private=speaker.private, token=token) for token in tokens)

    def _read_source_session(self, path: str) -> _SourceSession:
        """Read off the head of a file, for there may be many."""
        if path not in self._source_sessions:
            blob = read_or_none(self._ws.documents.store, path)
            head = blob.data.partition(b"\n---")[0] if blob else b""
            agent = _AGENT.search(head)
            self._source_sessions[path] = _SourceSession(
                _PRIVATE.search(head) is not None, agent[1].decode() if agent else ""
            )
        return self._source_sessions[path]


def rank_entries(entries: Iterable[BookEntry]) -> list[BookEntry]:
    newest_first = sorted(entries, key=lambda known: (known.updated_at, known.entry.id), reverse=True)
    return sorted(newest_first, key=lambda known: (not known.entry.pinned, known.entry.trust != USER_STATED))


def iter_open_tasks(entries: Iterable[BookEntry]) -> Iterator[tuple[BookEntry, str]]:
    """The tasks among these entries that are not done, each with its text; what a hand wrote is one task a line."""
    for known in entries:
        if known.entry.source != HAND:
            if not known.entry.done:
                yield known, known.text
            continue
        for line in known.text.splitlines():
            box = Entry(id="", at="", source=HAND, text=line)
            if line.strip() and not line.startswith("#") and not box.done:
                yield known, box.title if box.done is False else line.strip().removeprefix("- ")


def list_open_tasks(reader: BookReader, scopes: Iterable[str]) -> list[tuple[BookEntry, str]]:
    """The open tasks of some scopes, as they rank."""
    return list(iter_open_tasks(rank_entries(known for scope in scopes for known in reader.entries(scope, TASK))))


def _parse_origin_path(origin: str | None) -> str:
    """The artifact that a link leads to; of a transcript the summary beside it, for that is short. What is no
    artifact's path isn't read: ""."""
    path = (origin or "").strip("[]").partition("|")[0].partition("#")[0]
    name = naming.parse_path(path)
    if name and name.kind == naming.TRANSCRIPT:
        return naming.artifact_path(name.stem, naming.SUMMARY)
    return path if name else ""
