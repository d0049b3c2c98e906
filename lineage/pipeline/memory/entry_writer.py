"""What was admitted is written into its book: once, however often it is found. (format: Books)

A global text that a session derived waits on the `pending` shelf, and with it the words as they were said: the entry's
`more` holds them, as JSON text, under the key `quote`; `parse_quote` gives what `lineage book confirm` shows. `from`
links
to the turn that said it, `[[memory/…--transcript.md#^t-0123456789]]`, and the id is made of that turn: a turn that is
captured again, in another file, adds nothing, and what was forgotten of it stays forgotten.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.base.links import to_one_line, wikilink
from lineage.core.base.privacy import is_allowed_in_scope
from lineage.core.books import book_edits
from lineage.core.books.book import Book, append_parts, find_superseded, make_entry_part
from lineage.core.books.entry import Entry, compute_entry_id, new_entry
from lineage.core.books.rollover import default_cap
from lineage.extraction.admission_policy import PRIVATE, REMOVED, TOO_MANY, Admission, select_new
from lineage.extraction.normalize import normalize_text
from lineage.store import read_or_none
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace

QUOTE = "quote"

_Draft = tuple[Admission, Entry]


class WriteResult(NamedTuple):
    """What was written and where it stands, and how many were not, by reason."""

    entries: tuple[tuple[BookRef, Entry], ...]
    dropped: Counter[str]


def write_entries(
    ws: Workspace,
    admissions: Sequence[Admission],
    *,
    at: str,
    origin: str | None,
    tags: Sequence[str] = (),
    supersedes: Sequence[str] = (),
) -> WriteResult:
    """Writes admitted texts into their books, those that wait onto the pending shelf, and shelves what it wrote; who
    calls publishes MEMORY.md. A book over its cap rolls over; what waits is bounded by the same cap.

    `at` is a canonical time. `origin` is the workspace path of the artifact they come from (no brackets), None for what
    was typed; of a text that names its turn the link points at the turn. Dropped are texts that a book holds or forgot
    on any of its shelves, and those of sessions that were removed. Raises InvalidInput for a derived text that would
    supersede a user-stated one.
    """
    sanitizer = ws.build_sanitizer()
    allowed, dropped = _filter_allowed(ws, admissions)
    books: dict[tuple[str, str], list[_Draft]] = {}
    for result in allowed:
        entry = _build_entry(result, sanitizer.sanitize, at, origin, tuple(tags), tuple(supersedes))
        books.setdefault((result.scope, result.kind), []).append((replace(result, text=entry.body), entry))
    written: list[tuple[BookRef, Entry]] = []
    for (scope, kind), made in books.items():
        entries, lost = _write_book(ws, scope, kind, made)
        written += entries
        dropped += lost
    index_books(ws, [BookRef(scope, kind) for scope, kind in books])
    return WriteResult(tuple(written), dropped)


def parse_quote(entry: Entry) -> str:
    """The words as they were said, which the entry was made of."""
    quote = dict(entry.more).get(QUOTE)
    said = json.loads(quote) if quote else None
    return said if isinstance(said, str) else entry.body


def _filter_allowed(ws: Workspace, admissions: Sequence[Admission]) -> tuple[list[Admission], Counter[str]]:
    """What neither a removal nor the privacy of its session keeps out. (architecture: law 4)"""
    sessions = {result.provenance.session for result in admissions} - {""}
    removed = {token for token in sessions if ws.documents.tombstones.has(token)}
    allowed, dropped = [], Counter[str]()
    for result in admissions:
        said = result.provenance
        if said.session in removed:
            dropped[REMOVED] += 1
        elif not is_allowed_in_scope(result.scope, private=said.private, token=said.session):
            dropped[PRIVATE] += 1
        else:
            allowed.append(result)
    return allowed, dropped


def _build_entry(
    result: Admission,
    clean: Callable[[str], str],
    at: str,
    origin: str | None,
    tags: tuple[str, ...],
    supersedes: tuple[str, ...],
) -> Entry:
    said = result.provenance
    link = wikilink(origin + (f"#^{said.turn_id}" if said.turn_id else "")) if origin else None
    text, quote = clean(result.text), clean(to_one_line(said.quote))
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
        entry = entry._replace(id=compute_entry_id(result.scope, result.kind, text, said.turn_id))
    is_quoted = result.pending or quote not in ("", to_one_line(text))
    return entry._replace(more=((QUOTE, json.dumps(quote)),)) if is_quoted else entry


def _write_book(
    ws: Workspace, scope: str, kind: str, drafts: Sequence[_Draft]
) -> tuple[list[tuple[BookRef, Entry]], Counter[str]]:
    """What is new of the texts for one book, written, and why the others are not. Each shelf is changed once."""
    books = {ref: ws.documents.books.read(ref) for ref in _relevant_shelves(ws, scope, kind, drafts)}
    fresh, dropped = _select_new(scope, kind, drafts, books.values())
    most, written = default_cap(scope, kind).max_entries, []
    for shelf in ("", PENDING):
        ref = BookRef(scope, kind, shelf)
        found = [entry for result, entry in fresh if result.pending == (shelf == PENDING)]
        room = max(0, most - len(books[ref].entries)) if shelf else len(found)
        dropped[TOO_MANY] += len(found[room:])
        written += [(ref, entry) for entry in found[:room]]
        ws.documents.books.write_merged(ref, books[ref], _add_entries(books[ref], found[:room]))
    if len(books[BookRef(scope, kind)].entries) + len(written) > most:
        ws.documents.books.roll_over(scope, kind)
    return written, +dropped


def _relevant_shelves(ws: Workspace, scope: str, kind: str, drafts: Sequence[_Draft]) -> Iterator[BookRef]:
    """The shelves that have to be looked into: archives grow for ever, so that only those are that may hold one of the
    texts."""
    for ref in ws.documents.books.list_shelves(scope, kind):
        if ref.shelf in ("", PENDING):
            yield ref
        elif blob := read_or_none(ws.documents.store, ref.path):
            archive = _fold(blob.data.decode("utf-8", "replace"))
            if any(entry.id in archive or _fold_first_line(entry) in archive for _, entry in drafts):
                yield ref


def _fold_first_line(entry: Entry) -> str:
    """What a file that holds the entry's text holds, too."""
    return _fold(entry.body.partition("\n")[0]).rstrip(" .!。！")


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _select_new(
    scope: str, kind: str, drafts: Sequence[_Draft], books: Iterable[Book]
) -> tuple[list[_Draft], Counter[str]]:
    """The texts that none of these shelves of a book holds in force or has forgotten; one that was typed once and then
    forgotten is forgotten whoever says it."""
    shelves = list(books)
    entries = [entry for book in shelves for entry in (*book.entries, *book.handwritten_entries)]
    gone = find_superseded(entries)
    texts = {normalize_text(entry.body) for entry in entries if entry.id not in gone}
    forgotten = frozenset[str]().union(*(book.forgotten_ids for book in shelves))
    typed = ((result, entry, compute_entry_id(scope, kind, result.text, None)) for result, entry in drafts)
    ids = {result: plain if plain in forgotten else entry.id for result, entry, plain in typed}
    known = texts.union(*(book.all_ids for book in shelves))
    fresh, dropped = select_new([result for result, _ in drafts], known, forgotten, ids.__getitem__)
    places = dict(drafts)
    return [(result, places[result]) for result in fresh], dropped


def _add_entries(book: Book, entries: Sequence[Entry]) -> Book:
    if any(entry.supersedes for entry in entries):
        return reduce(book_edits.add, entries, book)
    return append_parts(book, *(make_entry_part(book, entry) for entry in entries)) if entries else book
