"""Books as people look at them and change them: `lineage book`. (format: Books)

Whatever is changed here is in the file first, then in the index, then in MEMORY.md. From inside a harness nothing that
the user stated can be changed or put aside: the words in it would be an agent's. (reliability: poisoned memory)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.base.identity import TOKEN, validate_agent_id
from lineage.core.base.links import to_one_line
from lineage.core.base.privacy import GLOBAL
from lineage.core.books import book_edits
from lineage.core.books.book import Book, append_parts, find_superseded, make_tombstone_part
from lineage.core.books.entry import DERIVED, HAND, USER_STATED, Entry, compute_entry_id, format_entry_body
from lineage.errors import InvalidInput, LineageError, NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.workspace.book_index import index_books
from lineage.workspace.lookup import resolve_session
from lineage.workspace.publish import publish_or_mark_stale
from lineage.workspace.workspace import Workspace

STANDING, SUPERSEDED, DONE, PINNED, WAITING = "standing", "superseded", "done", "pinned", "waiting"
_LINE_END = re.compile(r"\r\n|\r|\n")
_MAX_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class EntryLocation:
    """An entry, the shelf it stands on, the line of the file where it begins, and its state: one of five words.
    A text that a person wrote between no markers is an entry too, of the source `hand`."""

    ref: BookRef
    entry: Entry
    line: int
    state: str

    def as_json(self) -> dict[str, Any]:
        """The entry as one JSON object; `from` is the wikilink to where it came from, `shelf` "" while it is in use."""
        entry, ref = self.entry, self.ref
        return {
            "id": entry.id,
            "scope": ref.scope,
            "kind": ref.kind,
            "shelf": ref.shelf,
            "path": ref.path,
            "line": self.line,
            "at": entry.at or None,
            "updated": entry.updated,
            "trust": entry.trust,
            "source": entry.source,
            "tool": entry.tool,
            "from": entry.origin,
            "tags": list(entry.tags),
            "supersedes": list(entry.supersedes),
            "state": self.state,
            "text": entry.body,
        }


@dataclass(frozen=True, slots=True)
class BookContents:
    """A book's file: its entries in their order, and what can't be made out in it, with line numbers."""

    ref: BookRef
    entries: tuple[EntryLocation, ...]
    forgotten: frozenset[str]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BookOverview:
    """A book with all its shelves, in counts. `waiting` are the entries that wait for the user's confirmation."""

    ref: BookRef
    entries: int
    waiting: tuple[EntryLocation, ...]
    archived: int
    forgotten: int
    problems: tuple[str, ...]


def validate_book(ws: Workspace, scope: str, kind: str) -> BookRef:
    """The book of these names, which may be new. A session goes by its id, too.

    Raises InvalidInput for names that there can't be or that hold a secret, NotFoundError for an unknown session,
    RemovedError for one that was removed.
    """
    sort, _, name = scope.partition("/")
    if sort == "agent":
        validate_agent_id(name)
    elif sort == "session" and name:
        name = name if TOKEN.fullmatch(name) else resolve_session(ws, name).session_token
        ws.documents.tombstones.raise_if_removed(name)
        scope = f"session/{name}"
    for text in (scope, kind):
        if to_one_line(text) != text or ws.build_sanitizer().sanitize(text) != text:
            raise InvalidInput(f"not a name for a book: {to_one_line(text)[:60]!r}", hint="use a short plain name")
    BookRef(scope, kind).path  # noqa: B018  (raises where there is none)
    return BookRef(scope, kind)


def read_contents(ws: Workspace, ref: BookRef) -> BookContents:
    """One file, entry by entry."""
    book = ws.documents.books.read(ref)
    return BookContents(ref, tuple(_locate_entries(ref, book)), book.forgotten_ids, book.problems)


def list_books(ws: Workspace, scope: str | None = None) -> list[BookOverview]:
    """All books, or those of one scope, sorted by name."""
    names = sorted({(ref.scope, ref.kind) for ref in ws.documents.books.list() if scope in (None, ref.scope)})
    return [
        _build_overview(BookRef(*name), [read_contents(ws, ref) for ref in ws.documents.books.list_shelves(*name)])
        for name in names
    ]


def find_entry(ws: Workspace, prefix: str, shelf: str | None = None) -> EntryLocation:
    """The entry whose id is or begins with `prefix`, in any book, or in those of one shelf; of one on several shelves,
    that in use. Raises NotFoundError for none and for many."""
    refs = (ref for ref in ws.documents.books.list() if shelf in (None, ref.shelf))
    places = [place for ref in refs for place in read_contents(ws, ref).entries]
    matches = [place for place in places if prefix and place.entry.id.startswith(prefix.lower())]
    if not matches:
        raise NotFoundError(
            f"no entry {prefix[:40]!r} in any book",
            hint="`lineage book list` names the books, `lineage book show SCOPE KIND` their entries with ids",
        )
    names = sorted({f"{place.entry.id} ({place.ref.kind} of {place.ref.scope})" for place in matches})
    if len(names) > 1:
        more = " …" if len(names) > _MAX_CANDIDATES else ""
        raise NotFoundError(
            f"{prefix[:40]!r} is ambiguous: {', '.join(names[:_MAX_CANDIDATES])}{more}",
            hint="give more of the id; `lineage book show SCOPE KIND` has it whole",
        )
    return min(matches, key=lambda place: _shelf_order(place.ref))


def edit_entry(ws: Workspace, prefix: str, text: str, caller: Caller | None = None) -> EntryLocation:
    """Gives an entry another body. Raises as `found`, and InvalidInput for an empty text or one that isn't lineage's
    to change."""
    place = require_changeable(find_entry(ws, prefix), caller)
    body = ws.build_sanitizer().sanitize(text)
    if not body.strip():
        raise InvalidInput("an entry says something", hint=f"to drop it: lineage book forget {place.entry.id}")
    body = format_entry_body(body, is_user_text=caller is None)
    return _apply_change(ws, place, lambda book: book_edits.edit(book, place.entry.id, body, ws.now))


def set_task_done(ws: Workspace, prefix: str, *, is_done: bool = True) -> EntryLocation:
    """Ticks a task, or clears its box. Raises as `found`, and InvalidInput for an entry without a box."""
    place = _require_not_handwritten(find_entry(ws, prefix))
    return _apply_change(ws, place, lambda book: book_edits.mark_done(book, place.entry.id, ws.now, is_done=is_done))


def pin_entry(ws: Workspace, prefix: str, *, pinned: bool = True, caller: Caller | None = None) -> EntryLocation:
    """Keeps an entry from rolling over, or lets it again. Only the user pins. Raises as `found`. (lessons: 17)"""
    refuse_agents(caller, "pin an entry")
    place = _require_not_handwritten(find_entry(ws, prefix))
    return _apply_change(ws, place, lambda book: book_edits.pin(book, place.entry.id, ws.now, is_pinned=pinned))


def demote_entry(ws: Workspace, prefix: str, scope: str, caller: Caller | None = None) -> EntryLocation:
    """Moves an entry to another scope, where it gets an id of its own. Raises as `found`, and InvalidInput where it is
    there already, or where a derived one would become global."""
    place = require_changeable(find_entry(ws, prefix), caller)
    target = validate_book(ws, scope, place.ref.kind)
    if target.scope == place.ref.scope:
        raise InvalidInput(f"{place.entry.id} is in {target.scope} already", hint="name another scope")
    if target.scope == GLOBAL and place.entry.trust == DERIVED:
        raise InvalidInput(
            f"{place.entry.id} is derived: it can't become global by being moved",
            hint="say it yourself: lineage remember TEXT",
        )
    fresh = compute_entry_id(target.scope, target.kind, place.entry.body, place.entry.origin)
    if fresh in ws.documents.books.read(target).forgotten_ids:
        raise InvalidInput(
            f"this was forgotten in {target.scope}",
            hint=f"delete the line `<!-- lineage:forgotten {fresh} -->` in {target.path} first",
        )
    ws.documents.books.demote(place.ref, target, place.entry.id, ws.now)
    ws.documents.books.roll_over(target.scope, target.kind)
    publish_books(ws, [place.ref, target])
    return find_entry(ws, fresh)


def forget_entry(ws: Workspace, prefix: str, caller: Caller | None = None) -> EntryLocation:
    """Forgets an entry on every shelf; its id stays behind, and that of its words, whoever says them: neither comes
    back. Gives what it was. Raises as `found`."""
    place = require_changeable(find_entry(ws, prefix), caller)
    scope, kind, books = place.ref.scope, place.ref.kind, ws.documents.books
    books.forget(scope, kind, place.entry.id)
    words = compute_entry_id(scope, kind, place.entry.body, None)
    books.update(
        scope, kind, lambda book: _add_tombstone(book, words), place.ref.shelf if place.state == WAITING else ""
    )
    publish_books(ws, [place.ref])
    return place


def publish_books(ws: Workspace, refs: Iterable[BookRef]) -> None:
    """What follows a change of books: their rows in the index, then MEMORY.md."""
    index_books(ws, refs)
    publish_or_mark_stale(ws)


def require_changeable(location: EntryLocation, caller: Caller | None) -> EntryLocation:
    """The entry, where the caller may change what it says or where it stands. Raises InvalidInput for hand-written
    text, LineageError from inside a harness for what the user stated."""
    if location.entry.trust == USER_STATED:
        refuse_agents(caller, "change what the user stated")
    return _require_not_handwritten(location)


def refuse_agents(caller: Caller | None, what: str) -> None:
    """Raises LineageError where an agent does what is the user's to do."""
    if caller:
        raise LineageError(
            f"an agent can't {what}: this is called from inside {caller.harness}",
            hint="the user runs this in a terminal of their own",
        )


def _require_not_handwritten(location: EntryLocation) -> EntryLocation:
    if location.entry.source == HAND:
        raise InvalidInput(
            f"{location.entry.id} is text that was written by hand, between no markers",
            hint=f"change it where it stands: line {location.line} of {location.ref.path}",
        )
    return location


def _add_tombstone(book: Book, identifier: str) -> Book:
    return book if identifier in book.all_ids else append_parts(book, make_tombstone_part(book, identifier))


def _apply_change(ws: Workspace, location: EntryLocation, change: Callable[[Book], Book]) -> EntryLocation:
    ws.documents.books.update(location.ref.scope, location.ref.kind, change, location.ref.shelf)
    publish_books(ws, [location.ref])
    return next((new for new in read_contents(ws, location.ref).entries if new.entry.id == location.entry.id), location)


def _shelf_order(ref: BookRef) -> tuple[bool, bool, str]:
    return ref.shelf != "", ref.shelf != PENDING, ref.shelf


def _build_overview(ref: BookRef, files: Sequence[BookContents]) -> BookOverview:
    archives = [file for file in files if file.ref.shelf not in ("", PENDING)]
    return BookOverview(
        ref,
        entries=sum(len(file.entries) for file in files if not file.ref.shelf),
        waiting=tuple(place for file in files if file.ref.shelf == PENDING for place in file.entries),
        archived=sum(len(file.entries) for file in archives),
        forgotten=len(frozenset[str]().union(*(file.forgotten for file in files))),
        problems=tuple(f"{file.ref.path}: {problem}" for file in files for problem in file.problems),
    )


def _locate_entries(ref: BookRef, book: Book) -> Iterator[EntryLocation]:
    """The entries in the order of the file, with what is written by hand among them."""
    gone = book.forgotten_ids | find_superseded(book.entries)
    line = 1 + len(_LINE_END.findall(book.head))
    for part in book.parts:
        if part.entry:
            yield EntryLocation(
                ref, part.entry, line, WAITING if ref.shelf == PENDING else _entry_state(part.entry, gone)
            )
        else:
            blank = len(_LINE_END.findall(part.raw[: len(part.raw) - len(part.raw.lstrip())]))
            yield from (
                EntryLocation(ref, entry, line + blank, STANDING)
                for entry in book._replace(parts=(part,)).handwritten_entries
            )
        line += len(_LINE_END.findall(part.raw))


def _entry_state(entry: Entry, inactive_ids: frozenset[str]) -> str:
    states = ((entry.id in inactive_ids, SUPERSEDED), (entry.done, DONE), (entry.pinned, PINNED))
    return next((state for holds, state in states if holds), STANDING)
