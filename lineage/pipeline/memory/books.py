"""The commands of `lineage memory`: list, show and change the entries of books (format: Books).

A change goes into the file first, then into the index, then into MEMORY.md. Agents can neither edit nor move entries,
nor drop the user's statements. (reliability: poisoned memory)
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, resolve_kind
from lineage.core.base.links import to_one_line
from lineage.core.base.naming import TOKEN, validate_agent_id
from lineage.core.books import book_edits
from lineage.core.books.book import Book, append_parts, find_superseded, make_tombstone_part
from lineage.core.books.entry import (
    CONFIRMED,
    DERIVED,
    HAND,
    USER_STATED,
    Entry,
    compute_entry_id,
    format_entry_body,
    new_entry,
)
from lineage.core.books.sightings import TaskState, count_sightings, is_stale
from lineage.errors import InvalidInput, LineageError, NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.book_changes import change_books, publish_books
from lineage.pipeline.memory.merge_statements import list_ids_to_forget
from lineage.workspace.book_index import list_shelves_of_entry
from lineage.workspace.lookup import resolve_session
from lineage.workspace.workspace import Workspace

STANDING, SUPERSEDED, DONE, PINNED, WAITING, STALE = "standing", "superseded", "done", "pinned", "waiting", "stale"
_LINE_END = re.compile(r"\r\n|\r|\n")
_MAX_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class EntryLocation:
    """An entry (handwritten text without markers is one too), its shelf, its first line, and its state.

    `state` is STANDING, SUPERSEDED, DONE, PINNED, WAITING or STALE;
    `successor` took the place of a superseded one.
    """

    ref: BookRef
    entry: Entry
    line: int
    state: str
    successor: Entry | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object. `from` is the wikilink to its source, `shelf` is "" while it is in use."""
        entry, ref = self.entry, self.ref
        book = {"scope": ref.scope, "kind": ref.kind, "shelf": ref.shelf, "path": ref.path}
        times = {"at": entry.at or None, "updated": entry.updated}
        origin = {"trust": entry.trust, "source": entry.source, "tool": entry.tool, "from": entry.origin}
        lists = {"tags": list(entry.tags), "supersedes": list(entry.supersedes), "about": list(entry.about)}
        new = self.successor
        superseded = {"on": new.at[:10], "by": new.id, "text": new.body} if new else None
        end = {**count_sightings(entry), "state": self.state, "superseded": superseded, "text": entry.body}
        return {"id": entry.id, **book, "line": self.line, **times, **origin, **lists, **end}


@dataclass(frozen=True, slots=True)
class BookContents:
    """A book's file: its entries in order, its forgotten ids, and its problems with line numbers.

    `tombstones` are the forgotten ids, each with the entry that it was left with, "" for one that a person forgot.
    """

    ref: BookRef
    entries: tuple[EntryLocation, ...]
    forgotten: frozenset[str]
    problems: tuple[str, ...]
    tombstones: frozenset[tuple[str, str]] = frozenset()


def validate_book(ws: Workspace, scope: str, kind: str) -> BookRef:
    """Return the book of these names; it may be new. A session scope takes the session's id, too.

    Raises InvalidInput for impossible names and names with a secret, NotFoundError for an unknown session, RemovedError
    for a removed one.
    """
    sort, _, name = scope.partition("/")
    if sort == "agent":
        validate_agent_id(name)
    elif sort == "session" and name:
        name = name if TOKEN.fullmatch(name) else resolve_session(ws, name).session_token
        ws.documents.tombstones.raise_if_removed(name)
        scope = f"session/{name}"
    for text in (scope, kind):  # both come into paths and headings
        if to_one_line(text) != text or ws.build_sanitizer().sanitize(text) != text:
            raise InvalidInput(f"not a name for a book: {to_one_line(text)[:60]!r}", hint="use a short plain name")
    BookRef(scope, kind).path  # noqa: B018  (raises InvalidInput for impossible names)
    return BookRef(scope, kind)


def read_contents(ws: Workspace, ref: BookRef) -> BookContents:
    """Return the contents of one file."""
    book = ws.documents.books.read(ref)
    entries = tuple(locate_entries(ref, book, ws.now))
    return BookContents(ref, entries, book.forgotten_ids, book.problems, book.tombstones)


def read_named(ws: Workspace, ref: BookRef) -> list[BookContents]:
    """Return the contents of the book that a person names, of all books with entries of a scope and shelf without kind.

    A kind's other names are its own, but a book of exactly that name comes first. Raises InvalidInput for an impossible
    name.
    """
    ref._replace(kind=ref.kind or "note").path  # noqa: B018  (raises InvalidInput)
    files = list(ws.documents.books.list())
    if not ref.kind:
        found = [read_contents(ws, one) for one in files if (one.scope, one.shelf) == (ref.scope, ref.shelf)]
        return [contents for contents in found if contents.entries or contents.problems]
    return [read_contents(ws, ref if ref in files else ref._replace(kind=resolve_kind(ref.kind)))]


def find_entry(ws: Workspace, prefix: str, shelf: str | None = None) -> EntryLocation:
    """Return the entry with this id or beginning of an id, in any book or on one shelf of all books.

    Of several shelves the one in use comes first. Raises NotFoundError for none and for many.
    """
    matches = _find_matches(ws, prefix.lower(), shelf)
    if not matches:
        forgotten = {one for ref in ws.documents.books.list() for one in read_contents(ws, ref).tombstones}
        if gone := [one for one in sorted(forgotten) if prefix and one[0].startswith(prefix.lower())]:
            raise _build_gone_error(ws, *gone[0])
        hint = "`lineage memory list` names the books, `lineage memory show SCOPE KIND` their entries with ids"
        raise NotFoundError(f"no entry {prefix[:40]!r} in any book", hint=hint)
    names = sorted({f"{location.entry.id} ({location.ref.kind} of {location.ref.scope})" for location in matches})
    if len(names) > 1:
        more = " …" if len(names) > _MAX_CANDIDATES else ""
        hint = "give more of the id; `lineage memory show SCOPE KIND` has it whole"
        raise NotFoundError(f"{prefix[:40]!r} is ambiguous: {', '.join(names[:_MAX_CANDIDATES])}{more}", hint=hint)
    return min(matches, key=lambda match: (match.ref.shelf != "", match.ref.shelf != PENDING, match.ref.shelf))


def _build_gone_error(ws: Workspace, identifier: str, forgotten_with: str) -> NotFoundError:
    """Return the error about an entry that is forgotten, or that moved, with its new id."""
    if moved := _find_matches(ws, forgotten_with, None):
        new = moved[0]
        problem = f"{identifier} was moved: it is {new.entry.id} now, {new.ref.kind} of {new.ref.scope}"
        return NotFoundError(problem, hint=f"`lineage memory why {new.entry.id}` shows it")
    problem = f"{identifier} is forgotten already, or moved to another scope"
    return NotFoundError(problem, hint="`lineage memory list` names the books")


def _find_matches(ws: Workspace, prefix: str, shelf: str | None) -> list[EntryLocation]:
    """Return the entries with an id: of the books that the index names for a whole id, else of all books."""
    for refs in (list_shelves_of_entry(ws, prefix), ws.documents.books.list()):
        places = (place for ref in refs if shelf in (None, ref.shelf) for place in read_contents(ws, ref).entries)
        if found := [place for place in places if prefix and place.entry.id.startswith(prefix)]:
            return found
    return []


def edit_entry(ws: Workspace, prefix: str, text: str, caller: Caller | None = None) -> EntryLocation:
    """Replace an entry's body with words of the user's, which makes it user-stated unless it repeats a tool.

    Raises as `find_entry`, InvalidInput for handwritten text and an empty one, and LineageError inside a harness:
    nothing would compare the new words with those of tools.
    """
    location = find_entry(ws, prefix)
    refuse_agents(caller, "change what an entry says; it can remember the new words")
    _require_not_handwritten(location)
    body = ws.build_sanitizer().sanitize(text)
    if not body.strip():
        raise InvalidInput("an entry says something", hint=f"to drop it: `lineage memory forget {location.entry.id}`")
    body = format_entry_body(body, is_user_text=True)
    return _apply_change(ws, location, lambda book: book_edits.edit(book, location.entry.id, body, ws.now))


def claim_entry(ws: Workspace, location: EntryLocation, caller: Caller | None = None) -> EntryLocation:
    """Count an entry as the user's whose text the user has changed in its file. `location` is from before that.

    Return its place now, the one before if it is gone. Raises LineageError inside a harness.
    """
    refuse_agents(caller, "count an entry as the user's")
    entries = ws.documents.books.read(location.ref).entries
    present = next((one for one in entries if one.id == location.entry.id), location.entry)
    if present.body == location.entry.body:
        return location
    with suppress(InvalidInput):  # what lost its end stays as the user left it
        return _apply_change(ws, location, lambda book: book_edits.claim(book, present.id, location.entry.body, ws.now))
    return location


def set_task_done(ws: Workspace, prefix: str, *, is_done: bool = True) -> EntryLocation:
    """Tick a task, or clear its box. Raises as `find_entry`, and InvalidInput for an entry without a box."""
    task = _require_not_handwritten(find_entry(ws, prefix))
    return _apply_change(ws, task, lambda book: book_edits.mark_done(book, task.entry.id, ws.now, is_done=is_done))


def pin_entry(ws: Workspace, prefix: str, *, pinned: bool = True, caller: Caller | None = None) -> EntryLocation:
    """Pin an entry, or unpin it: a pinned one never rolls over, and nothing learned takes its place.

    An archived one that is pinned comes back into use. Raises as `find_entry`; LineageError for agents (lessons: 17).
    """
    refuse_agents(caller, "pin an entry")
    location = _require_not_handwritten(find_entry(ws, prefix))
    if location.entry.pinned == pinned:
        publish_books(ws, [location.ref])  # it may have been pinned by hand, or by a version that still superseded it
    if pinned and location.ref.is_archive:
        change_books(ws, lambda staged: staged.documents.books.bring_back(location.ref, location.entry.id))
        location = find_entry(ws, location.entry.id)
    return _apply_change(ws, location, lambda book: book_edits.pin(book, location.entry.id, ws.now, is_pinned=pinned))


def move_entry(ws: Workspace, prefix: str, scope: str, caller: Caller | None = None) -> EntryLocation:
    """Move an entry to another scope, under a new id.

    Raises as `find_entry`, InvalidInput if it is there already, was forgotten there, or a derived one would become
    global, LineageError inside a harness: a tool's words stay in its session.
    """
    refuse_agents(caller, "move an entry")
    location = _require_not_handwritten(find_entry(ws, prefix))
    target = validate_book(ws, scope, location.ref.kind)
    if target.scope == location.ref.scope:
        raise InvalidInput(f"{location.entry.id} is in {target.scope} already", hint="name another scope")
    # Moving must not go around the confirmation of global entries.
    if target.scope == GLOBAL and location.entry.trust == DERIVED:
        problem = f"{location.entry.id} is derived: it can't become global by being moved"
        raise InvalidInput(problem, hint="say it yourself: `lineage remember TEXT`")
    new_id = compute_entry_id(target.scope, target.kind, location.entry.body, location.entry.origin)
    _refuse_forgotten(ws, target, new_id)
    source, others = location.ref, _list_other_ids(location)

    def move(staged: Workspace) -> None:
        staged.documents.books.move(source, target, location.entry.id, ws.now)
        add_others = partial(_add_tombstones, names=others, head=new_id)
        staged.documents.books.update(source.scope, source.kind, add_others, source.shelf)
        staged.documents.books.roll_over(target.scope, target.kind)

    change_books(ws, move)
    return find_entry(ws, new_id)


def pin_globally(ws: Workspace, prefix: str, kind: str, caller: Caller | None = None) -> EntryLocation:
    """Copy an entry into a global book, as confirmed by the user; the original stays. Return the copy.

    Raises as `find_entry`, InvalidInput if it is global already or was forgotten there, LineageError inside a harness.
    """
    refuse_agents(caller, "pin an entry to global memory")
    location = _require_not_handwritten(find_entry(ws, prefix))
    if location.ref.scope == GLOBAL:
        hint = f"`lineage memory review {location.entry.id}` if it waits"
        raise InvalidInput(f"{location.entry.id} is global already", hint=hint)
    entry, target = location.entry, BookRef(GLOBAL, kind)
    copied = ("at", "tool", "origin", "tags", "about")
    made = new_entry(GLOBAL, kind, entry.body, source=CONFIRMED, **{name: getattr(entry, name) for name in copied})
    _refuse_forgotten(ws, target, made.id)

    def add(staged: Workspace) -> None:
        staged.documents.books.add(GLOBAL, kind, made._replace(updated=ws.now))
        staged.documents.books.roll_over(GLOBAL, kind)

    change_books(ws, add)
    return find_entry(ws, made.id)


def _refuse_forgotten(ws: Workspace, target: BookRef, identifier: str) -> None:
    if identifier in ws.documents.books.read(target).forgotten_ids:
        hint = f"`lineage memory restore {identifier}` first: it deletes the `lineage:forgotten` line in {target.path}"
        raise InvalidInput(f"this was forgotten in {target.scope}", hint=hint)


def forget_entry(ws: Workspace, prefix: str, caller: Caller | None = None) -> EntryLocation:
    """Forget an entry on every shelf, and return it. Raises as `find_entry` and `require_changeable`.

    Tombstones keep its words and near-duplicates from coming back; each names the entry, so that restoring that one
    drops them all. No copy of its words is left in the databases.
    """
    location = require_changeable(find_entry(ws, prefix), caller)
    scope, kind = location.ref.scope, location.ref.kind
    add_others = partial(_add_tombstones, names=_list_other_ids(location), head=location.entry.id)

    def forget(staged: Workspace) -> None:
        books = staged.documents.books
        books.forget(scope, kind, location.entry.id)
        books.update(scope, kind, add_others, location.ref.shelf if location.state == WAITING else "")

    change_books(ws, forget, scrub=True)
    return location


def _list_other_ids(location: EntryLocation) -> list[str]:
    """Return the other ids of an entry's statement: they stay behind with its own, so that it isn't learned again."""
    names = list_ids_to_forget(location.ref.scope, location.ref.kind, location.entry)
    return [name for name in dict.fromkeys(names) if name != location.entry.id]


def _add_tombstones(book: Book, names: Sequence[str], head: str) -> Book:
    """Add tombstones that name a forgotten entry, or the id of one that moved. An entry that is there stays in use."""
    present = {entry.id for entry in book.entries}
    missing = (name for name in names if name not in present and (name, head) not in book.tombstones)
    parts = [make_tombstone_part(book, name, head) for name in missing]
    return append_parts(book, *parts) if parts else book


def require_changeable(location: EntryLocation, caller: Caller | None) -> EntryLocation:
    """Return the entry if the caller may change or move it.

    Raises InvalidInput for handwritten text, LineageError inside a harness for a user-stated entry.
    """
    if location.entry.trust == USER_STATED:
        refuse_agents(caller, "change what the user stated")
    return _require_not_handwritten(location)


def refuse_agents(caller: Caller | None, action: str) -> None:
    """Raise LineageError if an agent calls an action of the user's."""
    if caller:
        problem = f"an agent can't {action}: this is called from inside {caller.harness}"
        raise LineageError(problem, hint="the user runs this in a terminal of their own")


def _require_not_handwritten(location: EntryLocation) -> EntryLocation:
    if location.entry.source == HAND:
        hint = f"change it where it stands: line {location.line} of {location.ref.path}"
        raise InvalidInput(f"{location.entry.id} is text that was written by hand, between no markers", hint=hint)
    return location


def _apply_change(ws: Workspace, location: EntryLocation, change: Callable[[Book], Book]) -> EntryLocation:
    ref = location.ref
    change_books(ws, lambda staged: staged.documents.books.update(ref.scope, ref.kind, change, ref.shelf))
    return next((new for new in read_contents(ws, location.ref).entries if new.entry.id == location.entry.id), location)


def locate_entries(ref: BookRef, book: Book, now: str) -> Iterator[EntryLocation]:
    """Yield the entries of a book in the order of its file, handwritten ones too."""
    inactive_ids = book.forgotten_ids | (superseded := find_superseded(book.entries))
    by_time = sorted(book.entries, key=lambda one: one.at)
    successors = {old: one for one in by_time for old in one.supersedes if old in superseded}
    line = 1 + len(_LINE_END.findall(book.head))
    for part in book.parts:
        if part.entry:
            is_standing = part.entry.id not in inactive_ids
            state = find_state(part.entry, ref.shelf, is_standing=is_standing, is_stale=is_stale(part.entry, now))
            yield EntryLocation(ref, part.entry, line, state, successors.get(part.entry.id))
        else:
            blank = len(_LINE_END.findall(part.raw[: len(part.raw) - len(part.raw.lstrip())]))
            for entry in replace(book, parts=(part,)).handwritten_entries:
                yield EntryLocation(ref, entry, line + blank, STANDING)
        line += len(_LINE_END.findall(part.raw))


def find_state(entry: TaskState, shelf: str, *, is_standing: bool, is_stale: bool) -> str:
    """Return the state of an entry, or of its row, on a shelf."""
    if shelf == PENDING or not is_standing:
        return WAITING if shelf == PENDING else SUPERSEDED
    if entry.done or entry.pinned:
        return DONE if entry.done else PINNED
    return STALE if is_stale else STANDING
