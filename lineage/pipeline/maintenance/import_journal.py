"""The journal of a session's import: from the spool's job into the workspace, or back out of it.

The job holds all that is to be written. So a run that died anywhere is finished by `recover` or the next command, and
one whose writing failed is undone: of either, no half is left.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.identity import Identity
from lineage.core.format.documents import Artifact, Manifest, parse_document_as, serialize_document
from lineage.core.format.documents import build_claim as claim_of
from lineage.core.format.job import IMPORT, Job
from lineage.core.transfer.bundle import find_book_refs
from lineage.errors import FormatError
from lineage.index import ArtifactRow
from lineage.store import ConflictError, ExistsError, commit, read_or_none
from lineage.workspace.book_index import index_books
from lineage.workspace.load import load_row
from lineage.workspace.publish import Publication
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionImport:
    """A session as it is to be written: `files` are all of its paths, `made` those that were free before, its claim
    among them. `came_from` are the tokens that it had elsewhere."""

    identity: Identity
    stem: str
    private: bool
    came_from: tuple[str, ...]
    files: Mapping[str, bytes]
    created: tuple[str, ...]

    def build_job(self, now: str, digest: str) -> Job:
        """The job that carries it; `digest` is the SHA-256 of the bundle's file."""
        payload = {
            "bundle": digest,
            "agent_id": self.identity.agent_id,
            "session_id": self.identity.session_id,
            "session_key": self.identity.session_key,
            "stem": self.stem,
            "private": self.private,
            "came_from": list(self.came_from),
            "files": {path: data.decode("utf-8", "surrogateescape") for path, data in self.files.items()},
            "made": list(self.created),
        }
        return Job(flow=IMPORT, token=self.identity.token, captured_at=now, sentence="", quality="", payload=payload)

    @staticmethod
    def from_job(job: Job) -> "SessionImport":
        """What a job carries. Raises FormatError where it is damaged."""
        try:
            said = job.payload
            return SessionImport(
                identity=Identity(said["agent_id"], said["session_id"], said["session_key"]),
                stem=said["stem"],
                private=said["private"],
                came_from=tuple(said["came_from"]),
                files={path: text.encode("utf-8", "surrogateescape") for path, text in said["files"].items()},
                created=tuple(said["made"]),
            )
        except (KeyError, TypeError, AttributeError, UnicodeError) as error:
            raise FormatError(f"{job.name}: not the job of an import", hint="import the bundle again") from error

    @property
    def documents(self) -> dict[str, bytes]:
        """The artifacts in order, the manifest behind them."""
        found = {path: data for path, data in self.files.items() if path.startswith(naming.MEMORY)}
        return dict(sorted(found.items(), key=lambda item: (item[0].endswith(f"--{naming.MANIFEST}.md"), item[0])))

    @property
    def books(self) -> dict[str, bytes]:
        return {path: data for path, data in sorted(self.files.items()) if not path.startswith(naming.MEMORY)}


def list_removed_tokens(ws: Workspace) -> frozenset[str]:
    """Every token of a session that was removed here, those too that it had before it came here in a bundle, unless
    the session that it was a copy of lives here still."""
    tombstones, copied = ws.documents.tombstones, set[str]()
    tokens = tombstones.list_tokens()
    for token in tokens:
        with contextlib.suppress(FormatError):  # a damaged tombstone still buries its own
            tombstone = tombstones.get(token)
            copied.update(tombstone.imported_from if tombstone else ())
    return tokens | {token for token in copied if not ws.documents.claims.has(token)}


def finish_session_import(ws: Workspace, job: Job) -> None:
    """Writes what the job holds and isn't there yet, and clears it. A session that was removed meanwhile, under this
    token or one that it had, is taken out again. The caller holds the session's mutex.

    Raises ConflictError and ImmutableError where somebody else wrote the session in the meantime.
    """
    bundling = SessionImport.from_job(job)
    if not list_removed_tokens(ws).isdisjoint((job.token, *bundling.came_from)):
        undo_session_import(ws, job)
        return
    if ws.documents.claims.claim(bundling.identity, bundling.stem) != bundling.stem:
        raise ConflictError("the session was claimed by another writer in the meantime")
    artifacts = [path for path in bundling.documents if not _is_manifest(path)]
    for path in artifacts:
        commit(ws.documents.store, path, bundling.files[path])
    _write_manifest(ws, bundling)
    for path, data in bundling.books.items():
        with contextlib.suppress(ExistsError):  # whoever wrote a book meanwhile has edited it
            ws.documents.store.create(path, data)
    index_books(ws, find_book_refs(bundling.books))
    _publish(ws, bundling, list(bundling.documents))
    ws.documents.spool.clear(job)


def undo_session_import(ws: Workspace, job: Job) -> None:
    """Takes out what an import wrote, and clears its job. What lay there before, or was changed since, stays."""
    bundling = SessionImport.from_job(job)
    gone = [path for path in (*bundling.books, *reversed(bundling.documents)) if path in bundling.created]
    for path in gone:
        blob = read_or_none(ws.documents.store, path)
        if blob and blob.data == bundling.files[path]:
            ws.documents.store.delete(path)
    _release_claim(ws, bundling)
    ws.index.delete_paths(path for path in gone if path.startswith(naming.MEMORY))
    index_books(ws, find_book_refs(bundling.books))
    _publish(ws, bundling, [])
    ws.documents.spool.clear(job)


def _release_claim(ws: Workspace, session_import: SessionImport) -> None:
    """Gives the session's claim back, unless it is somebody else's by now."""
    claim = claim_of(session_import.identity, session_import.stem)
    blob = read_or_none(ws.documents.store, claim.path)
    if claim.path in session_import.created and blob and blob.data == serialize_document(claim):
        ws.documents.store.delete(claim.path)


def _write_manifest(ws: Workspace, session_import: SessionImport) -> None:
    """The manifest as it came; one that somebody wrote meanwhile takes up the captures that it lacks."""
    (path,) = (path for path in session_import.documents if _is_manifest(path))
    with contextlib.suppress(ExistsError):
        ws.documents.store.create(path, session_import.files[path])
        return
    manifest = parse_document_as(Manifest, session_import.files[path], path)
    for named in _list_artifacts(manifest):
        artifact = parse_document_as(Artifact, session_import.files[named], named)
        ws.documents.manifests.link(session_import.stem, (artifact,), ws.new_id(), ws.now)


def _list_artifacts(manifest: Manifest) -> Iterator[str]:
    """The transcript of every capture, and every compaction."""
    yield from (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in manifest.captures)
    yield from (naming.artifact_path(stem, naming.COMPACTION) for stem in manifest.compactions)


def _publish(ws: Workspace, session_import: SessionImport, paths: list[str]) -> None:
    """MEMORY.md and the rows of the paths, which nobody else sees before it shows them."""
    with (
        Publication(ws, session_import.identity.agent_id) as publication,
        ws.index.upsert_in_transaction(_load_rows(ws, paths)),
    ):
        publication.publish()


def _load_rows(ws: Workspace, paths: list[str]) -> list[ArtifactRow]:
    return [found[0] for path in paths if (found := load_row(ws, path))]


def _is_manifest(path: str) -> bool:
    name = naming.parse_path(path)
    return name is not None and name.kind == naming.MANIFEST
