"""One session as it stands in the workspace: what both flows look at before they decide."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.capture.planner import Intent
from lineage.core.capture.request import COMPACTION, SESSION_END, Request
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.format.job import Job
from lineage.core.format.turns import Watermark
from lineage.extraction.digests import build_digest
from lineage.pipeline.capture.apply import apply_plan
from lineage.pipeline.capture.artifacts import build_summary
from lineage.pipeline.capture.source import SessionSource
from lineage.store import map_concurrently
from lineage.workspace.stale_index import tolerate_outage
from lineage.workspace.workspace import Workspace


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
    def pending_ends(self) -> list[Job]:
        """Ends that were signalled and aren't written yet. A job whose capture is there waits for the index alone."""
        ends = (job for job in self.jobs if job.flow == SESSION_END)
        return [job for job in ends if naming.build_stem(job.captured_at, self.token) not in self.captures]

    def is_private(self, request: Request) -> bool:
        """Whether the session is private: as its first capture was, whatever is asked for later; before there is one,
        as any signal of it says. (format: Captures)"""
        if self.manifest:
            return self.manifest.private
        return request.private or any(job.payload.get("private") is True for job in self.jobs)

    def explain_privacy(self, request: Request) -> str | None:
        """What to tell somebody who asks for another privacy than the session has; None where nobody does."""
        asked = request.payload.get("private")
        if self.manifest is None or asked in (None, self.manifest.private):
            return None
        return f"it stays {'private' if asked is False else 'as it is, not private'}: the first capture decided"

    @property
    def is_claimed_only(self) -> bool:
        """Whether the session was claimed, and neither a manifest nor a job tells by whom: its first writer crashed and
        the spool was lost."""
        return self.stem is not None and self.manifest is None and not self.jobs


@contextmanager
def session_lock(ws: Workspace, token: str, *, wait: bool = True) -> Iterator[None]:
    """Hold the session's lock, shared by about a thousand others. (format: a stem moves on under the session's lock)

    Raises BusyError if somebody holds it and `wait` is False.
    """
    with ws.documents.store.lock(f"session-{token[:2]}", wait=wait):
        # an artifact that another process archived before must not be written again beside its bundle
        ws.documents.notice_archive()
        yield


@contextmanager
def locked_session(
    ws: Workspace, token: str, source: SessionSource | None = None
) -> Iterator[tuple[Session, Sequence[Artifact]]]:
    """A session under its mutex, what a crash left of it being finished, and which artifacts needed that. `source` is
    its end as it is signalled now, if it is. Raises RemovedError where it was removed."""
    with session_lock(ws, token):
        ws.documents.tombstones.raise_if_removed(token)
        session = load_session(ws, token)
        finished = finish_interrupted(ws, session, source)
        yield (load_session(ws, token) if finished else session), finished


def load_session(ws: Workspace, token: str) -> Session:
    stem = ws.documents.claims.get_stem(token) or _find_unclaimed_stem(ws, token)
    manifest = ws.documents.manifests.get(stem) if stem else None
    return Session(token, stem, manifest, tuple(ws.documents.spool.list_pending(token)))


def _find_unclaimed_stem(ws: Workspace, token: str) -> str | None:
    """The stem of a session whose claim was lost: its oldest manifest's. The index says where to look, no more; while
    it is away, every name is looked at."""
    with tolerate_outage(ws) as outage:
        paths = [path for path, kind in ws.index.list_session_files(token) if kind == naming.MANIFEST]
    if outage.reason:
        paths = [entry.key for entry in ws.documents.store.list(naming.MEMORY) if token in entry.key]
    names = (name for path in paths if (name := naming.parse_path(path)) and name.kind == naming.MANIFEST)
    return next((name.stem for name in names if ws.documents.manifests.get(name.stem)), None)


def finish_interrupted(ws: Workspace, session: Session, source: SessionSource | None = None) -> list[Artifact]:
    """Finishes what a crash left behind: captures and compactions whose first artifact was written and whose job is
    still spooled, or that no manifest names. From the files and the spool alone, with the sentence that they hold;
    `source` is the session's end as it is signalled now, if it is.

    Gives back the artifacts, transcript or compaction, that needed it.
    """
    finished = []
    for flow, stem in _list_unfinished(session):
        kind = naming.COMPACTION if flow == COMPACTION else naming.TRANSCRIPT
        artifact = ws.documents.artifacts.get(naming.artifact_path(stem, kind))
        if artifact and session.stem and apply_plan(ws, rebuild_intent(ws, artifact, session, source)).steps:
            finished.append(artifact)
    return finished


def _list_unfinished(session: Session) -> list[tuple[str, str]]:
    """(flow, stem) of what may be unfinished: every spooled job, and the claimed stem where the manifest lacks it."""
    found = [(job.flow, naming.build_stem(job.captured_at, session.token)) for job in session.jobs]
    if session.stem and session.stem not in session.captures:
        found.append((SESSION_END, session.stem))
    if session.stem and session.stem not in session.compactions:
        found.append((COMPACTION, session.stem))
    return list(dict.fromkeys(found))


def rebuild_intent(ws: Workspace, artifact: Artifact, session: Session, source: SessionSource | None = None) -> Intent:
    """The intent that an artifact on disk belongs to: its compaction, or its capture with the summary made again."""
    stem = session.stem or artifact.stem
    if artifact.kind == naming.COMPACTION:
        return Intent(rebuild_job(artifact, COMPACTION), stem, (artifact,))
    made = rebuild_job(artifact, SESSION_END)
    job = next((known for known in session.jobs if known.name == made.name), None)
    narrative = (
        ws.build_sanitizer().sanitize_optional(job.payload.get("summary")) if job else _find_narrative(artifact, source)
    )
    return Intent(
        job or made,
        stem,
        (artifact, build_summary(artifact, build_digest(transcript.parse_turns(artifact.body)), narrative)),
    )


def _find_narrative(artifact: Artifact, source: SessionSource | None) -> str | None:
    """The summary that comes with a signal, where it is the end of this very capture that is signalled again."""
    is_same = source is not None and source.turns and source.turns[-1].id == artifact.watermark[1]
    return source.summary if source and is_same else None


def build_intent(
    ws: Workspace,
    session: Session,
    request: Request,
    sentence_and_quality: tuple[str, str],
    build: Callable[[Request, str], tuple[Artifact, ...]],
) -> Intent:
    """The intent to write what `build` makes of the request and the claimed stem, at the first millisecond from the
    request's time whose paths are free, or hold this very content already. (format: Times)

    The session's privacy is that of its creation, whatever the request says.
    """
    request = request._replace(private=session.is_private(request))
    while True:
        stem = session.stem or naming.build_stem(request.captured_at, request.token)
        artifacts = build(request, stem)
        held = map_concurrently(ws.documents.store, ws.documents.artifacts.has_content, artifacts)
        if False not in held:
            is_first = session.stem is None and not any(held)
            return Intent(build_job(request, sentence_and_quality), stem, artifacts, is_first)
        request = request._replace(captured_at=shift_time(request.captured_at, milliseconds=1))


def build_job(request: Request, sentence_and_quality: tuple[str, str]) -> Job:
    """The job of a flow that is about to write: the payload as it came, the signal's time, the sentence."""
    return Job(
        flow=request.flow,
        token=request.token,
        captured_at=request.captured_at,
        sentence=sentence_and_quality[0],
        quality=sentence_and_quality[1],
        payload={**request.payload, "agent_id": request.identity.agent_id, "summary": request.summary},
    )


def rebuild_job(artifact: Artifact, flow: str) -> Job:
    """A job that stands for an artifact whose own one is gone."""
    return Job(
        flow=flow,
        token=artifact.identity.token,
        captured_at=artifact.captured_at,
        sentence=artifact.memory_sentence,
        quality=artifact.memory_sentence_quality,
        payload={},
    )


def find_watermark(ws: Workspace, session: Session) -> Watermark | None:
    """How far the session's newest capture reaches whose transcript is there, None where there is none."""
    paths = (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in reversed(session.captures))
    newest = next(filter(None, map(ws.documents.artifacts.get, paths)), None)
    return Watermark.from_list(newest.watermark) if newest else None


def list_captured_turn_ids(ws: Workspace, session: Session) -> list[str]:
    """The ids of the session's turns as its captures tell them: a capture replaces all from its first turn on."""
    ids: list[str] = []
    for stem in session.captures:
        artifact = ws.documents.artifacts.get(naming.artifact_path(stem, naming.TRANSCRIPT))
        turns = [(turn.number, turn.id) for turn in transcript.iter_turns(artifact.body)] if artifact else []
        if turns:
            ids[turns[0][0] - 1 :] = [known for _, known in turns]
    return ids
