"""One session as it stands in the workspace: what both flows look at before they decide."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from lineage.core import naming, transcript
from lineage.core.documents import Artifact, Manifest
from lineage.core.job import Job
from lineage.core.planner import Intent
from lineage.core.request import COMPACTION, SESSION_END, Request
from lineage.core.sanitizer import Sanitizer
from lineage.core.turns import Watermark
from lineage.pipeline.building import summary_of
from lineage.pipeline.carrying_out import carry_out
from lineage.pipeline.house import House


@dataclass(frozen=True, slots=True)
class Session:
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
    def is_begun(self) -> bool:
        """Whether the session was claimed and then nothing of it was named: its first writer crashed."""
        return self.stem is not None and self.manifest is None


def exclusively(house: House, token: str) -> AbstractContextManager[None]:
    """The session's mutex, shared by about a thousand others. (format: a stem moves on under the session's lock)"""
    return house.canon.store.mutex(f"session-{token[:2]}")


def observed(house: House, token: str) -> Session:
    stem = house.canon.claims.stem_of(token)
    manifest = house.canon.manifests.get(stem) if stem else None
    return Session(token, stem, manifest, tuple(house.canon.spool.pending(token)))


def finish_interrupted(house: House, session: Session) -> list[Artifact]:
    """Finishes what a crash left behind: captures and compactions whose first artifact was written and whose job is
    still spooled, or that no manifest names. From the files and the spool alone, with the sentence that they hold.

    Gives back the artifacts, transcript or compaction, that needed it.
    """
    finished = []
    for flow, stem in _left_behind(session):
        kind = naming.COMPACTION if flow == COMPACTION else naming.TRANSCRIPT
        artifact = house.canon.artifacts.get(naming.artifact_path(stem, kind))
        if artifact and session.stem and carry_out(house, intent_of(artifact, session)):
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


def intent_of(artifact: Artifact, session: Session) -> Intent:
    """The intent that an artifact on disk belongs to: its compaction, or its capture with the summary made again."""
    stem = session.stem or artifact.stem
    if artifact.kind == naming.COMPACTION:
        return Intent(job_for(artifact, COMPACTION), stem, (artifact,))
    job = job_for(artifact, SESSION_END)
    spooled = next((known for known in session.jobs if known.name == job.name), job)
    narrative = Sanitizer().optional(spooled.payload.get("summary"))
    return Intent(spooled, stem, (artifact, summary_of(artifact, transcript.parsed(artifact.body), narrative)))


def job_of(request: Request, sentenced: tuple[str, str]) -> Job:
    """The job of a flow that is about to write: the payload as it came, the signal's time, the sentence."""
    return Job(
        flow=request.flow,
        token=request.token,
        captured_at=request.captured_at,
        sentence=sentenced[0],
        quality=sentenced[1],
        payload={**request.payload, "agent_id": request.identity.agent_id},
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
    """How far the session's newest capture reaches, None where it has none."""
    if not session.captures:
        return None
    newest = house.canon.artifacts.get(naming.artifact_path(session.captures[-1], naming.TRANSCRIPT))
    return Watermark.from_list(newest.watermark) if newest else None


def captured_ids(house: House, session: Session) -> list[str]:
    """The ids of all turns that the session's captures hold, oldest first."""
    ids: list[str] = []
    for stem in session.captures:
        artifact = house.canon.artifacts.get(naming.artifact_path(stem, naming.TRANSCRIPT))
        ids += transcript.turn_ids(artifact.body) if artifact else []
    return ids
