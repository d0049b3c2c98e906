"""The redaction of committed artifacts under today's rules (spec: sanitization contract).

Each session with a finding gets a job in the spool, records in its manifest, then its files replaced one by one by
compare-and-swap, then their rows; MEMORY.md and the scrub of the databases end the run. After an interruption, the next
run or `recover` continues: a file has the old or the new hash of its record.
"""

import contextlib
import hashlib
from collections import Counter
from dataclasses import dataclass, field

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, BookRef
from lineage.core.books.book import Book, redact_book
from lineage.core.format.documents import Artifact, Manifest, parse_document_as, serialize_document
from lineage.core.format.job import RESANITIZE, Job
from lineage.core.format.manifest import list_artifact_paths
from lineage.core.format.resanitization import Replacement
from lineage.core.sanitizer.artifacts import resanitize_artifact
from lineage.errors import FormatError
from lineage.pipeline.capture import session as sessions
from lineage.store import read_or_none
from lineage.workspace.book_folders import list_unused_claims
from lineage.workspace.book_index import index_books
from lineage.workspace.lookup import load_row
from lineage.workspace.publish import publish_all
from lineage.workspace.removed_sessions import prune_vectors, scrub_vectors
from lineage.workspace.workspace import Workspace


@dataclass(slots=True)
class ResanitizeResult:
    """The artifacts replaced, or to replace, oldest first, and the redactions by rule, of all and of each file.

    `unchanged` counts artifacts without a finding, `books` are those with redacted entries, `problems` are (path, error
    message) of damaged files, left alone.
    """

    version: str
    dry_run: bool
    replaced: list[Replacement] = field(default_factory=list)
    redactions: dict[str, int] = field(default_factory=dict)
    by_file: dict[str, dict[str, int]] = field(default_factory=dict)
    unchanged: int = 0
    books: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def count(self, path: str, redactions: Counter[str]) -> None:
        """Count the redactions of a file."""
        self.by_file[path] = dict(redactions)
        self.redactions.update(Counter(self.redactions) + redactions)


@dataclass(frozen=True, slots=True)
class _FileReplacement:
    """A file to replace: its record, the version in the store, and the new artifact."""

    record: Replacement
    version: str
    artifact: Artifact


def resanitize(ws: Workspace, *, dry_run: bool = False) -> ResanitizeResult:
    """Redact artifacts and entries, not handwritten text, by today's rules. Raises EngineMissing, ConflictError."""
    result = ResanitizeResult(ws.rules.version, dry_run)
    jobs, removed = list[Job](), ws.documents.tombstones.list_tokens()
    names = (naming.parse_path(entry.key) for entry in ws.documents.store.list(naming.MEMORY))
    for token in sorted({name.token for name in names if name and name.token not in removed}):
        with sessions.session_lock(ws, token):
            jobs += _resanitize_session(ws, token, result)
    jobs += _resanitize_books(ws, result)
    if jobs:
        _finish(ws, jobs)
    return result


def finish_resanitize(ws: Workspace, job: Job) -> None:
    """Finish one session of an interrupted run, or its books, from the job. The caller holds the lock of the token."""
    result = ResanitizeResult(ws.rules.version, dry_run=False)
    if job.token == GLOBAL:
        jobs = _resanitize_books(ws, result)
        index_books(ws, ws.documents.books.list())  # a run that was cut off may have indexed none of them
    else:
        jobs = _resanitize_session(ws, job.token, result, is_resumed=True)
    _finish(ws, [job, *jobs])


def _resanitize_session(ws: Workspace, token: str, result: ResanitizeResult, *, is_resumed: bool = False) -> list[Job]:
    """Replace a session's artifacts and rows; return the spooled job. `is_resumed` writes the rows in any case."""
    session = sessions.load_session(ws, token)
    if session.manifest is None:
        return []
    changes = _plan_replacements(ws, session.manifest, result)
    if result.dry_run or not (changes or is_resumed):
        return []
    job = Job(flow=RESANITIZE, token=token, captured_at=ws.now, sentence="", quality="", payload={})
    ws.documents.spool.put(job)
    # records before files: an interrupted run leaves each file with the old or the new hash of its record
    records = [change.record for change in changes]
    ws.documents.manifests.record_replacements(
        session.manifest.stem, records, ws.build_sanitizer().sanitize, ws.new_id(), ws.now
    )
    for change in changes:
        ws.documents.artifacts.replace(change.artifact, change.version)
    rows = []
    for path in (*list_artifact_paths(session.manifest), session.manifest.path):
        with contextlib.suppress(FormatError):  # a damaged file has no row; the reindex reports it
            if loaded := load_row(ws.documents.store, path):
                rows.append(loaded[0])
    ws.index.upsert(rows)
    return [job]


def _resanitize_books(ws: Workspace, result: ResanitizeResult) -> list[Job]:
    """Redact the entries of books, and their rows; return the spooled job. One that can't be written is a problem."""
    changes = list[tuple[BookRef, Book, Book, Counter[str]]]()
    for ref in ws.documents.books.list():
        sanitizer, book = ws.build_sanitizer(), ws.documents.books.read(ref)
        clean = redact_book(book, sanitizer.sanitize, include_handwritten=False)
        if clean.parts != book.parts:
            changes.append((ref, book, clean, sanitizer.redactions))
    job = Job(flow=RESANITIZE, token=GLOBAL, captured_at=ws.now, sentence="", quality="", payload={})
    if changes and not result.dry_run:
        ws.documents.spool.put(job)
    for ref, book, clean, redactions in changes:
        try:
            if not result.dry_run:
                ws.documents.books.write_merged(ref, book, clean)
        except FormatError as error:
            result.problems.append((ref.path, error.message))
            continue
        result.books.append(ref.path)
        result.count(ref.path, redactions)
    if result.dry_run or not changes:
        return []
    index_books(ws, [ref for ref, *_ in changes])
    return [job]


def _plan_replacements(ws: Workspace, manifest: Manifest, result: ResanitizeResult) -> list[_FileReplacement]:
    changes = []
    for path in list_artifact_paths(manifest):
        sanitizer = ws.build_sanitizer()
        try:
            blob = read_or_none(ws.documents.store, path)
            artifact = parse_document_as(Artifact, blob.data, path) if blob else None
            clean = resanitize_artifact(artifact, sanitizer) if artifact else None
        except FormatError as error:
            result.problems.append((path, error.message))
            continue
        if blob and artifact and clean:
            old, new = (hashlib.sha256(data).hexdigest() for data in (blob.data, serialize_document(clean)))
            record = Replacement(path, old, new, artifact.sanitizer_version, clean.sanitizer_version)
            changes.append(_FileReplacement(record, blob.version, clean))
            result.replaced.append(record)
            result.count(path, sanitizer.redactions)
        else:
            result.unchanged += 1
    return changes


def _finish(ws: Workspace, jobs: list[Job]) -> None:
    """Remove the old texts from MEMORY.md, claims, caches, free pages, vectors and half-written files."""
    publish_all(ws)
    for path in list_unused_claims(ws):  # the names of projects that are called otherwise now
        ws.documents.base.delete(path)
    ws.documents.context_cache.clear()
    ws.index.scrub()
    prune_vectors(ws)
    scrub_vectors(ws)
    ws.documents.store.collect_garbage()
    for job in jobs:
        ws.documents.spool.clear(job)
