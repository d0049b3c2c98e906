"""The journal of a bundle's import: from the spool's job into the workspace, or back out of it.

The job holds everything to write. `recover` or the next command finishes an import that died; an import that failed to
write is undone. Neither leaves a half.

    spool → claim → artifacts → manifest → books → their rows → MEMORY.md and rows → spool cleared
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, BookRef
from lineage.core.base.naming import Identity
from lineage.core.books import book_edits
from lineage.core.books.book import Book, can_supersede, new_book, parse_book, serialize_book
from lineage.core.books.entry import Entry
from lineage.core.format.body import normalize_body
from lineage.core.format.documents import Artifact, Manifest, build_claim, parse_document_as, serialize_document
from lineage.core.format.job import IMPORT, Job
from lineage.core.format.manifest import list_capture_paths
from lineage.core.transfer.bundle import find_book_refs
from lineage.errors import FormatError, ImmutableError
from lineage.store import ConflictError, ExistsError, commit, read_or_none
from lineage.workspace.book_index import index_books
from lineage.workspace.lookup import load_row
from lineage.workspace.publish import Publication, publish_or_mark_stale
from lineage.workspace.session_notes import publish_all_notes, publish_session_notes
from lineage.workspace.workspace import Workspace

_IMPORT_AGAIN = "import the bundle again"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionImport:
    """A session to write: `files` by path, its tokens elsewhere `came_from`, and `created`, the paths free before."""

    identity: Identity
    stem: str
    private: bool
    came_from: tuple[str, ...]
    files: Mapping[str, bytes]
    created: tuple[str, ...]

    def build_job(self, now: str, digest: str) -> Job:
        """Return the spool job of the import. `digest` is the SHA-256 of the bundle's file."""
        payload = {
            "bundle": digest,
            "agent_id": self.identity.agent_id,
            "session_id": self.identity.session_id,
            "session_key": self.identity.session_key,
            "stem": self.stem,
            "private": self.private,
            "came_from": list(self.came_from),
            "files": _decode_files(self.files),
            "made": list(self.created),
        }
        return Job(flow=IMPORT, token=self.identity.token, captured_at=now, sentence="", quality="", payload=payload)

    @staticmethod
    def from_job(job: Job) -> "SessionImport":
        """Return the import that a job carries. Raises FormatError for a damaged job."""
        try:
            payload = job.payload
            return SessionImport(
                identity=Identity(payload["agent_id"], payload["session_id"], payload["session_key"]),
                stem=payload["stem"],
                private=payload["private"],
                came_from=tuple(payload["came_from"]),
                files=_encode_files(payload["files"]),
                created=tuple(payload["made"]),
            )
        except (KeyError, TypeError, AttributeError, UnicodeError) as error:
            raise FormatError(f"{job.name}: not the job of an import", hint=_IMPORT_AGAIN) from error

    @property
    def artifacts(self) -> list[str]:
        """The paths of the artifacts, in order."""
        return sorted(path for path in self.files if path.startswith(naming.MEMORY) and path != self.manifest)

    @property
    def manifest(self) -> str:
        """The path of the manifest."""
        return naming.artifact_path(self.stem, naming.MANIFEST)

    @property
    def books(self) -> list[str]:
        """The paths of the session's own books, in order."""
        return sorted(path for path in self.files if not path.startswith(naming.MEMORY))


@dataclass(slots=True)
class MergeResult:
    """How many entries reached each book, by its path; how many were dropped, by reason; and the redactions."""

    entries: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    redactions: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class BookState:
    """The ids and texts of a book, its shelves taken together."""

    forgotten: frozenset[str]
    ids: set[str]
    texts: set[str]


def finish_import(ws: Workspace, job: Job) -> list[str]:
    """Finish one import from its job alone. Return the paths of its files. The caller holds the lock of the token.

    Raises ConflictError and ImmutableError for a session that somebody else wrote meanwhile: its import is undone.
    """
    if job.token == GLOBAL:
        return sorted(finish_merge(ws, job).entries)
    try:
        finish_session_import(ws, job)
    except (ConflictError, ImmutableError):
        undo_session_import(ws, job)
        raise
    return [path for path in SessionImport.from_job(job).created if read_or_none(ws.documents.store, path)]


def list_removed_tokens(ws: Workspace) -> frozenset[str]:
    """Return the tokens of sessions removed here, and their earlier tokens unless such an original lives here."""
    tombstones, originals = ws.documents.tombstones, set[str]()
    tokens = tombstones.list_tokens()
    for token in tokens:
        with contextlib.suppress(FormatError):  # a damaged tombstone still counts for its own token
            tombstone = tombstones.get(token)
            originals.update(tombstone.imported_from if tombstone else ())
    return tokens | {token for token in originals if not ws.documents.claims.has(token)}


def finish_session_import(ws: Workspace, job: Job) -> None:
    """Write the job's files that are missing, and clear the job. The caller holds the session's lock.

    A session removed meanwhile, under this token or an earlier one, is taken out again. Raises ConflictError and
    ImmutableError if somebody else wrote the session in the meantime.
    """
    session = SessionImport.from_job(job)
    if not list_removed_tokens(ws).isdisjoint((job.token, *session.came_from)):
        undo_session_import(ws, job)
        return
    # the claim first: from here on no other writer begins this session under another stem
    if ws.documents.claims.claim(session.identity, session.stem) != session.stem:
        raise ConflictError("the session was claimed by another writer in the meantime")
    # artifacts before the manifest: it names only artifacts that exist
    for path in session.artifacts:
        commit(ws.documents.store, path, session.files[path])
    _write_manifest(ws, session)
    for path in session.books:
        with contextlib.suppress(ExistsError):  # a book that exists by now was edited by its writer
            ws.documents.store.create(path, session.files[path])
    index_books(ws, find_book_refs(session.books))
    _publish(ws, session, [*session.artifacts, session.manifest])
    ws.documents.spool.clear(job)


def undo_session_import(ws: Workspace, job: Job) -> None:
    """Delete the files of an import and clear its job. Earlier files and changed ones stay, and the claim with them."""
    session = SessionImport.from_job(job)
    # the manifest before its artifacts: it names only artifacts that exist
    written = [*session.books, session.manifest, *reversed(session.artifacts)]
    created = [path for path in written if path in session.created]
    claim = build_claim(session.identity, session.stem)
    for path in created:
        _delete_if_unchanged(ws, path, session.files[path])
    gone = [path for path in created if read_or_none(ws.documents.store, path) is None]
    # the claim after its files: without it, a capture would begin the session anew beside them
    if claim.path in session.created and gone == created:
        _delete_if_unchanged(ws, claim.path, serialize_document(claim))
    ws.index.delete_paths(path for path in gone if path.startswith(naming.MEMORY))
    index_books(ws, find_book_refs(session.books))
    _publish(ws, session, [])
    ws.documents.spool.clear(job)


def _delete_if_unchanged(ws: Workspace, path: str, data: bytes) -> None:
    blob = read_or_none(ws.documents.store, path)
    if blob and blob.data == data:
        ws.documents.store.delete(path)


def _write_manifest(ws: Workspace, session: SessionImport) -> None:
    """Write the manifest, or link the missing captures into the one that somebody wrote meanwhile."""
    data = session.files[session.manifest]
    with contextlib.suppress(ExistsError):
        ws.documents.store.create(session.manifest, data)
        return
    for path in list_capture_paths(parse_document_as(Manifest, data, session.manifest)):
        artifact = parse_document_as(Artifact, session.files[path], path)
        ws.documents.manifests.link(session.stem, (artifact,), ws.new_id(), ws.now)


def _publish(ws: Workspace, session: SessionImport, paths: Sequence[str]) -> None:
    # MEMORY.md first: no reader sees the rows before it shows them.
    rows = [loaded[0] for path in paths if (loaded := load_row(ws.documents.store, path))]
    with Publication(ws, session.identity.agent_id) as publication, ws.index.upsert_in_transaction(rows):
        publication.publish()
    if paths:
        publish_session_notes(ws, session.identity.token)
    else:  # undone: no row tells the days any more
        publish_all_notes(ws)


def build_merge_job(now: str, digest: str, additions: Mapping[BookRef, Sequence[Entry]]) -> Job:
    """Return the spool job that adds entries to global books. `digest` is the SHA-256 of the bundle's file."""
    books = {
        ref.path: serialize_book(reduce(_add_entry, entries, new_book(ref.scope, ref.kind)))
        for ref, entries in additions.items()
    }
    payload = {"bundle": digest, "books": _decode_files(books)}
    return Job(flow=IMPORT, token=GLOBAL, captured_at=now, sentence="", quality="", payload=payload)


def finish_merge(ws: Workspace, job: Job) -> MergeResult:
    """Add a job's entries that are missing, book by book, and clear the job. The caller holds the token's lock."""
    result, refs = MergeResult(), []
    try:
        files = _encode_files(job.payload["books"])
    except (KeyError, AttributeError, UnicodeError) as error:
        raise FormatError(f"{job.name}: not the job of an import", hint=_IMPORT_AGAIN) from error
    for ref in find_book_refs(files):
        existing = load_book_state(ws, ref.scope, ref.kind).ids
        entries = parse_book(files[ref.path], ref.scope, ref.kind).entries
        missing = [entry for entry in entries if entry.id not in existing]
        result.entries[ref.path] += len(missing)

        def add_missing(book: Book, missing: Iterable[Entry] = missing) -> Book:
            return reduce(_add_entry, missing, book)

        ws.documents.books.update(ref.scope, ref.kind, add_missing, ref.shelf)
        if not ref.shelf:
            ws.documents.books.roll_over(ref.scope, ref.kind)
        refs.append(ref)
    index_books(ws, refs)
    publish_or_mark_stale(ws)
    ws.documents.spool.clear(job)
    return result


def load_book_state(ws: Workspace, scope: str, kind: str) -> BookState:
    """Return the ids and texts on all shelves of a book."""
    books = [ws.documents.books.read(ref) for ref in ws.documents.books.list_shelves(scope, kind)]
    return BookState(
        forgotten=frozenset[str]().union(*(book.forgotten_ids for book in books)),
        ids={identifier for book in books for identifier in book.all_ids},
        texts={normalize_body(entry.body) for book in books for entry in (*book.entries, *book.handwritten_entries)},
    )


def _add_entry(book: Book, entry: Entry) -> Book:
    """Add an entry to a book. It supersedes only entries of no higher trust."""
    trusts = {old.id: old.trust for old in book.entries}
    supersedes = tuple(old for old in entry.supersedes if can_supersede(entry.trust, trusts.get(old, entry.trust)))
    return book_edits.add(book, entry._replace(supersedes=supersedes))


def _decode_files(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: data.decode("utf-8", "surrogateescape") for path, data in files.items()}


def _encode_files(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode("utf-8", "surrogateescape") for path, text in files.items()}
