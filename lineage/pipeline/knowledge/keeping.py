"""What was admitted is written into its book: once, however often it is found. (format: Books)

A global text that a session derived waits on the `pending` shelf, and with it the words as they were said: the entry's
`more` holds them, as JSON text, under the key `quote`; `quote_of` gives what `lineage book confirm` shows. `from` links
to the turn that said it, `[[memory/…--transcript.md#^t-0123456789]]`, and the id is made of that turn: a turn that is
captured again, in another file, adds nothing, and what was forgotten of it stays forgotten.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from lineage.core import book_changes
from lineage.core.book import Book, appended, entry_part, superseded
from lineage.core.book_paths import PENDING, BookRef
from lineage.core.entry import Entry, entry_id, new_entry
from lineage.core.links import one_line, wikilink
from lineage.core.privacy import may_reach
from lineage.core.rollover import cap_of
from lineage.extract.admission import PRIVATE, REMOVED, TOO_MANY, Admitted, unknown
from lineage.extract.folding import normalized
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.store import read_or_none

QUOTE = "quote"

_Made = tuple[Admitted, Entry]


class Kept(NamedTuple):
    """What was written and where it stands, and how many were not, by reason."""

    entries: tuple[tuple[BookRef, Entry], ...]
    dropped: Counter[str]


def keep(
    house: House,
    admitted: Sequence[Admitted],
    *,
    at: str,
    origin: str | None,
    tags: Sequence[str] = (),
    supersedes: Sequence[str] = (),
) -> Kept:
    """Writes admitted texts into their books, those that wait onto the pending shelf, and shelves what it wrote; who
    calls publishes MEMORY.md. A book over its cap rolls over; what waits is bounded by the same cap.

    `at` is a canonical time. `origin` is the workspace path of the artifact they come from (no brackets), None for what
    was typed; of a text that names its turn the link points at the turn. Dropped are texts that a book holds or forgot
    on any of its shelves, and those of sessions that were removed. Raises InvalidInput for a derived text that would
    supersede a user-stated one.
    """
    sanitizer = house.sanitizer()
    allowed, dropped = _allowed(house, admitted)
    books: dict[tuple[str, str], list[_Made]] = {}
    for result in allowed:
        entry = _entry(result, sanitizer.text, at, origin, tuple(tags), tuple(supersedes))
        books.setdefault((result.scope, result.kind), []).append((result._replace(text=entry.body), entry))
    written: list[tuple[BookRef, Entry]] = []
    for (scope, kind), made in books.items():
        entries, lost = _kept(house, scope, kind, made)
        written += entries
        dropped += lost
    shelve(house, [BookRef(scope, kind) for scope, kind in books])
    return Kept(tuple(written), dropped)


def quote_of(entry: Entry) -> str:
    """The words as they were said, which the entry was made of."""
    quote = dict(entry.more).get(QUOTE)
    said = json.loads(quote) if quote else None
    return said if isinstance(said, str) else entry.body


def _allowed(house: House, admitted: Sequence[Admitted]) -> tuple[list[Admitted], Counter[str]]:
    """What neither a removal nor the privacy of its session keeps out. (architecture: law 4)"""
    sessions = {result.origin.session for result in admitted} - {""}
    removed = {token for token in sessions if house.canon.tombstones.has(token)}
    allowed, dropped = [], Counter[str]()
    for result in admitted:
        said = result.origin
        if said.session in removed:
            dropped[REMOVED] += 1
        elif not may_reach(result.scope, private=said.private, token=said.session):
            dropped[PRIVATE] += 1
        else:
            allowed.append(result)
    return allowed, dropped


def _entry(
    result: Admitted,
    clean: Callable[[str], str],
    at: str,
    origin: str | None,
    tags: tuple[str, ...],
    supersedes: tuple[str, ...],
) -> Entry:
    said = result.origin
    link = wikilink(origin + (f"#^{said.turn_id}" if said.turn_id else "")) if origin else None
    text, quote = clean(result.text), clean(one_line(said.quote))
    entry = new_entry(
        result.scope,
        result.kind,
        text,
        at=at,
        source=result.source,
        tool=said.tool or None,
        origin=link,
        tags=tags,
        supersedes=supersedes,
    )
    if said.turn_id:
        entry = entry._replace(id=entry_id(result.scope, result.kind, text, said.turn_id))
    is_quoted = result.pending or quote not in ("", one_line(text))
    return entry._replace(more=((QUOTE, json.dumps(quote)),)) if is_quoted else entry


def _kept(
    house: House, scope: str, kind: str, made: Sequence[_Made]
) -> tuple[list[tuple[BookRef, Entry]], Counter[str]]:
    """What is new of the texts for one book, written, and why the others are not. Each shelf is changed once."""
    books = {ref: house.canon.books.read(ref) for ref in _due(house, scope, kind, made)}
    fresh, dropped = _new(scope, kind, made, books.values())
    most, written = cap_of(scope, kind).most, []
    for shelf in ("", PENDING):
        ref = BookRef(scope, kind, shelf)
        found = [entry for result, entry in fresh if result.pending == (shelf == PENDING)]
        room = max(0, most - len(books[ref].entries)) if shelf else len(found)
        dropped[TOO_MANY] += len(found[room:])
        written += [(ref, entry) for entry in found[:room]]
        house.canon.books.settle(ref, books[ref], _with(books[ref], found[:room]))
    if len(books[BookRef(scope, kind)].entries) + len(written) > most:
        house.canon.books.roll_over(scope, kind)
    return written, +dropped


def _due(house: House, scope: str, kind: str, made: Sequence[_Made]) -> Iterator[BookRef]:
    """The shelves that have to be looked into: archives grow for ever, so that only those are that may hold one of the
    texts."""
    for ref in house.canon.books.shelves(scope, kind):
        if ref.shelf in ("", PENDING):
            yield ref
        elif blob := read_or_none(house.canon.store, ref.path):
            archive = _folded(blob.data.decode("utf-8", "replace"))
            if any(entry.id in archive or _beginning(entry) in archive for _, entry in made):
                yield ref


def _beginning(entry: Entry) -> str:
    """What a file that holds the entry's text holds, too."""
    return _folded(entry.body.partition("\n")[0]).rstrip(" .!。！")


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _new(scope: str, kind: str, made: Sequence[_Made], books: Iterable[Book]) -> tuple[list[_Made], Counter[str]]:
    """The texts that none of these shelves of a book holds in force or has forgotten; one that was typed once and then
    forgotten is forgotten whoever says it."""
    shelves = list(books)
    entries = [entry for book in shelves for entry in (*book.entries, *book.hand)]
    gone = superseded(entries)
    texts = {normalized(entry.body) for entry in entries if entry.id not in gone}
    forgotten = frozenset[str]().union(*(book.forgotten for book in shelves))
    typed = ((result, entry, entry_id(scope, kind, result.text, None)) for result, entry in made)
    ids = {result: plain if plain in forgotten else entry.id for result, entry, plain in typed}
    known = texts.union(*(book.known for book in shelves))
    fresh, dropped = unknown([result for result, _ in made], known, forgotten, ids.__getitem__)
    places = dict(made)
    return [(result, places[result]) for result in fresh], dropped


def _with(book: Book, entries: Sequence[Entry]) -> Book:
    if any(entry.supersedes for entry in entries):
        return reduce(book_changes.add, entries, book)
    return appended(book, *(entry_part(book, entry) for entry in entries)) if entries else book
