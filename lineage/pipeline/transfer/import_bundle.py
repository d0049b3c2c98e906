"""Import of bundles: judged as a whole, then written by a journal that is finished or undone.

A session gets fresh ids, and every reference to it is renamed; with `restore` it keeps its own. All that is to be
written is made, and read back, before the first byte of it lies in the workspace: it stands in a spool job, from which
any later command goes on where this one died.

    spool → claim → artifacts → manifest → books → their rows → MEMORY.md and rows → spool cleared
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lineage.core.base.book_paths import GLOBAL, BookRef, parse_book_path
from lineage.core.base.identity import Identity, is_test_session
from lineage.core.base.privacy import session_scope
from lineage.core.books.book import parse_book
from lineage.core.format import frontmatter
from lineage.core.format import manifest as manifests
from lineage.core.format.documents import Artifact, Manifest, parse_document, parse_document_as, serialize_document
from lineage.core.format.documents import build_claim as claim_of
from lineage.core.format.job import IMPORT, Job
from lineage.documents.bundle_zip import unpack
from lineage.errors import DatabaseDamaged, FormatError, ImmutableError, LineageError, RemovedError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.maintenance.import_journal import (
    SessionImport,
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
from lineage.pipeline.transfer.merge_books import MergeResult, finish_merge, merge_global
from lineage.pipeline.transfer.reidentify import Reidentification, contains_ids, map_entry_ids, replace_ids_in_file
from lineage.store import read_or_none
from lineage.workspace.workspace import Workspace

IMPORTED = "imported"
RESTORED = "restored"
UNCHANGED = "unchanged"

_FRESH = "import it without `--restore`: it gets a fresh id and leaves what is here alone"


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """What became of a session of the bundle. `imported_from` are the tokens that it had; `files` what was written, or
    would be."""

    status: str
    session_token: str
    session_id: str
    agent_id: str
    private: bool
    imported_from: list[str]
    files: list[str]


@dataclass(slots=True)
class BundleImport:
    """What an import did, or would do. `entries` counts the global entries by where they went, `dropped` those that did
    not, by reason; `redactions` what this workspace's rules found, `defused` the files in which something would run."""

    holds: str
    dry_run: bool
    sessions: list[ImportedSession] = field(default_factory=list)
    entries: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    redactions: dict[str, int] = field(default_factory=dict)
    defused: int = 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """A session as it is to be written."""

    session_import: SessionImport
    delivery: SanitizedDelivery
    status: str


def import_bundle(
    ws: Workspace, data: bytes, *, restore: bool = False, trust: bool = False, dry_run: bool = False
) -> BundleImport:
    """Imports what the bytes of a bundle hold. `trust` says that it is the user's own: its global entries need not wait
    to be confirmed.

    Raises, having written nothing: FormatError for a bundle that is not as lineage writes it; RemovedError for a
    session that was removed here; ImmutableError where `restore` finds the session with other content. Where writing
    fails, what was written goes again.
    """
    whole = unpack(data)
    if whole.bundle.holds == GLOBAL:
        return _report_merge(merge_global(ws, whole, trust=trust, dry_run=dry_run), dry_run=dry_run)
    sanitizers = [(delivery, ws.build_sanitizer()) for delivery in parse_deliveries(whole)]
    found = [sanitize_delivery(delivery, sanitizer) for delivery, sanitizer in sanitizers]
    for one in found:
        refuse_removed(ws, one.delivery)
    plans = _plan_with_own_ids(ws, found) if restore else _plan_with_fresh_ids(ws, found)
    if not dry_run:
        for plan in plans:
            _apply(ws, plan, whole.digest)
    redactions = sum((one.redactions for one in found), Counter[str]())
    return BundleImport(
        holds=whole.bundle.holds,
        dry_run=dry_run,
        sessions=[_report_session(plan.session_import, plan.status) for plan in plans],
        redactions=dict(sorted(redactions.items())),
        defused=sum(one.defused for one in found),
    )


def finish_import(ws: Workspace, job: Job) -> list[str]:
    """One import that was cut off, from its job alone; the files that it made. The caller holds the mutex of the job's
    token."""
    if job.token == GLOBAL:
        return sorted(finish_merge(ws, job).entries)
    finish_session_import(ws, job)
    return [path for path in SessionImport.from_job(job).created if read_or_none(ws.documents.store, path)]


def list_unfinished(ws: Workspace, digest: str) -> list[Job]:
    """Jobs of earlier imports of the same file that were cut off: importing it again means finishing them."""
    jobs = ws.documents.spool.list_pending()
    return [job for job in jobs if job.flow == IMPORT and job.payload.get("bundle") == digest]


def finish_imports(ws: Workspace, jobs: Sequence[Job]) -> BundleImport:
    """Finishes imports that were cut off, and says what they did."""
    done = BundleImport(holds="sessions", dry_run=False)
    for job in jobs:
        with sessions.session_lock(ws, job.token):
            if job.token == GLOBAL:
                return _report_merge(finish_merge(ws, job), dry_run=False)
            finish_session_import(ws, job)
        done.sessions.append(_report_session(SessionImport.from_job(job), IMPORTED))
    return done


def refuse_removed(ws: Workspace, delivery: Delivery) -> None:
    """Raises RemovedError where the session, one that it was a copy of, or one of its turns was removed here."""
    removed = list_removed_tokens(ws)
    for token in delivery.came_from:
        if token in removed:
            raise RemovedError(f"session {token} was removed here; a bundle does not bring it back")
    gone = delivery.turns & ws.documents.tombstones.read_removed_turns()
    if gone:
        raise RemovedError(f"{len(gone)} turns of session {delivery.session.session_token} were removed here")


def _plan_with_fresh_ids(ws: Workspace, found: Sequence[SanitizedDelivery]) -> list[_Plan]:
    moving = [one.delivery.manifest.identity for one in found]
    fresh = [_build_identity(ws, one.delivery.manifest) for one in found]
    pairs = list(zip(moving, fresh, strict=True))
    tokens = {old.token: new.token for old, new in pairs}
    ids = {old.session_id: new.session_id for old, new in pairs}
    moves = [Reidentification(old, new, tokens, ids) for old, new in pairs]
    return [_plan_moved(ws, one, move) for one, move in zip(found, moves, strict=True)]


def _build_identity(ws: Workspace, manifest: Manifest) -> Identity:
    """An identity that nobody has or had here; that of a trial session is one of a trial session again."""
    prefix = "test-" if is_test_session(manifest.identity, manifest.project) and manifest.project is None else ""
    while True:
        identity = Identity(manifest.agent_id, f"{prefix}{ws.new_id()}")
        canon = ws.documents
        if not (canon.claims.has(identity.token) or canon.tombstones.has(identity.token)):
            return identity


def _plan_moved(ws: Workspace, sanitized_delivery: SanitizedDelivery, move: Reidentification) -> _Plan:
    """The session under its fresh identity, read back: nothing but `imported_from` names the old one."""
    delivery, sanitizer = sanitized_delivery.delivery, ws.build_sanitizer()
    manifest = move.reidentify_document(sanitize_manifest(sanitized_delivery, sanitizer, ws.new_id(), ws.now))
    manifest = manifests.start_imported(manifest, delivery.came_from, ws.new_id(), ws.now)
    artifacts = [move.reidentify_document(artifact) for artifact in delivery.artifacts]
    scope = session_scope(move.old.token)
    ids = map_entry_ids(
        {ref.path: parse_book(data, scope, ref.kind) for ref, data in delivery.books.items()}, move.tokens
    )
    names = {**move.tokens, **ids}
    files = _serialize_documents([*artifacts, manifest])
    for ref, data in delivery.books.items():
        moved = BookRef(session_scope(move.new.token), ref.kind, ref.shelf)
        files[moved.path] = replace_ids_in_file(data, names)
    _check_moved(files, {*move.tokens, *ids})
    return _Plan(_build_session_import(ws, manifest, files), sanitized_delivery, IMPORTED)


def _serialize_documents(documents: Sequence[Artifact | Manifest]) -> dict[str, bytes]:
    return {document.path: serialize_document(document) for document in documents}


def _check_moved(files: Mapping[str, bytes], old: set[str]) -> None:
    """Reads back what is to be written. Raises FormatError where a reference escaped its renaming: written in escapes,
    say, where only its reader sees it."""
    for path, data in files.items():
        if contains_ids(_render_visible(path, data), old):
            raise FormatError(f"{path}: a reference to the old session is hidden in it", hint="nothing was written")


def _render_visible(path: str, data: bytes) -> str:
    """All that a reader of the file sees, but for where it came from."""
    ref = parse_book_path(path)
    if ref is None:
        document = parse_document(data, path)
        told = document._replace(imported_from=[]) if isinstance(document, Manifest) else document
        return f"{told!r}\n{document.body}"
    book = parse_book(data, ref.scope, ref.kind)
    meta = frontmatter.load(book.head.removeprefix("\ufeff")).metadata if book.head else {}
    return f"{meta!r}\n{book.entries!r}\n{data.decode('utf-8', 'replace')}"


def _plan_with_own_ids(ws: Workspace, found: Sequence[SanitizedDelivery]) -> list[_Plan]:
    return [_plan_unmoved(ws, one) for one in found]


def _plan_unmoved(ws: Workspace, sanitized_delivery: SanitizedDelivery) -> _Plan:
    """The session as it was; what lies here of it already has to be the same."""
    delivery = sanitized_delivery.delivery
    manifest = sanitize_manifest(sanitized_delivery, ws.build_sanitizer(), ws.new_id(), ws.now)
    files = _serialize_documents([*delivery.artifacts, manifest])
    files |= {ref.path: data for ref, data in delivery.books.items()}
    token = manifest.identity.token
    with sessions.session_lock(ws, token):
        _check_same(ws, manifest, files)
        bundling = _build_session_import(ws, manifest, files)
    return _Plan(bundling, sanitized_delivery, RESTORED if bundling.created else UNCHANGED)


def _check_same(ws: Workspace, manifest: Manifest, files: dict[str, bytes]) -> None:
    """Raises ImmutableError where the session is here with other content. A manifest that says the same as the one
    in `files`, but for when and by whom it was written, is taken for it."""
    for path in sorted(files):
        blob = read_or_none(ws.documents.store, path)
        if blob and path == manifest.path and _is_equivalent(blob.data, manifest):
            files[path] = blob.data
        if blob and blob.data != files[path]:
            raise ImmutableError(f"session {manifest.session_id} is here with other content: {path}", hint=_FRESH)
    if ws.documents.claims.get_stem(manifest.identity.token) not in (None, manifest.stem):
        raise ImmutableError(f"session {manifest.session_id} is here under another time", hint=_FRESH)


def _is_equivalent(data: bytes, manifest: Manifest) -> bool:
    here = parse_document_as(Manifest, data, manifest.path)
    return here == manifest._replace(revision=here.revision, write_id=here.write_id, updated_at=here.updated_at)


def _build_session_import(ws: Workspace, manifest: Manifest, files: Mapping[str, bytes]) -> SessionImport:
    claim = claim_of(manifest.identity, manifest.stem)
    wanted = [*sorted(files), claim.path]
    return SessionImport(
        identity=manifest.identity,
        stem=manifest.stem,
        private=manifest.private,
        came_from=tuple(manifest.imported_from),
        files=dict(files),
        created=tuple(path for path in wanted if read_or_none(ws.documents.store, path) is None),
    )


def _apply(ws: Workspace, plan: _Plan, digest: str) -> None:
    if plan.status == UNCHANGED:
        return
    job = plan.session_import.build_job(ws.now, digest)
    with sessions.session_lock(ws, job.token):
        ws.documents.spool.put(job)
        _finish_or_undo(ws, job, finish_session_import)


def _finish_or_undo(ws: Workspace, job: Job, finish: Callable[[Workspace, Job], None]) -> None:
    """A damaged index is the caller's to begin anew; the job goes on then."""
    try:
        finish(ws, job)
    except DatabaseDamaged:
        raise
    except LineageError:
        with contextlib.suppress(LineageError):  # what cannot be undone now is finished from the job later
            undo_session_import(ws, job)
        raise


def _report_session(session_import: SessionImport, status: str) -> ImportedSession:
    return ImportedSession(
        status=status,
        session_token=session_import.identity.token,
        session_id=session_import.identity.session_id,
        agent_id=session_import.identity.agent_id,
        private=session_import.private,
        imported_from=list(session_import.came_from),
        files=list(session_import.created),
    )


def _report_merge(merge_result: MergeResult, *, dry_run: bool) -> BundleImport:
    return BundleImport(
        holds=GLOBAL,
        dry_run=dry_run,
        entries=dict(sorted(merge_result.entries.items())),
        dropped=dict(sorted(merge_result.dropped.items())),
        redactions=dict(sorted(merge_result.redactions.items())),
    )
