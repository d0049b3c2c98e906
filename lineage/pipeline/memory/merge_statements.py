"""Bring learned statements into a book: near-duplicates merge and count, amendments supersede (usefulness).

An older session that is captured late finds its place in the same way: what amends it is linked to it then.
"""

from collections.abc import Collection, Mapping, Sequence

from lineage.core.base.book_paths import BookRef
from lineage.core.base.links import find_target
from lineage.core.books import book_edits
from lineage.core.books.book import Book, append_parts, can_supersede, find_superseded, make_entry_part
from lineage.core.books.entry import DERIVED, USER_STATED, Entry, compute_entry_id
from lineage.core.books.sightings import add_sighting, read_sightings
from lineage.extraction.amendments import amends, build_statement_key
from lineage.extraction.candidates import HEURISTIC, MODEL

LEARNED = frozenset((HEURISTIC, MODEL))
"""The tags of what was found in a transcript."""


def is_learned(entry: Entry) -> bool:
    """Return whether an entry was found in a transcript."""
    return not LEARNED.isdisjoint(entry.tags)


def is_as_found(place: Book | BookRef, entry: Entry) -> bool:
    """Return whether an entry has the id that its turn gives it in this book: nobody reworded or moved it."""
    turn_id = find_target(entry.origin or "").partition("#^")[2]
    return entry.id == compute_entry_id(place.scope, place.kind, entry.body, turn_id)


def is_reworded(place: Book | BookRef, entry: Entry) -> bool:
    """Return whether an entry in a book was found in a transcript in other words than it has now."""
    # What moved from another book has an id of its whole link.
    is_moved = entry.id == compute_entry_id(place.scope, place.kind, entry.body, entry.origin)
    return not (is_as_found(place, entry) or is_moved)


def may_supersede(book: Book, newer: Entry, older: Entry) -> bool:
    """Return whether an entry may supersede one of a book: a derived one none of the user's, nor one edited by hand.

    What lineage itself had to change in a text, as a template in it, counts as edited: then both stay in use.
    """
    is_protected = newer.trust == DERIVED and is_learned(older) and is_reworded(book, older)
    return can_supersede(newer.trust, older.trust) and not is_protected


def list_overruling(book: Book, older: Entry) -> list[Entry]:
    """Return the entries that a book has in use and that amend one that isn't there."""
    newer = (one for one in book.active_entries if one.at >= older.at and not one.is_unjudged)
    return [one for one in newer if may_supersede(book, one, older) and amends(one.body, older.body)]


def compute_statement_id(scope: str, kind: str, text: str) -> str:
    """Return the id of all near-duplicates of a text: it stays behind where one is forgotten. "" without words."""
    key = build_statement_key(text)
    return compute_entry_id(scope, kind, f"statement: {key}", None) if key else ""


def list_ids_to_forget(scope: str, kind: str, entry: Entry) -> list[str]:
    """Return the other ids of an entry's statement: without a source, of its sightings, of near-duplicates."""
    near = compute_statement_id(scope, kind, entry.body) if is_learned(entry) else ""
    names = [compute_entry_id(scope, kind, entry.body, None), *(one.id for one in read_sightings(entry)), near]
    return list(filter(None, names))


def add_statements(book: Book, entries: Sequence[Entry]) -> tuple[Book, list[Entry]]:
    """Add entries to a book, or count them where it holds the statement. Return the book, and what is new in it.

    The user's words take the place of an agent's, and count these. Raises InvalidInput if a derived entry supersedes a
    user-stated one.
    """
    known = {part.entry.id: part.entry for part in book.parts if part.entry and part.is_complete}
    superseded = find_superseded(known.values())
    now, by_key = dict(known), dict[str, str]()
    for old in known.values():
        if old.id not in superseded and not old.is_unjudged and not old.done:
            by_key.setdefault(build_statement_key(old.body), old.id)
    for entry in entries:
        key = build_statement_key(entry.body)
        same = now.get(by_key.get(key, "")) if key and is_learned(entry) else None
        is_kept = same and (same.trust == USER_STATED or same.updated or is_reworded(book, same))
        if same and (is_kept or entry.trust != USER_STATED):
            now[same.id] = add_sighting(same, entry)
            continue
        if same:  # the user's words: they overrule what an agent's did
            overruled = book_edits.select_overruled(same, now.values()).supersedes
            names = tuple(dict.fromkeys((*entry.supersedes, *overruled)))
            now[entry.id] = add_sighting(entry, now.pop(same.id))._replace(supersedes=names)
        else:
            now[entry.id] = entry
        by_key[key] = entry.id
        _link_amendments(book, now, entry, known)
    for name, old in known.items():
        if name not in now:
            book = book_edits.remove_entry(book, name)
        elif now[name] != old:
            book = book_edits.replace_entry(book, now[name])
    return _append(book, new := [entry for name, entry in now.items() if name not in known]), new


def is_about_same(book: Book, text: str, *, is_user_stated: bool) -> bool:
    """Return whether a book's entries hold a learned statement, or one that it amends."""
    key, trust = build_statement_key(text), USER_STATED if is_user_stated else DERIVED
    return any(
        (key and build_statement_key(one.body) == key) or (can_supersede(trust, one.trust) and amends(text, one.body))
        for one in book.active_entries
        if is_learned(one)
    )


def find_outdated(book: Book, about: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the learned entries that would be learned otherwise today, by their ids.

    They are about something else, repeat an earlier statement, or lack a link to one that they amend.
    """
    entries, outdated, keys = list(book.active_entries), set[str](), set[str]()
    for entry in entries:
        key = build_statement_key(entry.body)
        others = (one for one in entries if one.at < entry.at)
        if is_learned(entry) and (
            (entry.id in about and tuple(about[entry.id]) != entry.about)
            or (key and key in keys)
            or any(_may_link(book, entry, one) and amends(entry.body, one.body) for one in others)
        ):
            outdated.add(entry.id)
        keys.update([key] if not (entry.done or entry.is_unjudged) else ())
    # All of their captures with them: only the order in which a capture is learned tells which of its own is newer.
    times = {entry.at for entry in entries if entry.id in outdated}
    return {entry.id for entry in entries if entry.at in times}


def _may_link(book: Book, newer: Entry, older: Entry) -> bool:
    """Return whether a learned entry may supersede another one of its book, and doesn't yet."""
    is_open = (
        older.at and newer.at and older.done is None is newer.done and not (older.is_unjudged or newer.is_unjudged)
    )
    is_new = older.id not in newer.supersedes and is_learned(newer)
    return bool(is_open) and is_new and may_supersede(book, newer, older)


def _append(book: Book, entries: Sequence[Entry]) -> Book:
    if any(not is_learned(entry) and entry.supersedes for entry in entries):
        for entry in entries:
            book = book_edits.add(book, entry)
        return book
    return append_parts(book, *(make_entry_part(book, entry) for entry in entries)) if entries else book


def _link_amendments(book: Book, entries: dict[str, Entry], added: Entry, known: Collection[str]) -> None:
    """Link an entry that was added to those that it amends, and learned ones that amend it.

    Of two of one capture the later one is newer: of those that are `known` already nobody knows which that is.
    """
    # What a person typed says itself what it supersedes. (lessons: 21)
    for other in list(entries.values()):
        if other.id == added.id or (other.at == added.at and other.id in known):
            continue
        older, newer = sorted((other, entries[added.id]), key=lambda one: (one.at, one.id == added.id))
        if _may_link(book, newer, older) and amends(newer.body, older.body):
            entries[newer.id] = newer._replace(supersedes=(*newer.supersedes, older.id))
