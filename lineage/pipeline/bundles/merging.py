"""Global books that come in a bundle are merged entry by entry. (reliability: poisoned memory)

What comes from elsewhere waits for the user, as derived, whatever it says of itself; a bundle that the user calls their
own is taken at once. What was forgotten here stays forgotten, and nothing here goes.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

from lineage.canon.bundles import Unpacked
from lineage.core import book_changes, naming
from lineage.core.body import normalized
from lineage.core.book import Book, may_supersede, new_book, parsed_book, serialized_book
from lineage.core.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.bundle import refs_of
from lineage.core.entry import Entry, laid_out
from lineage.core.job import IMPORT, Job
from lineage.core.links import one_line
from lineage.core.privacy import may_reach
from lineage.core.sanitizer import Sanitizer
from lineage.errors import FormatError
from lineage.pipeline.bundles.unspooling import buried
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.publishing import publish_or_wait
from lineage.pipeline.reading import readable_at

SOURCE = "bundle"
"""The source of an entry that came from elsewhere: nobody here said it, until the user confirms it."""

KNOWN, FORGOTTEN, REMOVED, PRIVATE = "known", "forgotten", "of a removed session", "of a private session"
_LINK = re.compile(r"\[\[([^\]|#]+)")


@dataclass(slots=True)
class Merged:
    """How many entries went where, by the path of the book, how many didn't, by reason, and what was redacted."""

    entries: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    redactions: Counter[str] = field(default_factory=Counter)


def merge_global(house: House, unpacked: Unpacked, *, trust: bool, dry_run: bool) -> Merged:
    """Merges the global books of a bundle; with `dry_run` it only says what would be."""
    admitted, merged = _admitted(house, unpacked, trust=trust)
    if admitted and not dry_run:
        job = _job(house, unpacked.digest, admitted)
        with sessions.exclusively(house, job.token):
            house.canon.spool.put(job)
            finish_merging(house, job)
    return merged


def finish_merging(house: House, job: Job) -> Merged:
    """Adds what a job holds and isn't there yet, book by book, and clears it. The caller holds the token's mutex."""
    merged, refs = Merged(), []
    for ref, entries in _carried(job):
        here = _here(house, ref.scope, ref.kind).ids
        fresh = [entry for entry in entries if entry.id not in here]
        merged.entries[ref.path] += len(fresh)
        house.canon.books.update(ref.scope, ref.kind, _adding(fresh), ref.shelf)
        if not ref.shelf:
            house.canon.books.roll_over(ref.scope, ref.kind)
        refs.append(ref)
    shelve(house, refs)
    publish_or_wait(house)
    house.canon.spool.clear(job)
    return merged


def _adding(entries: list[Entry]) -> Callable[[Book], Book]:
    return lambda book: reduce(_added, entries, book)


def _added(book: Book, entry: Entry) -> Book:
    """The book with an entry, which takes the place of no entry that it may not."""
    trusts = {old.id: old.trust for old in book.entries}
    lawful = tuple(old for old in entry.supersedes if may_supersede(entry.trust, trusts.get(old, entry.trust)))
    return book_changes.add(book, entry._replace(supersedes=lawful))


def _job(house: House, digest: str, admitted: Mapping[BookRef, list[Entry]]) -> Job:
    books = {}
    for ref, entries in admitted.items():
        grown = _adding(entries)(new_book(ref.scope, ref.kind))
        books[ref.path] = serialized_book(grown).decode("utf-8", "surrogateescape")
    payload = {"bundle": digest, "books": books}
    return Job(flow=IMPORT, token=GLOBAL, captured_at=house.now, sentence="", quality="", payload=payload)


def _carried(job: Job) -> Iterator[tuple[BookRef, tuple[Entry, ...]]]:
    """The entries of a job by book. Raises FormatError where it is damaged."""
    try:
        books = {path: text.encode("utf-8", "surrogateescape") for path, text in job.payload["books"].items()}
    except (KeyError, AttributeError, UnicodeError) as error:
        raise FormatError(f"{job.name}: not the job of an import", hint="import the bundle again") from error
    for ref in refs_of(books):
        yield ref, parsed_book(books[ref.path], ref.scope, ref.kind).entries


def _admitted(house: House, unpacked: Unpacked, *, trust: bool) -> tuple[dict[BookRef, list[Entry]], Merged]:
    """The entries that are to be added, by book, as they are to be written."""
    merged, admitted = Merged(), defaultdict[BookRef, list[Entry]](list)
    sanitizer, gate = house.sanitizer(), _Gate(house)
    for ref in sorted(refs_of(unpacked.files), key=lambda ref: (ref.shelf == "", ref)):
        book = parsed_book(unpacked.files[ref.path], ref.scope, ref.kind)
        target = BookRef(ref.scope, ref.kind, "" if trust and ref.shelf != PENDING else PENDING)
        for entry in _offered(book, unpacked.bundle.exported_at or house.now):
            clean = _settled(entry, sanitizer, trusted=target.shelf == "")
            if reason := gate.refusal(ref.scope, ref.kind, clean):
                merged.dropped[reason] += 1
            else:
                admitted[target].append(clean)
                merged.entries[target.path] += 1
    merged.redactions = Counter(sanitizer.redactions)
    return dict(admitted), merged


def _offered(book: Book, at: str) -> Iterator[Entry]:
    """What a book says: its sound entries that weren't forgotten there, and the words between them."""
    for part in book.parts:
        if part.entry and part.sound and part.entry.id not in book.forgotten:
            yield part.entry
    yield from (entry._replace(at=at) for entry in book.hand)


def _settled(entry: Entry, sanitizer: Sanitizer, *, trusted: bool) -> Entry:
    """The entry without secrets; one that isn't trusted says nothing of itself but what it says: no trust, no pin,
    nothing that it would take the place of, and nothing in it runs."""
    clean = sanitizer.text(entry.text)
    tags = tuple(one_line(sanitizer.text(tag)) for tag in entry.tags)
    origin = one_line(sanitizer.text(entry.origin)) if entry.origin else None
    if trusted:
        text = entry.text if clean == entry.text else laid_out(clean, is_users=True) + "\n"
        return entry._replace(text=text, tags=tags, origin=origin)
    return entry._replace(
        text=laid_out(clean, is_users=False) + "\n",
        source=SOURCE,
        tool=one_line(sanitizer.text(entry.tool)) if entry.tool else None,
        tags=tags,
        origin=origin,
        supersedes=(),
        pinned=False,
        more=(),
    )


class _Gate:
    """Who may come in: nothing that is known, was forgotten, or is of a session that is removed or private here."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._removed = buried(house)
        self._here: dict[tuple[str, str], _Here] = {}

    def refusal(self, scope: str, kind: str, entry: Entry) -> str | None:
        """The reason why an entry stays out; None for one that comes in, which is known from then on."""
        link = _LINK.match(entry.origin or "")
        name = naming.parse_path(link[1]) if link else None
        if name and name.token in self._removed:
            return REMOVED
        if name and not may_reach(scope, private=self._is_private(name.token), token=name.token):
            return PRIVATE
        here = self._here.setdefault((scope, kind), _here(self._house, scope, kind))
        return here.refusal(entry)

    def _is_private(self, token: str) -> bool:
        stem = self._house.canon.claims.stem_of(token)
        manifest = readable_at(self._house, naming.artifact_path(stem, naming.MANIFEST)) if stem else None
        return manifest is not None and manifest.private


@dataclass(frozen=True, slots=True)
class _Here:
    """What a book knows on all its shelves."""

    forgotten: frozenset[str]
    ids: set[str]
    texts: set[str]

    def refusal(self, entry: Entry) -> str | None:
        text = normalized(entry.body)
        if entry.id in self.forgotten:
            return FORGOTTEN
        if entry.id in self.ids or text in self.texts:
            return KNOWN
        self.ids.add(entry.id)
        self.texts.add(text)
        return None


def _here(house: House, scope: str, kind: str) -> _Here:
    books = [house.canon.books.read(ref) for ref in house.canon.books.shelves(scope, kind)]
    return _Here(
        forgotten=frozenset[str]().union(*(book.forgotten for book in books)),
        ids={identifier for book in books for identifier in book.known},
        texts={normalized(entry.body) for book in books for entry in (*book.entries, *book.hand)},
    )
