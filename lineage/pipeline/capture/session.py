"""One session as it stands in the workspace: what both flows look at before they decide."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from lineage.core import naming, transcript
from lineage.core.documents import Artifact, Manifest
from lineage.core.job import Job
from lineage.core.planner import Intent
from lineage.core.request import COMPACTION, SESSION_END, Request
from lineage.core.times import shifted
from lineage.core.turns import Watermark
from lineage.errors import IndexAway
from lineage.extract import digest
from lineage.pipeline.capture.building import summary_of
from lineage.pipeline.capture.carrying_out import carry_out
from lineage.pipeline.capture.source import Source
from lineage.pipeline.house import House
from lineage.store import together


class Session(NamedTuple):
    """`stem` is the claimed one, None for a session that nobody has written yet."""

    token: str
    stem: str | None
    manifest: Manifest | None
    jobs: tuple[Job, ...]

    @property
    def captures(self) -> list[str]:
        return self.manifest.captures if self.manifest else []

    @property
    def compactions(self) -> list[str]:
        return self.manifest.compactions if self.manifest else []

    @property
    def signals(self) -> list[Job]:
        """Ends that were signalled and aren't written yet. A job whose capture is there waits for the index alone."""
        ends = (job for job in self.jobs if job.flow == SESSION_END)
        return [job for job in ends if naming.stem(job.captured_at, self.token) not in self.captures]

    def is_private(self, request: Request) -> bool:
        """Whether the session is private: as its first capture was, whatever is asked for later; before there is one,
        as any signal of it says. (format: Captures)"""
        if self.manifest:
            return self.manifest.private
        return request.private or any(job.payload.get("private") is True for job in self.jobs)

    def privacy_note(self, request: Request) -> str | None:
        """What to tell somebody who asks for another privacy than the session has; None where nobody does."""
        asked = request.payload.get("private")
        if self.manifest is None or asked in (None, self.manifest.private):
            return None
        return f"it stays {'private' if asked is False else 'as it is, not private'}: the first capture decided"

    @property
    def is_begun(self) -> bool:
        """Whether the session was claimed, and neither a manifest nor a job tells by whom: its first writer crashed and
        the spool was lost."""
        return self.stem is not None and self.manifest is None and not self.jobs


def exclusively(house: House, token: str, *, wait: bool = True) -> AbstractContextManager[None]:
    """The session's mutex, shared by about a thousand others. (format: a stem moves on under the session's lock)

    Raises BusyError where somebody holds it and `wait` is False.
    """
    return house.canon.store.mutex(f"session-{token[:2]}", wait=wait)


@contextmanager
def taken_up(house: House, token: str, source: Source | None = None) -> Iterator[tuple[Session, Sequence[Artifact]]]:
    """A session under its mutex, what a crash left of it being finished, and which artifacts needed that. `source` is
    its end as it is signalled now, if it is. Raises RemovedError where it was removed."""
    with exclusively(house, token):
        house.canon.tombstones.refuse(token)
        session = observed(house, token)
        finished = finish_interrupted(house, session, source)
        yield (observed(house, token) if finished else session), finished


def observed(house: House, token: str) -> Session:
    stem = house.canon.claims.stem_of(token) or _unclaimed_stem(house, token)
    manifest = house.canon.manifests.get(stem) if stem else None
    return Session(token, stem, manifest, tuple(house.canon.spool.pending(token)))


def _unclaimed_stem(house: House, token: str) -> str | None:
    """The stem of a session whose claim was lost: its oldest manifest's. The index says where to look, no more; while
    it is away, every name is looked at."""
    try:
        paths = [path for path, kind in house.index.paths_of(token) if kind == naming.MANIFEST]
    except IndexAway:
        paths = [entry.key for entry in house.canon.store.list(naming.MEMORY) if token in entry.key]
    names = (name for path in paths if (name := naming.parse_path(path)) and name.kind == naming.MANIFEST)
    return next((name.stem for name in names if house.canon.manifests.get(name.stem)), None)


def finish_interrupted(house: House, session: Session, source: Source | None = None) -> list[Artifact]:
    """Finishes what a crash left behind: captures and compactions whose first artifact was written and whose job is
    still spooled, or that no manifest names. From the files and the spool alone, with the sentence that they hold;
    `source` is the session's end as it is signalled now, if it is.

    Gives back the artifacts, transcript or compaction, that needed it.
    """
    finished = []
    for flow, stem in _left_behind(session):
        kind = naming.COMPACTION if flow == COMPACTION else naming.TRANSCRIPT
        artifact = house.canon.artifacts.get(naming.artifact_path(stem, kind))
        if artifact and session.stem and carry_out(house, intent_of(house, artifact, session, source)).steps:
            finished.append(artifact)
    return finished


def _left_behind(session: Session) -> list[tuple[str, str]]:
    """(flow, stem) of what may be unfinished: every spooled job, and the claimed stem where the manifest lacks it."""
    found = [(job.flow, naming.stem(job.captured_at, session.token)) for job in session.jobs]
    if session.stem and session.stem not in session.captures:
        found.append((SESSION_END, session.stem))
    if session.stem and session.stem not in session.compactions:
        found.append((COMPACTION, session.stem))
    return list(dict.fromkeys(found))


def intent_of(house: House, artifact: Artifact, session: Session, source: Source | None = None) -> Intent:
    """The intent that an artifact on disk belongs to: its compaction, or its capture with the summary made again."""
    stem = session.stem or artifact.stem
    if artifact.kind == naming.COMPACTION:
        return Intent(job_for(artifact, COMPACTION), stem, (artifact,))
    made = job_for(artifact, SESSION_END)
    job = next((known for known in session.jobs if known.name == made.name), None)
    narrative = house.sanitizer().optional(job.payload.get("summary")) if job else _narrative(artifact, source)
    return Intent(
        job or made, stem, (artifact, summary_of(artifact, digest(transcript.parsed(artifact.body)), narrative))
    )


def _narrative(artifact: Artifact, source: Source | None) -> str | None:
    """The summary that comes with a signal, where it is the end of this very capture that is signalled again."""
    is_same = source is not None and source.turns and source.turns[-1].id == artifact.watermark[1]
    return source.summary if source and is_same else None


def intent_at(
    house: House,
    session: Session,
    request: Request,
    sentenced: tuple[str, str],
    build: Callable[[Request, str], tuple[Artifact, ...]],
) -> Intent:
    """The intent to write what `build` makes of the request and the claimed stem, at the first millisecond from the
    request's time whose paths are free, or hold this very content already. (format: Times)

    The session's privacy is that of its creation, whatever the request says.
    """
    request = request._replace(private=session.is_private(request))
    while True:
        stem = session.stem or naming.stem(request.captured_at, request.token)
        artifacts = build(request, stem)
        held = together(house.canon.store, house.canon.artifacts.holds, artifacts)
        if False not in held:
            is_first = session.stem is None and not any(held)
            return Intent(job_of(request, sentenced), stem, artifacts, is_first)
        request = request._replace(captured_at=shifted(request.captured_at, milliseconds=1))


def job_of(request: Request, sentenced: tuple[str, str]) -> Job:
    """The job of a flow that is about to write: the payload as it came, the signal's time, the sentence."""
    return Job(
        flow=request.flow,
        token=request.token,
        captured_at=request.captured_at,
        sentence=sentenced[0],
        quality=sentenced[1],
        payload={**request.payload, "agent_id": request.identity.agent_id, "summary": request.summary},
    )


def job_for(artifact: Artifact, flow: str) -> Job:
    """A job that stands for an artifact whose own one is gone."""
    return Job(
        flow=flow,
        token=artifact.identity.token,
        captured_at=artifact.captured_at,
        sentence=artifact.memory_sentence,
        quality=artifact.memory_sentence_quality,
        payload={},
    )


def watermark(house: House, session: Session) -> Watermark | None:
    """How far the session's newest capture reaches whose transcript is there, None where there is none."""
    paths = (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in reversed(session.captures))
    newest = next(filter(None, map(house.canon.artifacts.get, paths)), None)
    return Watermark.from_list(newest.watermark) if newest else None


def captured_ids(house: House, session: Session) -> list[str]:
    """The ids of the session's turns as its captures tell them: a capture replaces all from its first turn on."""
    ids: list[str] = []
    for stem in session.captures:
        artifact = house.canon.artifacts.get(naming.artifact_path(stem, naming.TRANSCRIPT))
        turns = [(turn.number, turn.id) for turn in transcript.turns_in(artifact.body)] if artifact else []
        if turns:
            ids[turns[0][0] - 1 :] = [known for _, known in turns]
    return ids
