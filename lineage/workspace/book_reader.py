"""The entries of books that may be shown outside of them: in MEMORY.md and in the context of a new session.

They are read from the files, never from the index. Left out are pending, superseded and forgotten entries, entries of
removed sessions, entries of private sessions outside of their own books, and entries that another agent's session left
in a project's books. (format: Books, Removal; spec: agents don't mix)
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.book_paths import BookRef, is_allowed_in_scope, session_scope
from lineage.core.base.links import find_target
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.base.project import build_project_key
from lineage.core.books.book import Book, find_superseded, new_book, redact_book
from lineage.core.books.entry import CONFIRMED, HAND, MANUAL, TASK, USER_STATED, Entry
from lineage.core.books.sightings import is_stale
from lineage.core.format.frontmatter import parse_own_block
from lineage.errors import WorkspaceError
from lineage.store import map_concurrently, read_or_none
from lineage.workspace.workspace import Workspace

_PRIVATE = re.compile(rb"^private: true\r?$", re.MULTILINE)
_AGENT = re.compile(rb'^agent_id: "([\w.-]+)"\r?$', re.MULTILINE)
_PROJECT = re.compile(rb'^(?:project|repository): ".*"$', re.MULTILINE)
_USER_SOURCES = frozenset({HAND, MANUAL, CONFIRMED})
_PROJECT_PREFIX = "project/"


@dataclass(frozen=True, slots=True)
class BookEntry:
    """An entry and its book."""

    ref: BookRef
    entry: Entry

    @property
    def updated_at(self) -> str:
        """Return the time of the last change; "" for handwritten text without markers."""
        return self.entry.updated or self.entry.at

    @property
    def text(self) -> str:
        """Return the heading, unless it is only a time, and the body."""
        title, body = self.entry.title, self.entry.body
        if self.entry.source == HAND:
            return self.entry.text
        has_heading = title and self.entry.done is None and title != self.entry.at[:16].replace("T", " ")
        return f"{title}: {body}" if has_heading and body != title else body


@dataclass(frozen=True, slots=True)
class _SourceSession:
    """The session that left an entry."""

    private: bool
    agent_id: str
    project_key: str


class BookReader:
    """The books of a workspace for one agent, or for people (None), each file read once; `unreadable_paths` failed."""

    def __init__(self, ws: Workspace, agent_id: str | None = DEFAULT_AGENT) -> None:
        self._ws = ws
        self._agent_id = agent_id
        self._books: dict[BookRef, Book] = {}
        self._source_sessions: dict[str, _SourceSession] = {}
        self.removed_tokens = ws.documents.tombstones.list_tokens()
        self.unreadable_paths: list[str] = []

    def for_agent(self, agent_id: str) -> "BookReader":
        """Return a reader for another agent that shares the files read so far."""
        other = BookReader.__new__(BookReader)
        vars(other).update(vars(self), _agent_id=agent_id)
        return other

    def prefetch(self, refs: Iterable[BookRef]) -> None:
        """Read books concurrently that will be needed: in a remote store each read waits."""
        map_concurrently(self._ws.documents.store, self.read_book, refs)

    def read_book(self, ref: BookRef) -> Book:
        """Return a book, redacted; an empty one if it can't be read."""
        if ref not in self._books:
            try:
                self._books[ref] = self._redact(self._ws.documents.books.read(ref))
            except WorkspaceError:
                self.unreadable_paths.append(ref.path)
                self._books[ref] = new_book(ref.scope, ref.kind)
        return self._books[ref]

    def _redact(self, book: Book) -> Book:
        # Handwritten text never passed the sanitizer: no secret may reach MEMORY.md or a prompt. (lessons: 44)
        text = "".join(part.raw for part in book.parts)
        if not text.strip():
            return book
        sanitize = self._ws.build_sanitizer().sanitize
        return book if sanitize(text) == text else redact_book(book, sanitize, include_handwritten=True)

    def entries(self, scope: str, *kinds: str) -> list[BookEntry]:
        """Return the visible entries of a scope's books, ranked. Age removes none (lessons: 22)."""
        return rank_entries(entry for kind in kinds for entry in self.active_entries(BookRef(scope, kind)))

    def active_entries(self, ref: BookRef) -> list[BookEntry]:
        """Return the visible entries of one book in the order of its file, each once; handwritten text comes last."""
        book, current = self.read_book(ref), self.read_book(BookRef(ref.scope, ref.kind))
        # An archived shelf may hold entries that the current book has superseded or forgotten since.
        all_entries = (*book.entries, *current.entries) if ref.shelf else book.entries
        inactive = current.forgotten_ids | find_superseded(all_entries)
        entries = {
            entry.id: BookEntry(ref, entry)
            for entry in (*book.active_entries, *book.handwritten_entries)
            if entry.id not in inactive
        }
        return [entry for entry in entries.values() if self.is_visible(entry)]

    def is_visible(self, book_entry: BookEntry) -> bool:
        """Return whether removal, privacy and the agents' separation let an entry be shown with its book."""
        tokens = naming.find_tokens(book_entry.entry.origin or "")
        if self.removed_tokens.intersection((*tokens, book_entry.ref.scope.removeprefix(session_scope("")))):
            return False
        session = self._find_source_session(book_entry)
        if session is None:
            return True
        is_foreign = self._agent_id and session.agent_id not in ("", self._agent_id)
        is_foreign = is_foreign and book_entry.entry.source not in _USER_SOURCES
        if is_foreign and book_entry.ref.scope.startswith(_PROJECT_PREFIX):
            return False
        return all(is_allowed_in_scope(book_entry.ref.scope, private=session.private, token=token) for token in tokens)

    def find_project_key(self, book_entry: BookEntry) -> str:
        """Return the key of the project of the session behind an entry, "" without one."""
        session = self._find_source_session(book_entry)
        return session.project_key if session else ""

    def _find_source_session(self, book_entry: BookEntry) -> _SourceSession | None:
        """Return the session that an entry came from, None for none. Where a file of it is lost, another one tells."""
        paths = _list_origin_paths(book_entry.entry.origin)
        if paths and paths[0] not in self._source_sessions:
            blobs = (read_or_none(self._ws.documents.store, path) for path in paths)
            blob = next(filter(None, blobs), None)
            # By pattern, not by parser: a book may name hundreds of sessions.
            head = blob.data.partition(b"\n---")[0] if blob else b""
            agent, is_private = _AGENT.search(head), _PRIVATE.search(head) is not None
            named = parse_own_block(b"\n".join(_PROJECT.findall(head)).decode("utf-8", "replace")) or {}
            key = build_project_key(named.get("project"), named.get("repository"))
            self._source_sessions[paths[0]] = _SourceSession(is_private, agent[1].decode() if agent else "", key)
        return self._source_sessions[paths[0]] if paths else None


def rank_entries(entries: Iterable[BookEntry]) -> list[BookEntry]:
    """Return the entries ranked: pinned, then stated by the user, then derived, each newest first."""
    newest_first = sorted(entries, key=lambda item: (item.updated_at, item.entry.id), reverse=True)
    return sorted(newest_first, key=lambda item: (not item.entry.pinned, item.entry.trust != USER_STATED))


def list_open_tasks(reader: BookReader, scopes: Iterable[str], now: str) -> list[tuple[BookEntry, str]]:
    """Return the open tasks of some scopes with their texts, ranked, without those that are stale by `now`.

    Handwritten text is one task a line.
    """
    tasks: list[tuple[BookEntry, str]] = []
    for item in rank_entries(item for scope in scopes for item in reader.entries(scope, TASK)):
        if item.entry.source != HAND:
            if not item.entry.done and not is_stale(item.entry, now):
                tasks.append((item, item.text))
            continue
        for line in item.text.splitlines():
            task = Entry(id="", at="", source=HAND, text=line)
            if line.strip() and not line.startswith("#") and not task.done:
                tasks.append((item, task.title if task.done is False else line.strip().removeprefix("- ")))
    return tasks


def _list_origin_paths(origin: str | None) -> tuple[str, ...]:
    """Return the artifact that a link names and its neighbours, the short ones first; () for another file."""
    path = find_target(origin or "").partition("#")[0]
    name = naming.parse_path(path)
    if name is None:
        return ()
    others = [naming.artifact_path(name.stem, kind) for kind in (naming.SUMMARY, naming.MANIFEST, naming.TRANSCRIPT)]
    return tuple(others if name.kind == naming.TRANSCRIPT else dict.fromkeys((path, *others)))
