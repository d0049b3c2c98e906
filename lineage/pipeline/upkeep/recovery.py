"""Recovery: what is unfinished is finished, from files alone. (spec: partial-failure states)

A second run changes nothing. No second sentence is ever made: the spool and the artifacts hold the first.
"""

import contextlib
from collections.abc import Iterable
from itertools import groupby

from lineage.core import naming
from lineage.core.documents import Artifact, Manifest
from lineage.errors import FormatError
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.carrying_out import carry_out
from lineage.pipeline.capture.session import Session
from lineage.pipeline.house import House
from lineage.pipeline.reading import readable_at
from lineage.pipeline.upkeep.reindexing import Report, reindex
from lineage.pipeline.upkeep.resuming import Resumed, resume


class Recovered(Resumed):
    """What a recovery did besides: `collected` counts files that dead writers left behind, `merged` are sessions whose
    second manifest a sync had brought."""

    def __init__(self, collected: int) -> None:
        super().__init__()
        self.collected = collected
        self.merged: list[str] = []
        self.report = Report()


def recover(house: House) -> Recovered:
    """Finishes everything: spooled jobs, artifacts that no manifest names, second manifests that a sync brought, lost
    claims, rows and MEMORY.md. It works after every database was deleted."""
    done = Recovered(house.canon.store.tidy())
    resume(house, done, wait=True)
    for token, names in _by_token(house):
        # what a damaged file keeps from being finished waits for it; the reindex reports the file
        with sessions.exclusively(house, token), contextlib.suppress(FormatError):
            _finish_session(house, token, names, done)
    done.report = reindex(house, confirmed=True)
    return done


def _by_token(house: House) -> Iterable[tuple[str, list[naming.Name]]]:
    """The files of each session that was not removed, by token."""
    removed = house.canon.tombstones.tokens()
    parsed = (naming.parse_path(entry.key) for entry in house.canon.store.list(naming.MEMORY))
    names = sorted(
        (name for name in parsed if name and name.token not in removed), key=lambda n: (n.token, n.stem, n.kind)
    )
    return [(token, list(group)) for token, group in groupby(names, key=lambda name: name.token)]


def _finish_session(house: House, token: str, names: list[naming.Name], done: Recovered) -> None:
    """Claims the session, merges a second manifest, and names what no manifest names."""
    session = _claimed(house, token, names)
    if session.stem is None:
        return
    for name in names:
        if name.kind == naming.MANIFEST and name.stem != session.stem and _merged(house, session.stem, name.stem):
            done.merged.append(naming.artifact_path(name.stem, naming.MANIFEST))
    session = sessions.observed(house, token)
    named = {naming.TRANSCRIPT: session.captures, naming.COMPACTION: session.compactions}
    summaries = {name.stem for name in names if name.kind == naming.SUMMARY}
    for name in names:
        if name.kind in named and (name.stem not in named[name.kind] or _lacks_summary(name, summaries)):
            artifact = readable_at(house, naming.artifact_path(name.stem, name.kind))
            if isinstance(artifact, Artifact) and carry_out(house, sessions.intent_of(house, artifact, session)).steps:
                done.finished.append(artifact.path)


def _lacks_summary(name: naming.Name, summaries: set[str]) -> bool:
    return name.kind == naming.TRANSCRIPT and name.stem not in summaries


def _claimed(house: House, token: str, names: list[naming.Name]) -> Session:
    """The session with its claim: a lost or damaged one is made again, from the oldest manifest or from what an
    artifact says; one that names a younger manifest than the oldest moves to that."""
    claimed = _stem_claimed(house, token)
    oldest_first = sorted(names, key=lambda name: (name.kind != naming.MANIFEST, name.stem))
    documents = (readable_at(house, naming.artifact_path(name.stem, name.kind)) for name in oldest_first)
    oldest = next((document for document in documents if document), None)
    if oldest and (claimed is None or (isinstance(oldest, Manifest) and oldest.stem < claimed)):
        said = naming.parse_path(oldest.manifest_path) if isinstance(oldest, Artifact) else None
        house.canon.claims.move(oldest.identity, said.stem if said else oldest.stem)
    return sessions.observed(house, token)


def _stem_claimed(house: House, token: str) -> str | None:
    with contextlib.suppress(FormatError):
        return house.canon.claims.stem_of(token)
    return None


def _merged(house: House, stem: str, other: str) -> bool:
    """The claimed manifest takes over the captures of another one, which is retired. (format: Identity)"""
    manifest = house.canon.manifests.get(other)
    if manifest is None or not (manifest.captures or manifest.compactions):
        return False
    captures = [naming.artifact_path(captured, naming.TRANSCRIPT) for captured in manifest.captures]
    compactions = [naming.artifact_path(compacted, naming.COMPACTION) for compacted in manifest.compactions]
    for path in captures + compactions:
        artifact = readable_at(house, path)
        if isinstance(artifact, Artifact):
            house.canon.manifests.link(stem, (artifact,), house.new_id(), house.now)
    house.canon.manifests.retire(other, stem, house.new_id(), house.now)
    return True
