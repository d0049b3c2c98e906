"""Books as people look at them and change them: `lineage book`. (format: Books)

Whatever is changed here is in the file first, then in the index, then in MEMORY.md. From inside a harness nothing that
the user stated can be changed or put aside: the words in it would be an agent's. (reliability: poisoned memory)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.core import book_changes
from lineage.core.book import Book, appended, superseded, tombstone_part
from lineage.core.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.entry import DERIVED, HAND, USER_STATED, Entry, entry_id, laid_out
from lineage.core.identity import TOKEN, checked_agent
from lineage.core.links import one_line
from lineage.errors import InvalidInput, LineageError, NotFoundError
from lineage.harness.callers import Caller
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.lookup import resolve
from lineage.pipeline.publishing import publish_or_wait

STANDING, SUPERSEDED, DONE, PINNED, WAITING = "standing", "superseded", "done", "pinned", "waiting"
_LINE_END = re.compile(r"\r\n|\r|\n")
_SHOWN_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class Place:
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
class Shelf:
    """A book's file: its entries in their order, and what can't be made out in it, with line numbers."""

    ref: BookRef
    places: tuple[Place, ...]
    forgotten: frozenset[str]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """A book with all its shelves, in counts. `waiting` are the entries that wait for the user's confirmation."""

    ref: BookRef
    entries: int
    waiting: tuple[Place, ...]
    archived: int
    forgotten: int
    problems: tuple[str, ...]


def checked_book(house: House, scope: str, kind: str) -> BookRef:
    """The book of these names, which may be new. A session goes by its id, too.

    Raises InvalidInput for names that there can't be or that hold a secret, NotFoundError for an unknown session,
    RemovedError for one that was removed.
    """
    sort, _, name = scope.partition("/")
    if sort == "agent":
        checked_agent(name)
    elif sort == "session" and name:
        name = name if TOKEN.fullmatch(name) else resolve(house, name).session_token
        house.canon.tombstones.refuse(name)
        scope = f"session/{name}"
    for text in (scope, kind):
        if one_line(text) != text or house.sanitizer().text(text) != text:
            raise InvalidInput(f"not a name for a book: {one_line(text)[:60]!r}", hint="use a short plain name")
    BookRef(scope, kind).path  # noqa: B018  (raises where there is none)
    return BookRef(scope, kind)


def opened(house: House, ref: BookRef) -> Shelf:
    """One file, entry by entry."""
    book = house.canon.books.read(ref)
    return Shelf(ref, tuple(_places(ref, book)), book.forgotten, book.problems)


def overview(house: House, scope: str | None = None) -> list[Overview]:
    """All books, or those of one scope, sorted by name."""
    names = sorted({(ref.scope, ref.kind) for ref in house.canon.books.list() if scope in (None, ref.scope)})
    return [
        _overview(BookRef(*name), [opened(house, ref) for ref in house.canon.books.shelves(*name)]) for name in names
    ]


def found(house: House, prefix: str, shelf: str | None = None) -> Place:
    """The entry whose id is or begins with `prefix`, in any book, or in those of one shelf; of one on several shelves,
    that in use. Raises NotFoundError for none and for many."""
    refs = (ref for ref in house.canon.books.list() if shelf in (None, ref.shelf))
    places = [place for ref in refs for place in opened(house, ref).places]
    matches = [place for place in places if prefix and place.entry.id.startswith(prefix.lower())]
    if not matches:
        raise NotFoundError(
            f"no entry {prefix[:40]!r} in any book",
            hint="`lineage book list` names the books, `lineage book show SCOPE KIND` their entries with ids",
        )
    names = sorted({f"{place.entry.id} ({place.ref.kind} of {place.ref.scope})" for place in matches})
    if len(names) > 1:
        more = " …" if len(names) > _SHOWN_CANDIDATES else ""
        raise NotFoundError(
            f"{prefix[:40]!r} is ambiguous: {', '.join(names[:_SHOWN_CANDIDATES])}{more}",
            hint="give more of the id; `lineage book show SCOPE KIND` has it whole",
        )
    return min(matches, key=lambda place: _nearness(place.ref))


def edit(house: House, prefix: str, text: str, caller: Caller | None = None) -> Place:
    """Gives an entry another body. Raises as `found`, and InvalidInput for an empty text or one that isn't lineage's
    to change."""
    place = changeable(found(house, prefix), caller)
    body = house.sanitizer().text(text)
    if not body.strip():
        raise InvalidInput("an entry says something", hint=f"to drop it: lineage book forget {place.entry.id}")
    body = laid_out(body, is_users=caller is None)
    return _changed(house, place, lambda book: book_changes.edit(book, place.entry.id, body, house.now))


def done(house: House, prefix: str, *, is_done: bool = True) -> Place:
    """Ticks a task, or clears its box. Raises as `found`, and InvalidInput for an entry without a box."""
    place = _of_lineage(found(house, prefix))
    return _changed(house, place, lambda book: book_changes.done(book, place.entry.id, house.now, is_done=is_done))


def pin(house: House, prefix: str, *, pinned: bool = True, caller: Caller | None = None) -> Place:
    """Keeps an entry from rolling over, or lets it again. Only the user pins. Raises as `found`. (lessons: 17)"""
    refuse_agents(caller, "pin an entry")
    place = _of_lineage(found(house, prefix))
    return _changed(house, place, lambda book: book_changes.pin(book, place.entry.id, house.now, pinned=pinned))


def demote(house: House, prefix: str, scope: str, caller: Caller | None = None) -> Place:
    """Moves an entry to another scope, where it gets an id of its own. Raises as `found`, and InvalidInput where it is
    there already, or where a derived one would become global."""
    place = changeable(found(house, prefix), caller)
    target = checked_book(house, scope, place.ref.kind)
    if target.scope == place.ref.scope:
        raise InvalidInput(f"{place.entry.id} is in {target.scope} already", hint="name another scope")
    if target.scope == GLOBAL and place.entry.trust == DERIVED:
        raise InvalidInput(
            f"{place.entry.id} is derived: it can't become global by being moved",
            hint="say it yourself: lineage remember TEXT",
        )
    fresh = entry_id(target.scope, target.kind, place.entry.body, place.entry.origin)
    if fresh in house.canon.books.read(target).forgotten:
        raise InvalidInput(
            f"this was forgotten in {target.scope}",
            hint=f"delete the line `<!-- lineage:forgotten {fresh} -->` in {target.path} first",
        )
    house.canon.books.demote(place.ref, target, place.entry.id, house.now)
    house.canon.books.roll_over(target.scope, target.kind)
    settled(house, [place.ref, target])
    return found(house, fresh)


def forget(house: House, prefix: str, caller: Caller | None = None) -> Place:
    """Forgets an entry on every shelf; its id stays behind, and that of its words, whoever says them: neither comes
    back. Gives what it was. Raises as `found`."""
    place = changeable(found(house, prefix), caller)
    scope, kind, books = place.ref.scope, place.ref.kind, house.canon.books
    books.forget(scope, kind, place.entry.id)
    words = entry_id(scope, kind, place.entry.body, None)
    books.update(scope, kind, lambda book: _marked(book, words), place.ref.shelf if place.state == WAITING else "")
    settled(house, [place.ref])
    return place


def settled(house: House, refs: Iterable[BookRef]) -> None:
    """What follows a change of books: their rows in the index, then MEMORY.md."""
    shelve(house, refs)
    publish_or_wait(house)


def changeable(place: Place, caller: Caller | None) -> Place:
    """The entry, where the caller may change what it says or where it stands. Raises InvalidInput for hand-written
    text, LineageError from inside a harness for what the user stated."""
    if place.entry.trust == USER_STATED:
        refuse_agents(caller, "change what the user stated")
    return _of_lineage(place)


def refuse_agents(caller: Caller | None, what: str) -> None:
    """Raises LineageError where an agent does what is the user's to do."""
    if caller:
        raise LineageError(
            f"an agent can't {what}: this is called from inside {caller.harness}",
            hint="the user runs this in a terminal of their own",
        )


def _of_lineage(place: Place) -> Place:
    if place.entry.source == HAND:
        raise InvalidInput(
            f"{place.entry.id} is text that was written by hand, between no markers",
            hint=f"change it where it stands: line {place.line} of {place.ref.path}",
        )
    return place


def _marked(book: Book, identifier: str) -> Book:
    return book if identifier in book.known else appended(book, tombstone_part(book, identifier))


def _changed(house: House, place: Place, change: Callable[[Book], Book]) -> Place:
    house.canon.books.update(place.ref.scope, place.ref.kind, change, place.ref.shelf)
    settled(house, [place.ref])
    return next((new for new in opened(house, place.ref).places if new.entry.id == place.entry.id), place)


def _nearness(ref: BookRef) -> tuple[bool, bool, str]:
    return ref.shelf != "", ref.shelf != PENDING, ref.shelf


def _overview(ref: BookRef, files: Sequence[Shelf]) -> Overview:
    archives = [file for file in files if file.ref.shelf not in ("", PENDING)]
    return Overview(
        ref,
        entries=sum(len(file.places) for file in files if not file.ref.shelf),
        waiting=tuple(place for file in files if file.ref.shelf == PENDING for place in file.places),
        archived=sum(len(file.places) for file in archives),
        forgotten=len(frozenset[str]().union(*(file.forgotten for file in files))),
        problems=tuple(f"{file.ref.path}: {problem}" for file in files for problem in file.problems),
    )


def _places(ref: BookRef, book: Book) -> Iterator[Place]:
    """The entries in the order of the file, with what is written by hand among them."""
    gone = book.forgotten | superseded(book.entries)
    line = 1 + len(_LINE_END.findall(book.head))
    for part in book.parts:
        if part.entry:
            yield Place(ref, part.entry, line, WAITING if ref.shelf == PENDING else _state(part.entry, gone))
        else:
            blank = len(_LINE_END.findall(part.raw[: len(part.raw) - len(part.raw.lstrip())]))
            yield from (Place(ref, entry, line + blank, STANDING) for entry in book._replace(parts=(part,)).hand)
        line += len(_LINE_END.findall(part.raw))


def _state(entry: Entry, gone: frozenset[str]) -> str:
    states = ((entry.id in gone, SUPERSEDED), (entry.done, DONE), (entry.pinned, PINNED))
    return next((state for holds, state in states if holds), STANDING)
