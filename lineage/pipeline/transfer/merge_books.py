"""The merge of a bundle's global books, entry by entry (reliability: poisoned memory).

A foreign entry waits for the user, as derived, whatever it says of itself; entries of a trusted bundle, the user's own,
are taken at once. An entry forgotten here stays forgotten, and no entry here is lost.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from lineage.core.base import naming
from lineage.core.base.book_paths import PENDING, BookRef, is_allowed_in_scope
from lineage.core.base.links import to_one_line
from lineage.core.books.book import Book, parse_book
from lineage.core.books.entry import Entry, format_entry_body
from lineage.core.format.body import normalize_body
from lineage.core.sanitizer import Sanitizer
from lineage.core.transfer.bundle import find_book_refs
from lineage.documents.bundle_zip import UnpackedBundle
from lineage.pipeline.capture.session import session_lock
from lineage.pipeline.maintenance import import_journal
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.workspace import Workspace

SOURCE = "bundle"
"""The source of a foreign entry, until the user confirms it."""

KNOWN, FORGOTTEN, REMOVED, PRIVATE = "known", "forgotten", "of a removed session", "of a private session"
_LINK = re.compile(r"\[\[([^\]|#]+)")


def merge_global(ws: Workspace, unpacked: UnpackedBundle, *, trust: bool, dry_run: bool) -> import_journal.MergeResult:
    """Merge the global books of a bundle. With `dry_run`, only return the result."""
    additions, result = _admit_entries(ws, unpacked, trust=trust)
    if additions and not dry_run:
        job = import_journal.build_merge_job(ws.now, unpacked.digest, additions)
        with session_lock(ws, job.token):
            ws.documents.spool.put(job)
            import_journal.finish_merge(ws, job)
    return result


def _admit_entries(
    ws: Workspace, unpacked: UnpackedBundle, *, trust: bool
) -> tuple[dict[BookRef, list[Entry]], import_journal.MergeResult]:
    """Return the entries to add by book, sanitized, and the result of adding them."""
    result, additions = import_journal.MergeResult(), defaultdict[BookRef, list[Entry]](list)
    sanitizer, gate = ws.build_sanitizer(), _AdmissionGate(ws, import_journal.list_removed_tokens(ws))
    # the main shelf last: archived entries are older, and a book keeps the order of its entries
    for ref in sorted(find_book_refs(unpacked.files), key=lambda ref: (ref.shelf == "", ref)):
        book = parse_book(unpacked.files[ref.path], ref.scope, ref.kind)
        target = BookRef(ref.scope, ref.kind, "" if trust and ref.shelf != PENDING else PENDING)
        for entry in _iter_entries(book, unpacked.bundle.exported_at or ws.now):
            clean = _sanitize_entry(entry, sanitizer, is_trusted=target.shelf == "")
            if reason := gate.find_refusal(ref.scope, ref.kind, clean):
                result.dropped[reason] += 1
            else:
                additions[target].append(clean)
                result.entries[target.path] += 1
    result.redactions = Counter(sanitizer.redactions)
    return dict(additions), result


def _iter_entries(book: Book, at: str) -> Iterator[Entry]:
    """Yield the complete entries not forgotten there, then the handwritten text between entries, dated `at`."""
    for part in book.parts:
        if part.entry and part.is_complete and part.entry.id not in book.forgotten_ids:
            yield part.entry
    yield from (entry._replace(at=at) for entry in book.handwritten_entries)


def _sanitize_entry(entry: Entry, sanitizer: Sanitizer, *, is_trusted: bool) -> Entry:
    """Return the entry without secrets; a foreign one also without claims about itself, its markdown neutralized."""
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


@dataclass(frozen=True, slots=True)
class _AdmissionGate:
    """The entries that may come in: unknown here, never forgotten, and of no session removed or private here."""

    ws: Workspace
    removed: frozenset[str]
    states: dict[tuple[str, str], import_journal.BookState] = field(default_factory=dict)

    def find_refusal(self, scope: str, kind: str, entry: Entry) -> str | None:
        """Return the reason to refuse an entry; None admits it, and makes it known to later calls."""
        link = _LINK.match(entry.origin or "")
        name = naming.parse_path(link[1]) if link else None
        if name and name.token in self.removed:
            return REMOVED
        if name:
            stem = self.ws.documents.claims.get_stem(name.token)
            manifest = load_readable_document(self.ws, naming.artifact_path(stem, naming.MANIFEST)) if stem else None
            private = manifest is not None and manifest.private
            if not is_allowed_in_scope(scope, private=private, token=name.token):
                return PRIVATE
        if (scope, kind) not in self.states:
            self.states[scope, kind] = import_journal.load_book_state(self.ws, scope, kind)
        state, text = self.states[scope, kind], normalize_body(entry.body)
        if entry.id in state.forgotten:
            return FORGOTTEN
        if entry.id in state.ids or text in state.texts:
            return KNOWN
        state.ids.add(entry.id)
        state.texts.add(text)
        return None
