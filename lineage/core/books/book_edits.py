"""Edits of a book (format: Books), as pure functions; without a change each returns the same book.

Entries beyond a book's cap roll over into an archive, word for word.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from lineage.core.base.book_paths import GLOBAL
from lineage.core.books.book import (
    Book,
    BookPart,
    append_parts,
    can_supersede,
    find_superseded,
    make_entry_part,
    make_tombstone_part,
    with_parts,
)
from lineage.core.books.entry import (
    ASSISTANT_TURN,
    CONFIRMED,
    TASK,
    UNTIL_CAPTURE,
    USER_SOURCES,
    USER_STATED,
    Entry,
    compute_entry_id,
    note_before,
    note_source,
    replace_body,
    set_done,
)
from lineage.core.books.sightings import find_last_mention
from lineage.errors import InvalidInput, NotFoundError

BookEdit = Callable[[Book], Book]


def find_part(book: Book, identifier: str) -> BookPart:
    """Return the part of an entry. Raises NotFoundError for none, InvalidInput if its end marker is missing."""
    part = next((part for part in book.parts if part.entry and part.entry.id == identifier), None)
    if part is None:
        hint = f"`lineage memory show {book.scope} {book.kind}` prints its entries with ids"
        raise NotFoundError(f"no entry {identifier[:40]!r} in {book.kind} of {book.scope}", hint=hint)
    if not part.is_complete:
        hint = f"write `<!-- lineage:end {identifier} -->` below it, or delete it by hand"
        raise InvalidInput(f"entry {identifier} has lost its end: what belongs to it can't be told", hint=hint)
    return part


def find_entry(book: Book, identifier: str) -> Entry:
    """Return an entry. Raises as `find_part` does."""
    entry = find_part(book, identifier).entry
    assert entry is not None
    return entry


def add(book: Book, entry: Entry, known_ids: Set[str] = frozenset()) -> Book:
    """Add an entry unless its id is known. Raises InvalidInput if a derived one would supersede the user's."""
    # Only ids are compared: a text that resembles another may be a change of mind.
    if entry.id in book.all_ids or entry.id in known_ids:
        return book
    for old in book.entries:
        if old.id in entry.supersedes and not can_supersede(entry.trust, old.trust):
            hint = "add it without `supersedes`; the user can confirm it"
            raise InvalidInput(f"a derived entry can't take the place of {old.id}, which the user stated", hint=hint)
    return append_parts(_unpin_superseded(book, entry), make_entry_part(book, entry))


def _unpin_superseded(book: Book, entry: Entry) -> Book:
    """Unpin what an entry of the user's takes the place of: the later word counts. An agent's leaves a pin alone."""
    names = entry.supersedes if entry.trust == USER_STATED else ()
    parts = [
        make_entry_part(book, old._replace(pinned=False, updated=entry.updated or entry.at))
        if (old := part.entry) and old.pinned and old.id in names and part.is_complete
        else part
        for part in book.parts
    ]
    return book if tuple(parts) == book.parts else with_parts(book, parts)


def edit(book: Book, identifier: str, body: str, now: str) -> Book:
    """Replace the body of an entry with the user's words, and count them as the user's as `claim` does."""
    return _update_entry(book, identifier, lambda entry: _claim(replace_body(entry, body), entry.body), now)


def claim(book: Book, identifier: str, before: str, now: str) -> Book:
    """Count what an entry says as the user's, who has changed what it said `before`. A tool's words stay derived."""
    return _update_entry(book, identifier, lambda entry: _claim(entry, before), now)


def _claim(entry: Entry, before: str) -> Entry:
    return _confirm_source(note_before(entry, before))


def _confirm_source(entry: Entry) -> Entry:
    """Count an entry as the user's."""
    return entry if entry.source in USER_SOURCES else _mark_confirmed(entry)


def _mark_confirmed(entry: Entry) -> Entry:
    """Return an entry as confirmed. What else somebody, or a newer version, wrote for its source is kept beside it."""
    is_ours = entry.source in USER_SOURCES or entry.source in ("", ASSISTANT_TURN)
    return (entry if is_ours else note_source(entry))._replace(source=CONFIRMED)


def mark_done(book: Book, identifier: str, now: str, *, is_done: bool = True) -> Book:
    """Tick a task's box, or clear it. Raises InvalidInput for an entry without a box."""
    return _update_entry(book, identifier, lambda entry: set_done(entry, is_done), now)


def pin(book: Book, identifier: str, now: str, *, is_pinned: bool = True) -> Book:
    """Pin an entry, so that it never rolls over, or unpin it."""
    return _update_entry(book, identifier, lambda entry: entry._replace(pinned=is_pinned), now)


def forget(book: Book, identifier: str, moved_to: str = "", others: Iterable[Entry] = ()) -> Book:
    """Replace an entry and its copies with a tombstone, for good. Raises as `find_part` does.

    The tombstone of one that moved names its id in the other book: it is kept from coming back, and not forgotten.
    What superseded it supersedes what it did: the oldest of three statements doesn't come into use again. `others` are
    the entries of the other shelves.
    """
    is_present = any(entry.id == identifier for entry in book.entries)
    if not is_present and identifier in book.forgotten_ids:
        return book
    book = inherit(book, select_overruled(find_entry(book, identifier), [*others, *book.entries]))
    tombstones = [] if identifier in book.forgotten_ids else [make_tombstone_part(book, identifier, moved_to)]
    parts: list[BookPart] = []
    for part in book.parts:
        if not _is_entry(part, identifier):
            parts.append(part)
        elif tombstones:  # the first copy leaves the tombstone
            parts.append(tombstones.pop())
    return with_parts(book, parts)


def select_overruled(entry: Entry, others: Iterable[Entry]) -> Entry:
    """Return an entry without the links to those of the others that it never took the place of."""
    known = {one.id: one._replace(supersedes=()) for one in others if one.id != entry.id}
    overruled = find_superseded([*known.values(), entry])
    return entry._replace(supersedes=tuple(one for one in entry.supersedes if one in overruled or one not in known))


def add_successors(book: Book, renamed: Mapping[str, str]) -> Book:
    """Let what supersedes an entry supersede it under its new id, too."""
    return _add_links(book, lambda entry: [renamed[name] for name in entry.supersedes if name in renamed])


def inherit(book: Book, older: Entry) -> Book:
    """Let what superseded an entry supersede what that one did: it goes."""

    def find_inherited(entry: Entry) -> Sequence[str]:
        is_newer = older.id in entry.supersedes and can_supersede(entry.trust, older.trust)
        return older.supersedes if is_newer else ()

    return _add_links(book, find_inherited)


def _add_links(book: Book, find_more: Callable[[Entry], Sequence[str]]) -> Book:
    """Let each entry supersede what is found for it, too."""
    parts = []
    for part in book.parts:
        entry = part.entry if part.is_complete else None
        new = [name for name in find_more(entry) if name not in (*entry.supersedes, entry.id)] if entry else []
        linked = entry._replace(supersedes=(*entry.supersedes, *dict.fromkeys(new))) if entry and new else None
        parts.append(make_entry_part(book, linked) if linked else part)
    return book if tuple(parts) == book.parts else with_parts(book, parts)


def confirm(pending: Book, book: Book, identifier: str, now: str) -> tuple[Book, Book]:
    """Move a pending entry into the book, as confirmed by the user. Return both books, the pending one first."""
    entry = _mark_confirmed(mark_judged(find_entry(pending, identifier)))
    return remove_entry(pending, identifier), _receive(book, entry._replace(updated=now))


def bring_back(archive: Book, book: Book, identifier: str) -> tuple[Book, Book]:
    """Move an archived entry into the book in use. Return both books, the archive first.

    One that the book has already, perhaps in other words by now, stays where it is, and so does one that lost its end.
    """
    entry = next((part.entry for part in archive.parts if part.entry and _is_entry(part, identifier)), None)
    if entry is None or any(known.id == identifier for known in book.entries):
        return archive, book
    return remove_entry(archive, identifier), append_parts(book, make_entry_part(book, entry))


def _receive(book: Book, entry: Entry) -> Book:
    """Add an entry that moves here, unless a crash between the two writes left its words here already.

    The words of one with the id of another that is here already would be lost by `add`.
    """
    is_here = any(known.id == entry.id and known.text == entry.text for known in book.entries)
    return book if is_here else append_parts(_unpin_superseded(book, entry), make_entry_part(book, entry))


def mark_judged(entry: Entry) -> Entry:
    """Return an entry that waits for no capture."""
    return entry._replace(more=tuple(item for item in entry.more if item != UNTIL_CAPTURE))


def replace_entry(book: Book, entry: Entry) -> Book:
    """Replace the entry with this id. Raises as `find_part` does."""
    part = find_part(book, entry.id)
    new_part = make_entry_part(book, entry)
    return with_parts(book, (new_part if other is part else other for other in book.parts))


def move(book: Book, target: Book, identifier: str, now: str) -> tuple[Book, Book]:
    """Move an entry into the book of another scope, and forget it in its own. Return both books, its own first."""
    entry = find_entry(book, identifier)
    new_id = compute_entry_id(target.scope, target.kind, entry.body, entry.origin)
    if new_id == identifier:
        return book, target
    moved = mark_judged(entry)._replace(id=new_id, pinned=False, updated=now)
    return forget(book, identifier, new_id), _receive(target, moved)


def remove_entry(book: Book, identifier: str) -> Book:
    """Remove an entry after its move to another book, with the empty lines below it."""
    parts: list[BookPart] = []
    is_dropped = False
    for part in book.parts:
        is_gap = is_dropped and part.is_free_text and not part.raw.strip()
        is_dropped = _is_entry(part, identifier)
        parts += [] if is_dropped or is_gap else [part]
    return with_parts(book, parts)


def _update_entry(book: Book, identifier: str, change: Callable[[Entry], Entry], now: str) -> Book:
    entry = find_entry(book, identifier)
    changed = change(entry)
    return book if changed == entry else replace_entry(book, changed._replace(updated=now))


def _is_entry(part: BookPart, identifier: str) -> bool:
    return part.is_complete and part.entry is not None and part.entry.id == identifier


@dataclass(frozen=True, slots=True)
class Cap:
    """The cap of a book: more than `max_entries` roll over until `keep` are left."""

    max_entries: int
    keep: int


CAPS = {"global": Cap(100, 100), "session": Cap(50, 50), "agent": Cap(30, 20)}
DEFAULT_CAP = Cap(100, 100)


def default_cap(scope: str, kind: str) -> Cap:
    """Return the default cap of a book.

    >>> default_cap("agent/ann", "decision"), default_cap("session/x", "finding")
    (Cap(max_entries=30, keep=20), Cap(max_entries=100, keep=100))
    """
    return DEFAULT_CAP if kind == "finding" else CAPS.get(scope.partition("/")[0], DEFAULT_CAP)


CapFinder = Callable[[str, str], Cap]


def find_cap(limits: Mapping[str, int], scope: str, kind: str) -> Cap:
    """Return the cap of a book under limits by scope and `findings`. An agent's book keeps two thirds.

    >>> find_cap({"agent": 12}, "agent/ann", "decision"), find_cap({"agent": 12}, "global", "note")
    (Cap(max_entries=12, keep=8), Cap(max_entries=100, keep=100))
    """
    sort = "findings" if kind == "finding" else scope.partition("/")[0]
    if sort not in limits:
        return default_cap(scope, kind)
    most = limits[sort]
    return Cap(most, max(1, most * 2 // 3) if sort == "agent" else most)


def roll_over(book: Book, cap: Cap) -> tuple[Book, tuple[BookPart, ...]]:
    """Return the book within its cap, and the parts that rolled over, oldest first.

    Superseded ones go first, then those that were said or changed longest ago; free text, unclosed and exempt entries
    never go, even beyond the cap.
    """
    count = len(book.entries)
    if count <= cap.max_entries:
        return book, ()
    superseded = find_superseded(book.entries)
    candidates = [
        (entry.id not in superseded, find_last_mention(entry), position)
        for position, part in enumerate(book.parts)
        if (entry := part.entry) and part.is_complete and not is_exempt(entry, book.scope, book.kind)
    ]
    chosen = sorted(candidates)[: max(0, count - cap.keep)]
    if not chosen:
        return book, ()
    leaving = {position for _, _, position in chosen}
    rest = [
        part
        for position, part in enumerate(book.parts)
        # The empty lines below an entry leave with it.
        if position not in leaving and not (position - 1 in leaving and part.is_free_text and not part.raw.strip())
    ]
    oldest_first = sorted(chosen, key=lambda choice: choice[1])
    return with_parts(book, rest), tuple(book.parts[position] for _, _, position in oldest_first)


def is_exempt(entry: Entry, scope: str, kind: str) -> bool:
    """Return whether an entry never rolls over: open tasks, pinned ones, and in global books the user's words."""
    is_open = entry.done is False or (kind == TASK and entry.done is None)
    return is_open or entry.pinned or (scope == GLOBAL and entry.trust == USER_STATED)
