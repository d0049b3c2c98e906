"""What an archive holds and a session says again: it comes back into use, or is news (format: Books).

`books` are the shelves of one book by their references, the one in use among them.
"""

from collections.abc import Iterator, Mapping, Sequence

from lineage.core.base.book_paths import BookRef
from lineage.core.base.normalize import normalize_text
from lineage.core.books.book import Book, can_supersede, find_superseded
from lineage.core.books.entry import Entry
from lineage.core.books.sightings import find_last_mention
from lineage.pipeline.memory.merge_statements import list_ids_to_forget, list_overruling


def find_said_again(books: Mapping[BookRef, Book], learned: Sequence[Entry]) -> list[tuple[BookRef, str]]:
    """Return the archived entries that a later session says again, with their archives: they are still of use.

    None that the user has forgotten, that a newer entry overrules, or that is the user's while an agent says it again.
    """
    pairs = list(_pair_archived(books, learned))
    if not pairs:
        return []
    used = next(book for ref, book in books.items() if not ref.shelf)
    gone = frozenset[str]().union(*(book.forgotten_ids for book in books.values()))
    gone |= find_superseded(entry for book in books.values() for entry in book.entries)
    gone |= {entry.id for entry in used.entries}
    held = {normalize_text(one.body) for one in used.active_entries}
    return [
        (ref, old.id)
        for ref, old, again in pairs
        if again.at > find_last_mention(old)
        and not old.done
        and normalize_text(old.body) not in held
        and can_supersede(again.trust, old.trust)
        and gone.isdisjoint((old.id, *list_ids_to_forget(used.scope, used.kind, old)))
        and not list_overruling(used, old)
    ]


def find_changes_of_mind(books: Mapping[BookRef, Book], learned: Sequence[Entry]) -> set[str]:
    """Return the normalized texts that are said again after what overruled them in an archive: they are news."""
    used = next(book for ref, book in books.items() if not ref.shelf)
    pairs = ((again, list_overruling(used, old)) for _, old, again in _pair_archived(books, learned))
    return {
        normalize_text(again.body)
        for again, newer in pairs
        if newer and all(again.at > one.at and can_supersede(again.trust, one.trust) for one in newer)
    }


def _pair_archived(books: Mapping[BookRef, Book], learned: Sequence[Entry]) -> Iterator[tuple[BookRef, Entry, Entry]]:
    """Yield the archived entries that a session says again, each with its archive before and what it says behind it."""
    said = {normalize_text(entry.body): entry for entry in learned}
    for ref, book in books.items() if said else ():
        for old in book.active_entries if ref.is_archive else ():
            if again := said.get(normalize_text(old.body)):
                yield ref, old, again
