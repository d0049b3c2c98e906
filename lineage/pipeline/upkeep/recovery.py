"""Recovery: what is unfinished is finished, from files alone. (spec: partial-failure states)

A second run changes nothing. No second sentence is ever made: the spool and the artifacts hold the first.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from lineage.core import naming
from lineage.core.documents import Artifact, Manifest
from lineage.core.job import Job
from lineage.core.request import COMPACTION, Request, request
from lineage.errors import EngineMissing, FormatError, LineageError
from lineage.pipeline.archive.archiving import ARCHIVING, finish_archiving
from lineage.pipeline.behind import away
from lineage.pipeline.bundles.bundling import finish_import
from lineage.pipeline.bundles.unspooling import IMPORT
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.carrying_out import carry_out
from lineage.pipeline.capture.compaction import compaction
from lineage.pipeline.capture.session import Session
from lineage.pipeline.capture.session_end import session_end
from lineage.pipeline.house import House, Outcome
from lineage.pipeline.reading import readable_at
from lineage.pipeline.upkeep.reindexing import Report, reindex
from lineage.pipeline.upkeep.removal import REMOVAL, finish_removal
from lineage.pipeline.upkeep.resanitizing import RESANITIZE, finish_resanitizing
from lineage.store import BusyError

UNSENTENCED = ("", "")
"""The sentence of a job that nobody has looked into yet."""

_WITHOUT_ENGINE = "run `pip install google-re2`, then `lineage recover`"


@dataclass(slots=True)
class Recovered:
    """What a recovery finished: artifacts by path; `waiting` are jobs whose source cannot be read, with the reason;
    `collected` counts files that dead writers left behind."""

    finished: list[str] = field(default_factory=list)
    removals: list[str] = field(default_factory=list)
    resanitized: list[str] = field(default_factory=list)
    waiting: list[tuple[str, str]] = field(default_factory=list)
    collected: int = 0
    merged: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)


def recover(house: House) -> Recovered:
    """Finishes everything: spooled jobs, artifacts that no manifest names, second manifests that a sync brought, lost
    claims, rows and MEMORY.md. It works after every database was deleted."""
    done = Recovered(collected=house.canon.store.tidy())
    resume(house, done, wait=True)
    for token, names in _by_token(house):
        # what a damaged file keeps from being finished waits for it; the reindex reports the file
        with sessions.exclusively(house, token), contextlib.suppress(FormatError):
            _finish_session(house, token, names, done)
    done.report = reindex(house, confirmed=True)
    return done


def run(house: House, asked: Request) -> Outcome:
    """One of the spec's two flows as commands run it: first what others left unfinished, then what is asked.

    Where the redaction engine is missing nothing is captured and nothing is lost: what was asked waits in the spool.
    """
    try:
        resume(house, spare=asked.token)
        return _flow(house, asked)
    except EngineMissing as error:
        house.canon.spool.put(sessions.job_of(asked, UNSENTENCED))
        raise EngineMissing(f"{error.message}; the session waits in the spool", hint=_WITHOUT_ENGINE) from error


def resume(house: House, done: Recovered | None = None, *, wait: bool = False, spare: str | None = None) -> Recovered:
    """Finishes what the spool says is unfinished: cheap where it is empty. Sessions that somebody works on right now
    are left to them, unless `wait` says otherwise; so is the session whose token is `spare`. While the index is away,
    all of it waits."""
    done = done or Recovered()
    pending = house.canon.spool.pending()
    unreachable = away(house) if pending else None
    if unreachable:
        done.waiting += [(job.name, unreachable.message) for job in pending]
        return done
    for job in pending:
        if job.token == spare and job.flow not in (REMOVAL, RESANITIZE, IMPORT):
            continue
        try:
            with sessions.exclusively(house, job.token, wait=wait):
                _finish_job(house, job, done)
            _replay(house, job, done)
        except BusyError:
            continue
        except FormatError as error:
            done.waiting.append((job.name, error.message))
    return done


def _finish_job(house: House, job: Job, done: Recovered) -> None:
    """What a job has written already is completed from the files."""
    if job.flow == REMOVAL:
        finish_removal(house, job)
        done.removals.append(job.token)
        return
    if job.flow == IMPORT:
        done.finished += finish_import(house, job)
        return
    if job.flow == ARCHIVING:
        finish_archiving(house, job)
        return
    if house.canon.tombstones.has(job.token):
        house.canon.spool.clear(job)
        return
    if job.flow == RESANITIZE:
        finish_resanitizing(house, job)
        done.resanitized.append(job.token)
        return
    session = sessions.observed(house, job.token)
    done.finished += [artifact.path for artifact in sessions.finish_interrupted(house, session)]


def _replay(house: House, job: Job, done: Recovered) -> None:
    """A job that had written nothing yet is run again from its payload. Where its source is gone, it waits."""
    if job.name not in {known.name for known in house.canon.spool.pending(job.token)}:
        return
    try:
        asked = request(job.flow, job.payload, agent_id=None, now=job.captured_at)
        outcome = _flow(house, asked)
    except LineageError as error:
        done.waiting.append((job.name, error.message))
        return
    done.finished += [path for path in (outcome.transcript_path, outcome.compaction_path) if path]


def _flow(house: House, asked: Request) -> Outcome:
    return compaction(house, asked) if asked.flow == COMPACTION else session_end(house, asked)


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
