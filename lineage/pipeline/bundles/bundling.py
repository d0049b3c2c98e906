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

from lineage.canon.bundles import unpacked
from lineage.core import frontmatter
from lineage.core import manifest as manifests
from lineage.core.book import parsed_book
from lineage.core.book_paths import GLOBAL, BookRef, ref_of
from lineage.core.documents import Artifact, Manifest, parsed, parsed_as, serialized
from lineage.core.documents import claim as claim_of
from lineage.core.identity import Identity, is_trial
from lineage.core.job import IMPORT, Job
from lineage.core.privacy import session_scope
from lineage.core.renaming import Move, entry_names, names_in, renamed_file
from lineage.errors import DamagedIndex, FormatError, ImmutableError, LineageError, RemovedError
from lineage.pipeline.bundles.delivering import Delivery, Settled, deliveries, settled, settled_manifest
from lineage.pipeline.bundles.merging import Merged, finish_merging, merge_global
from lineage.pipeline.bundles.unspooling import Bundling, buried, finish_session, undo
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House
from lineage.store import read_or_none

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
class Imported:
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

    bundling: Bundling
    found: Settled
    status: str


def import_bundle(
    house: House, data: bytes, *, restore: bool = False, trust: bool = False, dry_run: bool = False
) -> Imported:
    """Imports what the bytes of a bundle hold. `trust` says that it is the user's own: its global entries need not wait
    to be confirmed.

    Raises, having written nothing: FormatError for a bundle that is not as lineage writes it; RemovedError for a
    session that was removed here; ImmutableError where `restore` finds the session with other content. Where writing
    fails, what was written goes again.
    """
    whole = unpacked(data)
    if whole.bundle.holds == GLOBAL:
        return _reported(merge_global(house, whole, trust=trust, dry_run=dry_run), dry_run=dry_run)
    sanitizers = [(delivery, house.sanitizer()) for delivery in deliveries(whole)]
    found = [settled(delivery, sanitizer) for delivery, sanitizer in sanitizers]
    for one in found:
        refuse_removed(house, one.delivery)
    plans = _kept_ids(house, found) if restore else _fresh_ids(house, found)
    if not dry_run:
        for plan in plans:
            _carry_out(house, plan, whole.digest)
    redactions = sum((one.redactions for one in found), Counter[str]())
    return Imported(
        holds=whole.bundle.holds,
        dry_run=dry_run,
        sessions=[_said(plan.bundling, plan.status) for plan in plans],
        redactions=dict(sorted(redactions.items())),
        defused=sum(one.defused for one in found),
    )


def finish_import(house: House, job: Job) -> list[str]:
    """One import that was cut off, from its job alone; the files that it made. The caller holds the mutex of the job's
    token."""
    if job.token == GLOBAL:
        return sorted(finish_merging(house, job).entries)
    finish_session(house, job)
    return [path for path in Bundling.of(job).made if read_or_none(house.canon.store, path)]


def unfinished(house: House, digest: str) -> list[Job]:
    """Jobs of earlier imports of the same file that were cut off: importing it again means finishing them."""
    jobs = house.canon.spool.pending()
    return [job for job in jobs if job.flow == IMPORT and job.payload.get("bundle") == digest]


def finished(house: House, jobs: Sequence[Job]) -> Imported:
    """Finishes imports that were cut off, and says what they did."""
    done = Imported(holds="sessions", dry_run=False)
    for job in jobs:
        with sessions.exclusively(house, job.token):
            if job.token == GLOBAL:
                return _reported(finish_merging(house, job), dry_run=False)
            finish_session(house, job)
        done.sessions.append(_said(Bundling.of(job), IMPORTED))
    return done


def refuse_removed(house: House, delivery: Delivery) -> None:
    """Raises RemovedError where the session, one that it was a copy of, or one of its turns was removed here."""
    removed = buried(house)
    for token in delivery.came_from:
        if token in removed:
            raise RemovedError(f"session {token} was removed here; a bundle does not bring it back")
    gone = delivery.turns & house.canon.tombstones.removed_turns()
    if gone:
        raise RemovedError(f"{len(gone)} turns of session {delivery.session.session_token} were removed here")


def _fresh_ids(house: House, found: Sequence[Settled]) -> list[_Plan]:
    moving = [one.delivery.manifest.identity for one in found]
    fresh = [_fresh(house, one.delivery.manifest) for one in found]
    pairs = list(zip(moving, fresh, strict=True))
    tokens = {old.token: new.token for old, new in pairs}
    ids = {old.session_id: new.session_id for old, new in pairs}
    moves = [Move(old, new, tokens, ids) for old, new in pairs]
    return [_moved(house, one, move) for one, move in zip(found, moves, strict=True)]


def _fresh(house: House, manifest: Manifest) -> Identity:
    """An identity that nobody has or had here; that of a trial session is one of a trial session again."""
    prefix = "test-" if is_trial(manifest.identity, manifest.project) and manifest.project is None else ""
    while True:
        identity = Identity(manifest.agent_id, f"{prefix}{house.new_id()}")
        canon = house.canon
        if not (canon.claims.has(identity.token) or canon.tombstones.has(identity.token)):
            return identity


def _moved(house: House, found: Settled, move: Move) -> _Plan:
    """The session under its fresh identity, read back: nothing but `imported_from` names the old one."""
    delivery, sanitizer = found.delivery, house.sanitizer()
    manifest = move.document(settled_manifest(found, sanitizer, house.new_id(), house.now))
    manifest = manifests.imported(manifest, delivery.came_from, house.new_id(), house.now)
    artifacts = [move.document(artifact) for artifact in delivery.artifacts]
    scope = session_scope(move.old.token)
    ids = entry_names(
        {ref.path: parsed_book(data, scope, ref.kind) for ref, data in delivery.books.items()}, move.tokens
    )
    names = {**move.tokens, **ids}
    files = _files([*artifacts, manifest])
    for ref, data in delivery.books.items():
        moved = BookRef(session_scope(move.new.token), ref.kind, ref.shelf)
        files[moved.path] = renamed_file(data, names)
    _check_moved(files, {*move.tokens, *ids})
    return _Plan(_bundling(house, manifest, files), found, IMPORTED)


def _files(documents: Sequence[Artifact | Manifest]) -> dict[str, bytes]:
    return {document.path: serialized(document) for document in documents}


def _check_moved(files: Mapping[str, bytes], old: set[str]) -> None:
    """Reads back what is to be written. Raises FormatError where a reference escaped its renaming: written in escapes,
    say, where only its reader sees it."""
    for path, data in files.items():
        if names_in(_seen(path, data), old):
            raise FormatError(f"{path}: a reference to the old session is hidden in it", hint="nothing was written")


def _seen(path: str, data: bytes) -> str:
    """All that a reader of the file sees, but for where it came from."""
    ref = ref_of(path)
    if ref is None:
        document = parsed(data, path)
        told = document._replace(imported_from=[]) if isinstance(document, Manifest) else document
        return f"{told!r}\n{document.body}"
    book = parsed_book(data, ref.scope, ref.kind)
    meta = frontmatter.load(book.head.removeprefix("\ufeff"))[0] if book.head else {}
    return f"{meta!r}\n{book.entries!r}\n{data.decode('utf-8', 'replace')}"


def _kept_ids(house: House, found: Sequence[Settled]) -> list[_Plan]:
    return [_kept(house, one) for one in found]


def _kept(house: House, found: Settled) -> _Plan:
    """The session as it was; what lies here of it already has to be the same."""
    delivery = found.delivery
    manifest = settled_manifest(found, house.sanitizer(), house.new_id(), house.now)
    files = _files([*delivery.artifacts, manifest])
    files |= {ref.path: data for ref, data in delivery.books.items()}
    token = manifest.identity.token
    with sessions.exclusively(house, token):
        _check_same(house, manifest, files)
        bundling = _bundling(house, manifest, files)
    return _Plan(bundling, found, RESTORED if bundling.made else UNCHANGED)


def _check_same(house: House, manifest: Manifest, files: dict[str, bytes]) -> None:
    """Raises ImmutableError where the session is here with other content. A manifest that says the same as the one
    in `files`, but for when and by whom it was written, is taken for it."""
    for path in sorted(files):
        blob = read_or_none(house.canon.store, path)
        if blob and path == manifest.path and _says_the_same(blob.data, manifest):
            files[path] = blob.data
        if blob and blob.data != files[path]:
            raise ImmutableError(f"session {manifest.session_id} is here with other content: {path}", hint=_FRESH)
    if house.canon.claims.stem_of(manifest.identity.token) not in (None, manifest.stem):
        raise ImmutableError(f"session {manifest.session_id} is here under another time", hint=_FRESH)


def _says_the_same(data: bytes, manifest: Manifest) -> bool:
    here = parsed_as(Manifest, data, manifest.path)
    return here == manifest._replace(revision=here.revision, write_id=here.write_id, updated_at=here.updated_at)


def _bundling(house: House, manifest: Manifest, files: Mapping[str, bytes]) -> Bundling:
    claim = claim_of(manifest.identity, manifest.stem)
    wanted = [*sorted(files), claim.path]
    return Bundling(
        identity=manifest.identity,
        stem=manifest.stem,
        private=manifest.private,
        came_from=tuple(manifest.imported_from),
        files=dict(files),
        made=tuple(path for path in wanted if read_or_none(house.canon.store, path) is None),
    )


def _carry_out(house: House, plan: _Plan, digest: str) -> None:
    if plan.status == UNCHANGED:
        return
    job = plan.bundling.job(house.now, digest)
    with sessions.exclusively(house, job.token):
        house.canon.spool.put(job)
        _finish_or_undo(house, job, finish_session)


def _finish_or_undo(house: House, job: Job, finish: Callable[[House, Job], None]) -> None:
    """A damaged index is the caller's to begin anew; the job goes on then."""
    try:
        finish(house, job)
    except DamagedIndex:
        raise
    except LineageError:
        with contextlib.suppress(LineageError):  # what cannot be undone now is finished from the job later
            undo(house, job)
        raise


def _said(bundling: Bundling, status: str) -> ImportedSession:
    return ImportedSession(
        status=status,
        session_token=bundling.identity.token,
        session_id=bundling.identity.session_id,
        agent_id=bundling.identity.agent_id,
        private=bundling.private,
        imported_from=list(bundling.came_from),
        files=list(bundling.made),
    )


def _reported(merged: Merged, *, dry_run: bool) -> Imported:
    return Imported(
        holds=GLOBAL,
        dry_run=dry_run,
        entries=dict(sorted(merged.entries.items())),
        dropped=dict(sorted(merged.dropped.items())),
        redactions=dict(sorted(merged.redactions.items())),
    )
