"""The import of bundles: sessions, or the global books, from one portable file.

An import is checked as a whole, then written by a journal that is finished or undone. A session gets fresh ids, made of
its content, and all references to it are renamed; with `restore` it keeps its ids. Every file is built and read back
before the first byte reaches the workspace. The job in the spool holds them all, and any later command finishes an
import that died. (maintenance/import_journal.py)
"""

import contextlib
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lineage.core.base.book_paths import GLOBAL, BookRef, parse_book_path, session_scope
from lineage.core.base.naming import Identity, is_test_session
from lineage.core.books.book import parse_book
from lineage.core.capture.ledger import find_parent
from lineage.core.format import frontmatter
from lineage.core.format import manifest as manifests
from lineage.core.format.documents import (
    Artifact,
    Manifest,
    build_claim,
    parse_document,
    parse_document_as,
    serialize_document,
)
from lineage.core.format.job import IMPORT, Job
from lineage.documents.bundle_zip import unpack
from lineage.errors import DatabaseDamaged, FormatError, ImmutableError, LineageError, RemovedError
from lineage.pipeline.capture.session import session_lock
from lineage.pipeline.maintenance.import_journal import (
    MergeResult,
    SessionImport,
    finish_import,
    finish_merge,
    finish_session_import,
    list_removed_tokens,
    undo_session_import,
)
from lineage.pipeline.transfer.delivery import (
    Delivery,
    SanitizedDelivery,
    parse_deliveries,
    sanitize_delivery,
    sanitize_manifest,
)
from lineage.pipeline.transfer.merge_books import merge_global
from lineage.pipeline.transfer.reidentify import Reidentification, contains_ids, map_entry_ids, replace_ids_in_file
from lineage.store import read_or_none
from lineage.workspace.workspace import Workspace

IMPORTED = "imported"
RESTORED = "restored"
UNCHANGED = "unchanged"

_ID_LENGTH = 32
_FRESH = "import it without `--restore`, with `--copy`: it gets a fresh id and leaves what is here alone"


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """The result for one session. `imported_from` are its earlier tokens, `files` the paths written."""

    status: str
    session_token: str
    session_id: str
    agent_id: str
    private: bool
    imported_from: list[str]
    files: list[str]


@dataclass(slots=True)
class BundleImport:
    """The result of an import.

    `entries` counts global entries by the path of their book, `dropped` refused ones by reason. `redactions` counts
    the finds of this workspace's rules, `defused` the files with neutralized markdown.
    """

    holds: str
    dry_run: bool
    sessions: list[ImportedSession] = field(default_factory=list)
    entries: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    redactions: dict[str, int] = field(default_factory=dict)
    defused: int = 0


def import_bundle(
    ws: Workspace, data: bytes, *, restore: bool = False, trust: bool = False, copy: bool = False, dry_run: bool = False
) -> BundleImport:
    """Import the bundle in the bytes of its file.

    A session that is here in this state, as itself or as an import of it, is `unchanged`, unless `copy` asks for
    another. `trust` declares it the user's own: its global entries need no confirmation. Raises, with nothing written:
    FormatError for a bundle that lineage would not write; RemovedError for a session removed here; ImmutableError if
    `restore` meets other content of the session. A failed write is undone.
    """
    unpacked = unpack(data)
    if unpacked.bundle.holds == GLOBAL:
        return _report_merge(merge_global(ws, unpacked, trust=trust, dry_run=dry_run), dry_run=dry_run)
    delivered = parse_deliveries(unpacked)
    deliveries = [sanitize_delivery(delivery, ws.build_sanitizer()) for delivery in delivered]
    for sanitized in deliveries:
        refuse_removed(ws, sanitized.delivery)
    if restore:
        plans = [_plan_restored(ws, sanitized) for sanitized in deliveries]
    else:
        plans = _plan_fresh(ws, deliveries, [delivery.content_sha256 for delivery in delivered], copy=copy)
    status = RESTORED if restore else IMPORTED
    for plan in plans:
        if not dry_run and plan.created:
            _import_session(ws, plan.build_job(ws.now, unpacked.digest), is_restored=restore)
    redactions = sum((sanitized.redactions for sanitized in deliveries), Counter[str]())
    return BundleImport(
        holds=unpacked.bundle.holds,
        dry_run=dry_run,
        sessions=[_report_session(plan, status if plan.created else UNCHANGED) for plan in plans],
        redactions=dict(sorted(redactions.items())),
        defused=sum(sanitized.defused for sanitized in deliveries),
    )


def finish_interrupted_import(ws: Workspace, digest: str) -> BundleImport | None:
    """Finish an earlier import of the bundle with this digest, and return its result; None without a job of it."""
    # By digest: the same file is recognized under any name.
    pending = ws.documents.spool.list_pending()
    jobs = [job for job in pending if job.flow == IMPORT and job.payload.get("bundle") == digest]
    result = BundleImport(holds="sessions", dry_run=False)
    for job in jobs:
        with session_lock(ws, job.token):
            if job.token == GLOBAL:
                return _report_merge(finish_merge(ws, job), dry_run=False)
            finish_import(ws, job)
        result.sessions.append(_report_session(SessionImport.from_job(job), IMPORTED))
    return result if jobs else None


def refuse_removed(ws: Workspace, delivery: Delivery) -> None:
    """Raise RemovedError if the session, its parent, an original of it, or one of its turns was removed here."""
    removed = list_removed_tokens(ws)
    parent = find_parent(delivery.manifest)
    for token in filter(None, (*delivery.came_from, parent)):
        if token in removed:
            raise RemovedError(f"session {token} was removed here; a bundle does not bring it back")
    turns = delivery.turns & ws.documents.tombstones.read_removed_turns()
    if turns:
        raise RemovedError(f"{len(turns)} turns of session {delivery.session.session_token} were removed here")


def _plan_fresh(
    ws: Workspace, deliveries: Sequence[SanitizedDelivery], contents: Sequence[str], *, copy: bool
) -> list[SessionImport]:
    """Plan the sessions under fresh identities, without those that are here. References between them follow."""
    old = [sanitized.delivery.manifest.identity for sanitized in deliveries]
    new = [_choose_identity(ws, *pair, copy=copy) for pair in zip(deliveries, contents, strict=True)]
    pairs = list(zip(old, new, strict=True))
    tokens = {before.token: after.token for before, after in pairs if before != after}
    ids = {before.session_id: after.session_id for before, after in pairs if before != after}
    return [
        _report_present(sanitized, after)
        if ws.documents.claims.has(after.token)
        else _plan_reidentified(ws, sanitized, Reidentification(before, after, tokens, ids))
        for sanitized, (before, after) in zip(deliveries, pairs, strict=True)
    ]


def _choose_identity(ws: Workspace, sanitized: SanitizedDelivery, content: str, *, copy: bool) -> Identity:
    """Return the identity of the session here or of its earlier import, else an unused one, never removed here.

    It is made of the session's content: a dry run and the import choose the same. A trial session's is that of a trial
    session again.
    """
    manifest = sanitized.delivery.manifest
    if not copy and _is_present(ws, sanitized.delivery):
        return manifest.identity
    prefix = "test-" if is_test_session(manifest.identity, manifest.project) and manifest.project is None else ""
    number = 0
    while True:
        name = hashlib.sha256(f"{content}\n{number}".encode()).hexdigest()[:_ID_LENGTH]
        identity = Identity(manifest.agent_id, f"{prefix}{name}")
        is_taken = ws.documents.claims.has(identity.token) and copy
        if not (is_taken or ws.documents.tombstones.has(identity.token)):
            return identity
        number += 1


def _is_present(ws: Workspace, delivery: Delivery) -> bool:
    """Return whether the session is here under its own identity, with everything that the bundle holds of it."""
    files = {artifact.path: serialize_document(artifact) for artifact in delivery.artifacts}
    files |= {ref.path: data for ref, data in delivery.books.items()}
    blobs = {path: read_or_none(ws.documents.store, path) for path in files}
    is_whole = all(blob is not None and blob.data == files[path] for path, blob in blobs.items())
    return is_whole and ws.documents.claims.has(delivery.manifest.identity.token)


def _report_present(sanitized: SanitizedDelivery, identity: Identity) -> SessionImport:
    delivery = sanitized.delivery
    came_from = delivery.came_from if identity != delivery.manifest.identity else ()
    return SessionImport(
        identity=identity,
        stem=delivery.manifest.stem,
        private=delivery.private,
        came_from=came_from,
        files={},
        created=(),
    )


def _plan_reidentified(ws: Workspace, sanitized: SanitizedDelivery, change: Reidentification) -> SessionImport:
    """Plan a session under its fresh identity. Only `imported_from` names the old one."""
    delivery = sanitized.delivery
    manifest = sanitize_manifest(sanitized, ws.build_sanitizer(), ws.new_id(), ws.now)
    manifest = change.reidentify_document(manifest)
    manifest = manifests.start_imported(manifest, delivery.came_from, ws.new_id(), ws.now)
    documents: list[Artifact | Manifest] = [*map(change.reidentify_document, delivery.artifacts), manifest]
    scope = session_scope(change.old.token)
    books = {ref.path: parse_book(data, scope, ref.kind) for ref, data in delivery.books.items()}
    entry_ids = map_entry_ids(books, change.tokens)
    files = {document.path: serialize_document(document) for document in documents}
    for ref, data in delivery.books.items():
        target = BookRef(session_scope(change.new.token), ref.kind, ref.shelf)
        files[target.path] = replace_ids_in_file(data, {**change.tokens, **entry_ids})
    for path, data in files.items():
        # read back: a reference in escapes shows only to the reader of the file, not to the substitution
        if contains_ids(_render_visible(path, data), {*change.tokens, *entry_ids}):
            raise FormatError(f"{path}: a reference to the old session is hidden in it", hint="nothing was written")
    return _build_session_import(ws, manifest, files)


def _render_visible(path: str, data: bytes) -> str:
    """Return everything that a reader of the file sees, except `imported_from`."""
    ref = parse_book_path(path)
    if ref is None:
        document = parse_document(data, path)
        visible = document._replace(imported_from=[]) if isinstance(document, Manifest) else document
        return f"{visible!r}\n{document.body}"
    book = parse_book(data, ref.scope, ref.kind)
    meta = frontmatter.load(book.head.removeprefix("\ufeff")).metadata if book.head else {}
    return f"{meta!r}\n{book.entries!r}\n{data.decode('utf-8', 'replace')}"


def _plan_restored(ws: Workspace, sanitized: SanitizedDelivery) -> SessionImport:
    """Plan a session under its own identity. Existing files of it must have the same content."""
    delivery = sanitized.delivery
    manifest = sanitize_manifest(sanitized, ws.build_sanitizer(), ws.new_id(), ws.now)
    documents: list[Artifact | Manifest] = [*delivery.artifacts, manifest]
    files = {document.path: serialize_document(document) for document in documents}
    files |= {ref.path: data for ref, data in delivery.books.items()}
    with session_lock(ws, manifest.identity.token):
        _check_same(ws, manifest, files)
        return _build_session_import(ws, manifest, files)


def _check_same(ws: Workspace, manifest: Manifest, files: dict[str, bytes]) -> None:
    """Refuse other content of the session. A manifest of another revision replaces the one in `files`."""
    for path in sorted(files):
        blob = read_or_none(ws.documents.store, path)
        if blob and path == manifest.path:
            here = parse_document_as(Manifest, blob.data, path)
            if here == manifest._replace(revision=here.revision, write_id=here.write_id, updated_at=here.updated_at):
                files[path] = blob.data
        if blob and blob.data != files[path]:
            raise ImmutableError(f"session {manifest.session_id} is here with other content: {path}", hint=_FRESH)
    if ws.documents.claims.get_stem(manifest.identity.token) not in (None, manifest.stem):
        raise ImmutableError(f"session {manifest.session_id} is here under another time", hint=_FRESH)


def _build_session_import(ws: Workspace, manifest: Manifest, files: Mapping[str, bytes]) -> SessionImport:
    paths = [*sorted(files), build_claim(manifest.identity, manifest.stem).path]
    return SessionImport(
        identity=manifest.identity,
        stem=manifest.stem,
        private=manifest.private,
        came_from=tuple(manifest.imported_from),
        files=dict(files),
        created=tuple(path for path in paths if read_or_none(ws.documents.store, path) is None),
    )


def _import_session(ws: Workspace, job: Job, *, is_restored: bool) -> None:
    with session_lock(ws, job.token):
        if not is_restored and ws.documents.claims.has(job.token):  # another process imported the same just now
            return
        ws.documents.spool.put(job)
        try:
            finish_session_import(ws, job)
        except DatabaseDamaged:  # the caller resets the index and runs again, with the job in the spool
            raise
        except LineageError:
            with contextlib.suppress(LineageError):  # what cannot be undone now is finished from the job later
                undo_session_import(ws, job)
            raise


def _report_session(session: SessionImport, status: str) -> ImportedSession:
    return ImportedSession(
        status=status,
        session_token=session.identity.token,
        session_id=session.identity.session_id,
        agent_id=session.identity.agent_id,
        private=session.private,
        imported_from=list(session.came_from),
        files=list(session.created),
    )


def _report_merge(merge: MergeResult, *, dry_run: bool) -> BundleImport:
    return BundleImport(
        holds=GLOBAL,
        dry_run=dry_run,
        entries=dict(sorted(merge.entries.items())),
        dropped=dict(sorted(merge.dropped.items())),
        redactions=dict(sorted(merge.redactions.items())),
    )
