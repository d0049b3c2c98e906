"""The journal of a session's import: from the spool's job into the workspace, or back out of it.

The job holds all that is to be written. So a run that died anywhere is finished by `recover` or the next command, and
one whose writing failed is undone: of either, no half is left.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lineage.core import naming
from lineage.core.bundle import refs_of
from lineage.core.documents import Artifact, Manifest, parsed_as, serialized
from lineage.core.documents import claim as claim_of
from lineage.core.identity import Identity
from lineage.core.job import IMPORT, Job
from lineage.errors import FormatError
from lineage.index import Row
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.publishing import Publication
from lineage.pipeline.reading import row_at
from lineage.store import ConflictError, ExistsError, commit, read_or_none


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundling:
    """A session as it is to be written: `files` are all of its paths, `made` those that were free before, its claim
    among them. `came_from` are the tokens that it had elsewhere."""

    identity: Identity
    stem: str
    private: bool
    came_from: tuple[str, ...]
    files: Mapping[str, bytes]
    made: tuple[str, ...]

    def job(self, now: str, digest: str) -> Job:
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
            "made": list(self.made),
        }
        return Job(flow=IMPORT, token=self.identity.token, captured_at=now, sentence="", quality="", payload=payload)

    @staticmethod
    def of(job: Job) -> "Bundling":
        """What a job carries. Raises FormatError where it is damaged."""
        try:
            said = job.payload
            return Bundling(
                identity=Identity(said["agent_id"], said["session_id"], said["session_key"]),
                stem=said["stem"],
                private=said["private"],
                came_from=tuple(said["came_from"]),
                files={path: text.encode("utf-8", "surrogateescape") for path, text in said["files"].items()},
                made=tuple(said["made"]),
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


def buried(house: House) -> frozenset[str]:
    """Every token of a session that was removed here, those too that it had before it came here in a bundle, unless
    the session that it was a copy of lives here still."""
    tombstones, copied = house.canon.tombstones, set[str]()
    tokens = tombstones.tokens()
    for token in tokens:
        with contextlib.suppress(FormatError):  # a damaged tombstone still buries its own
            tombstone = tombstones.get(token)
            copied.update(tombstone.imported_from if tombstone else ())
    return tokens | {token for token in copied if not house.canon.claims.has(token)}


def finish_session(house: House, job: Job) -> None:
    """Writes what the job holds and isn't there yet, and clears it. A session that was removed meanwhile, under this
    token or one that it had, is taken out again. The caller holds the session's mutex.

    Raises ConflictError and ImmutableError where somebody else wrote the session in the meantime.
    """
    bundling = Bundling.of(job)
    if not buried(house).isdisjoint((job.token, *bundling.came_from)):
        undo(house, job)
        return
    if house.canon.claims.claim(bundling.identity, bundling.stem) != bundling.stem:
        raise ConflictError("the session was claimed by another writer in the meantime")
    artifacts = [path for path in bundling.documents if not _is_manifest(path)]
    for path in artifacts:
        commit(house.canon.store, path, bundling.files[path])
    _name(house, bundling)
    for path, data in bundling.books.items():
        with contextlib.suppress(ExistsError):  # whoever wrote a book meanwhile has edited it
            house.canon.store.create(path, data)
    shelve(house, refs_of(bundling.books))
    _project(house, bundling, list(bundling.documents))
    house.canon.spool.clear(job)


def undo(house: House, job: Job) -> None:
    """Takes out what an import wrote, and clears its job. What lay there before, or was changed since, stays."""
    bundling = Bundling.of(job)
    gone = [path for path in (*bundling.books, *reversed(bundling.documents)) if path in bundling.made]
    for path in gone:
        blob = read_or_none(house.canon.store, path)
        if blob and blob.data == bundling.files[path]:
            house.canon.store.delete(path)
    _unclaim(house, bundling)
    house.index.remove(path for path in gone if path.startswith(naming.MEMORY))
    shelve(house, refs_of(bundling.books))
    _project(house, bundling, [])
    house.canon.spool.clear(job)


def _unclaim(house: House, bundling: Bundling) -> None:
    """Gives the session's claim back, unless it is somebody else's by now."""
    claim = claim_of(bundling.identity, bundling.stem)
    blob = read_or_none(house.canon.store, claim.path)
    if claim.path in bundling.made and blob and blob.data == serialized(claim):
        house.canon.store.delete(claim.path)


def _name(house: House, bundling: Bundling) -> None:
    """The manifest as it came; one that somebody wrote meanwhile takes up the captures that it lacks."""
    (path,) = (path for path in bundling.documents if _is_manifest(path))
    with contextlib.suppress(ExistsError):
        house.canon.store.create(path, bundling.files[path])
        return
    manifest = parsed_as(Manifest, bundling.files[path], path)
    for named in _captured(manifest):
        artifact = parsed_as(Artifact, bundling.files[named], named)
        house.canon.manifests.link(bundling.stem, (artifact,), house.new_id(), house.now)


def _captured(manifest: Manifest) -> Iterator[str]:
    """The transcript of every capture, and every compaction."""
    yield from (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in manifest.captures)
    yield from (naming.artifact_path(stem, naming.COMPACTION) for stem in manifest.compactions)


def _project(house: House, bundling: Bundling, paths: list[str]) -> None:
    """MEMORY.md and the rows of the paths, which nobody else sees before it shows them."""
    with Publication(house, bundling.identity.agent_id) as publication, house.index.staged(_rows(house, paths)):
        publication.publish()


def _rows(house: House, paths: list[str]) -> list[Row]:
    return [found[0] for path in paths if (found := row_at(house, path))]


def _is_manifest(path: str) -> bool:
    name = naming.parse_path(path)
    return name is not None and name.kind == naming.MANIFEST
