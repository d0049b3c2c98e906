"""Global books that come in a bundle are merged entry by entry. (reliability: poisoned memory)

What comes from elsewhere waits for the user, as derived, whatever it says of itself; a bundle that the user calls their
own is taken at once. What was forgotten here stays forgotten, and nothing here goes.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef
from lineage.core.base.links import to_one_line
from lineage.core.base.privacy import is_allowed_in_scope
from lineage.core.books import book_edits
from lineage.core.books.book import Book, can_supersede, new_book, parse_book, serialize_book
from lineage.core.books.entry import Entry, format_entry_body
from lineage.core.format.body import normalize_body
from lineage.core.format.job import IMPORT, Job
from lineage.core.sanitizer import Sanitizer
from lineage.core.transfer.bundle import find_book_refs
from lineage.documents.bundle_zip import UnpackedBundle
from lineage.errors import FormatError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.maintenance.import_journal import list_removed_tokens
from lineage.workspace.book_index import index_books
from lineage.workspace.load import load_readable_document
from lineage.workspace.publish import publish_or_mark_stale
from lineage.workspace.workspace import Workspace

SOURCE = "bundle"
"""The source of an entry that came from elsewhere: nobody here said it, until the user confirms it."""

KNOWN, FORGOTTEN, REMOVED, PRIVATE = "known", "forgotten", "of a removed session", "of a private session"
_LINK = re.compile(r"\[\[([^\]|#]+)")


@dataclass(slots=True)
class MergeResult:
    """How many entries went where, by the path of the book, how many didn't, by reason, and what was redacted."""

    entries: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    redactions: Counter[str] = field(default_factory=Counter)


def merge_global(ws: Workspace, unpacked: UnpackedBundle, *, trust: bool, dry_run: bool) -> MergeResult:
    """Merges the global books of a bundle; with `dry_run` it only says what would be."""
    admitted, merged = _admit(ws, unpacked, trust=trust)
    if admitted and not dry_run:
        job = _build_job(ws, unpacked.digest, admitted)
        with sessions.session_lock(ws, job.token):
            ws.documents.spool.put(job)
            finish_merge(ws, job)
    return merged


def finish_merge(ws: Workspace, job: Job) -> MergeResult:
    """Adds what a job holds and isn't there yet, book by book, and clears it. The caller holds the token's mutex."""
    merged, refs = MergeResult(), []
    for ref, entries in _parse_job(job):
        here = _load_book_state(ws, ref.scope, ref.kind).ids
        fresh = [entry for entry in entries if entry.id not in here]
        merged.entries[ref.path] += len(fresh)
        ws.documents.books.update(ref.scope, ref.kind, _build_change(fresh), ref.shelf)
        if not ref.shelf:
            ws.documents.books.roll_over(ref.scope, ref.kind)
        refs.append(ref)
    index_books(ws, refs)
    publish_or_mark_stale(ws)
    ws.documents.spool.clear(job)
    return merged


def _build_change(entries: list[Entry]) -> Callable[[Book], Book]:
    return lambda book: reduce(_add_entry, entries, book)


def _add_entry(book: Book, entry: Entry) -> Book:
    """The book with an entry, which takes the place of no entry that it may not."""
    trusts = {old.id: old.trust for old in book.entries}
    lawful = tuple(old for old in entry.supersedes if can_supersede(entry.trust, trusts.get(old, entry.trust)))
    return book_edits.add(book, entry._replace(supersedes=lawful))


def _build_job(ws: Workspace, digest: str, admitted: Mapping[BookRef, list[Entry]]) -> Job:
    books = {}
    for ref, entries in admitted.items():
        grown = _build_change(entries)(new_book(ref.scope, ref.kind))
        books[ref.path] = serialize_book(grown).decode("utf-8", "surrogateescape")
    payload = {"bundle": digest, "books": books}
    return Job(flow=IMPORT, token=GLOBAL, captured_at=ws.now, sentence="", quality="", payload=payload)


def _parse_job(job: Job) -> Iterator[tuple[BookRef, tuple[Entry, ...]]]:
    """The entries of a job by book. Raises FormatError where it is damaged."""
    try:
        books = {path: text.encode("utf-8", "surrogateescape") for path, text in job.payload["books"].items()}
    except (KeyError, AttributeError, UnicodeError) as error:
        raise FormatError(f"{job.name}: not the job of an import", hint="import the bundle again") from error
    for ref in find_book_refs(books):
        yield ref, parse_book(books[ref.path], ref.scope, ref.kind).entries


def _admit(ws: Workspace, unpacked: UnpackedBundle, *, trust: bool) -> tuple[dict[BookRef, list[Entry]], MergeResult]:
    """The entries that are to be added, by book, as they are to be written."""
    merged, admitted = MergeResult(), defaultdict[BookRef, list[Entry]](list)
    sanitizer, gate = ws.build_sanitizer(), _AdmissionGate(ws)
    for ref in sorted(find_book_refs(unpacked.files), key=lambda ref: (ref.shelf == "", ref)):
        book = parse_book(unpacked.files[ref.path], ref.scope, ref.kind)
        target = BookRef(ref.scope, ref.kind, "" if trust and ref.shelf != PENDING else PENDING)
        for entry in _list_offered(book, unpacked.bundle.exported_at or ws.now):
            clean = _sanitize_entry(entry, sanitizer, is_trusted=target.shelf == "")
            if reason := gate.find_refusal(ref.scope, ref.kind, clean):
                merged.dropped[reason] += 1
            else:
                admitted[target].append(clean)
                merged.entries[target.path] += 1
    merged.redactions = Counter(sanitizer.redactions)
    return dict(admitted), merged


def _list_offered(book: Book, at: str) -> Iterator[Entry]:
    """What a book says: its sound entries that weren't forgotten there, and the words between them."""
    for part in book.parts:
        if part.entry and part.is_complete and part.entry.id not in book.forgotten_ids:
            yield part.entry
    yield from (entry._replace(at=at) for entry in book.handwritten_entries)


def _sanitize_entry(entry: Entry, sanitizer: Sanitizer, *, is_trusted: bool) -> Entry:
    """The entry without secrets; one that isn't trusted says nothing of itself but what it says: no trust, no pin,
    nothing that it would take the place of, and nothing in it runs."""
    clean = sanitizer.sanitize(entry.text)
    tags = tuple(to_one_line(sanitizer.sanitize(tag)) for tag in entry.tags)
    origin = to_one_line(sanitizer.sanitize(entry.origin)) if entry.origin else None
    if is_trusted:
        text = entry.text if clean == entry.text else format_entry_body(clean, is_user_text=True) + "\n"
        return entry._replace(text=text, tags=tags, origin=origin)
    return entry._replace(
        text=format_entry_body(clean, is_user_text=False) + "\n",
        source=SOURCE,
        tool=to_one_line(sanitizer.sanitize(entry.tool)) if entry.tool else None,
        tags=tags,
        origin=origin,
        supersedes=(),
        pinned=False,
        more=(),
    )


class _AdmissionGate:
    """Who may come in: nothing that is known, was forgotten, or is of a session that is removed or private here."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._removed = list_removed_tokens(ws)
        self._states: dict[tuple[str, str], _BookState] = {}

    def find_refusal(self, scope: str, kind: str, entry: Entry) -> str | None:
        """The reason why an entry stays out; None for one that comes in, which is known from then on."""
        link = _LINK.match(entry.origin or "")
        name = naming.parse_path(link[1]) if link else None
        if name and name.token in self._removed:
            return REMOVED
        if name and not is_allowed_in_scope(scope, private=self._is_private(name.token), token=name.token):
            return PRIVATE
        here = self._states.setdefault((scope, kind), _load_book_state(self._ws, scope, kind))
        return here.find_refusal(entry)

    def _is_private(self, token: str) -> bool:
        stem = self._ws.documents.claims.get_stem(token)
        manifest = load_readable_document(self._ws, naming.artifact_path(stem, naming.MANIFEST)) if stem else None
        return manifest is not None and manifest.private


@dataclass(frozen=True, slots=True)
class _BookState:
    """What a book knows on all its shelves."""

    forgotten: frozenset[str]
    ids: set[str]
    texts: set[str]

    def find_refusal(self, entry: Entry) -> str | None:
        text = normalize_body(entry.body)
        if entry.id in self.forgotten:
            return FORGOTTEN
        if entry.id in self.ids or text in self.texts:
            return KNOWN
        self.ids.add(entry.id)
        self.texts.add(text)
        return None


def _load_book_state(ws: Workspace, scope: str, kind: str) -> _BookState:
    books = [ws.documents.books.read(ref) for ref in ws.documents.books.list_shelves(scope, kind)]
    return _BookState(
        forgotten=frozenset[str]().union(*(book.forgotten_ids for book in books)),
        ids={identifier for book in books for identifier in book.all_ids},
        texts={normalize_body(entry.body) for book in books for entry in (*book.entries, *book.handwritten_entries)},
    )
