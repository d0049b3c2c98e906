"""One session as it stands in the workspace, its lock, the repair of an interrupted capture, and a flow's result."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.capture.ledger import find_parent
from lineage.core.capture.planner import Intent
from lineage.core.capture.request import COMPACTION, SESSION_END, Request
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest, Tombstone, serialize_or_stream
from lineage.core.format.job import Job
from lineage.errors import FormatError
from lineage.extraction.digests import build_digest
from lineage.pipeline.capture.apply import apply_plan
from lineage.pipeline.capture.artifacts import build_summary
from lineage.pipeline.capture.source import SessionSource
from lineage.pipeline.memory.workspace_evidence import gather_artifact_evidence
from lineage.store import compute_sha256, iter_chunks, map_concurrently
from lineage.workspace.workspace import Workspace, tolerate_outage

CAPTURED = "captured"
UNCHANGED = "unchanged"
REFUSED = "refused"

EMPTY = "empty"
NOTHING_NEW = "nothing new"
REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureResult:
    """The result of `session-end` and `compaction`; the field names are the JSON keys (format: Commands).

    Paths are relative to the workspace. `compactions` counts those that the transcript records; `learned` counts the
    entries that went into books.
    """

    status: str
    session_token: str
    reason: str | None = None
    manifest_path: str | None = None
    transcript_path: str | None = None
    summary_path: str | None = None
    compaction_path: str | None = None
    captured_at: str | None = None
    memory_sentence: str | None = None
    memory_sentence_quality: str | None = None
    turns: int = 0
    compactions: int = 0
    redactions: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    learned: Mapping[str, Any] = field(default_factory=lambda: {"dropped": {}, "kept": 0, "pending": 0})

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object, its maps sorted by key."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: dict(sorted(v.items())) if isinstance(v, Mapping) else v for name, v in values.items()}


def build_result(intent: Intent, source: SessionSource, **details: Any) -> CaptureResult:
    """Return the result of an intent that was made true; `details` are the fields that differ by flow."""
    first = intent.artifacts[0]
    return CaptureResult(
        status=CAPTURED,
        session_token=intent.job.token,
        manifest_path=first.manifest_path,
        captured_at=first.captured_at,
        memory_sentence=first.memory_sentence,
        memory_sentence_quality=first.memory_sentence_quality,
        redactions=source.redactions,
        skipped=source.skipped,
        **details,
    )


def refuse_removed(session_token: str) -> CaptureResult:
    """Return the result for a removed session: nothing of it may be written again."""
    return CaptureResult(status=REFUSED, session_token=session_token, reason=REMOVED)


def join_notes(*notes: str | None) -> str | None:
    """Return the notes as one reason, None without any."""
    return "; ".join(filter(None, notes)) or None


@dataclass(frozen=True, slots=True)
class Session:
    """A session's files and jobs, and a sub-agent's parent. `stem` is the claimed one, None before the first write."""

    token: str
    stem: str | None
    manifest: Manifest | None
    jobs: tuple[Job, ...]
    parent: "Session | None" = None

    @property
    def captures(self) -> list[str]:
        """Return the stems of the captures, oldest first."""
        return self.manifest.captures if self.manifest else []

    @property
    def compactions(self) -> list[str]:
        """Return the stems of the compactions, oldest first."""
        return self.manifest.compactions if self.manifest else []

    @property
    def pending_ends(self) -> list[Job]:
        """Return the jobs of signaled ends without a capture. A job whose capture exists waits for the index only."""
        ends = (job for job in self.jobs if job.flow == SESSION_END)
        return [job for job in ends if naming.build_stem(job.captured_at, self.token) not in self.captures]

    @property
    def is_claimed_only(self) -> bool:
        """Return whether only a claim exists: the first writer crashed and the spool was lost."""
        return self.stem is not None and self.manifest is None and not self.jobs

    def is_private(self, request: Request | None = None) -> bool:
        """Return whether the session is private: its first capture decides, before it any signal (format: Captures).

        A private session's sub-agents are private.
        """
        if self.parent and self.parent.is_private():
            return True
        if self.manifest:
            return self.manifest.private
        asked = request is not None and request.private
        return asked or any(job.payload.get("private") is True for job in self.jobs)

    def explain_privacy(self, request: Request) -> str | None:
        """Return a note if the request asks for another privacy than the session has."""
        asked = request.payload.get("private")
        if self.manifest is None or asked in (None, self.manifest.private):
            return None
        return f"it stays {'private' if asked is False else 'as it is, not private'}: the first capture decided"


@contextmanager
def session_lock(ws: Workspace, *tokens: str | None, wait: bool = True) -> Iterator[None]:
    """Hold the sessions' locks, each shared by about a thousand others (format: a stem moves on under the lock).

    Raise BusyError if one is taken and `wait` is False.
    """
    with ExitStack() as stack:
        for prefix in sorted({token[:2] for token in tokens if token}):  # in one order: nobody waits in a circle
            stack.enter_context(ws.documents.store.lock(f"session-{prefix}", wait=wait))
        # an artifact that another process archived before must not be written again beside its bundle
        ws.documents.notice_archive()
        yield


@contextmanager
def locked_session(
    ws: Workspace, token: str, source: SessionSource, *, is_end: bool
) -> Iterator[tuple[Session, Sequence[Artifact]]]:
    """Lock a session, finish its interrupted captures, and yield it with the artifacts that needed that.

    `source` is the session as read, `is_end` if its end is signaled now. With a sub-agent its parent is locked, so that
    a removal finds all that it has to remove. Raise RemovedError if one of them was removed.
    """
    parent = source.parent_token
    with session_lock(ws, token, parent):
        for name in filter(None, (token, parent)):  # asked again: it may have been removed while a model thought
            ws.documents.tombstones.raise_if_removed(name)
        session = load_session(ws, token, parent)
        finished = finish_interrupted(ws, session, source if is_end else None)
        yield (load_session(ws, token, parent) if finished else session), finished


def load_session(ws: Workspace, token: str, parent: str | None = None) -> Session:
    """Return the session as its claim, manifest and jobs describe it; `parent` is the token of a sub-agent's parent."""
    jobs = tuple(ws.documents.spool.list_pending(token))
    stem = ws.documents.claims.get_stem(token) or _find_unclaimed_stem(ws, token) or _find_begun_stem(ws, jobs)
    manifest = ws.documents.manifests.get(stem) if stem else None
    return Session(token, stem, manifest, jobs, load_session(ws, parent) if parent else None)


def is_parent_removed(ws: Workspace, request: Request, source: SessionSource) -> bool:
    """Return whether a sub-agent's parent was removed: then the sub-agent is buried too, for those that it started."""
    tombstones, token = ws.documents.tombstones, request.token
    if not (source.parent_token and tombstones.has(source.parent_token)):
        return False
    tombstones.put(
        Tombstone(
            kind="tombstone",
            agent_id=request.identity.agent_id,
            session_token=token,
            removed_at=ws.now,
            reason="its parent was removed",
            removed_paths=[],
            removed_turns=[],
            was_private=_was_private(ws, source.parent_token),
        )
    )
    ws.documents.spool.discard(token)
    return True


def follow_parent(ws: Workspace, source: SessionSource) -> SessionSource:
    """Return a sub-agent's source with its parent's project, if that is known: its lessons belong there."""
    manifest = load_session(ws, source.parent_token).manifest if source.parent_token else None
    if manifest is None or manifest.project is None:
        return source
    subfolder = source.subfolder if source.project == manifest.project else ""
    return replace(source, project=manifest.project, repository=manifest.repository, subfolder=subfolder)


def hide_checkpoint(ws: Workspace, artifact: Artifact) -> None:
    """Delete a private session's checkpoint, and the prepared contexts that may tell its last messages."""
    if artifact.private and ws.documents.checkpoints.discard(artifact.identity.token):
        ws.documents.context_cache.clear()


def follow_origin(ws: Workspace, request: Request, source: SessionSource) -> tuple[Request, SessionSource]:
    """Return request and source of a session with what it has of another: a fork is as private as what it goes on from.

    A sub-agent has its parent's project, see `follow_parent`.
    """
    if goes_on_from_private(ws, request.identity.agent_id, source.forked_from):
        request = replace(request, private=True)
    return request, follow_parent(ws, source)


def goes_on_from_private(ws: Workspace, agent_id: str, forked_from: str | None) -> bool:
    """Return whether a session is the fork of a private one, which may be removed by now."""
    if not forked_from:
        return False
    return _was_private(ws, naming.derive_session_token(agent_id, forked_from))


def is_private(ws: Workspace, token: str) -> bool:
    """Return whether nothing of a session may leave it. In doubt it may not."""
    try:
        return load_session(ws, token).is_private()
    except FormatError:
        return True


def _was_private(ws: Workspace, token: str) -> bool:
    """Return whether a session is private, or was before it was removed. In doubt it is."""
    try:
        tombstone = ws.documents.tombstones.get(token)
    except FormatError:
        return True
    return (tombstone is not None and tombstone.was_private) or is_private(ws, token)


def _find_unclaimed_stem(ws: Workspace, token: str) -> str | None:
    """Return the stem of a session without its claim: its oldest manifest's."""
    # The index is a hint only: each manifest is read before it counts. During an outage every name is a candidate.
    with tolerate_outage(ws) as outage:
        paths = [path for path, kind in ws.index.list_session_files(token) if kind == naming.MANIFEST]
    if outage.reason:
        paths = [entry.key for entry in ws.documents.store.list(naming.MEMORY) if token in entry.key]
    names = (name for path in paths if (name := naming.parse_path(path)) and name.kind == naming.MANIFEST)
    return next((name.stem for name in names if ws.documents.manifests.get(name.stem)), None)


def _find_begun_stem(ws: Workspace, jobs: Iterable[Job]) -> str | None:
    """Return the stem that a capture without claim and manifest, of which a crash left the first file, was made for."""
    for job in jobs:
        artifact = _get_first_artifact(ws, job.flow, naming.build_stem(job.captured_at, job.token))
        if artifact and (manifest := naming.parse_path(artifact.manifest_path)):
            return manifest.stem
    return None


def finish_interrupted(ws: Workspace, session: Session, source: SessionSource | None = None) -> list[Artifact]:
    """Finish captures and compactions that a crash cut off, and return their first artifacts.

    A capture is interrupted if its first artifact exists and its job is still spooled, or no manifest names it. It is
    finished from the files and the spool alone, with the sentence that they hold.
    """
    # Every spooled job may be unfinished, and the claimed stem if the manifest lacks it.
    candidates = [(job.flow, naming.build_stem(job.captured_at, session.token)) for job in session.jobs]
    if session.stem and session.stem not in session.captures:
        candidates.append((SESSION_END, session.stem))
    if session.stem and session.stem not in session.compactions:
        candidates.append((COMPACTION, session.stem))
    finished = []
    for flow, stem in dict.fromkeys(candidates):
        artifact = _get_first_artifact(ws, flow, stem)
        parent = find_parent(artifact) if artifact else None
        if parent and ws.documents.tombstones.has(parent):
            continue
        if artifact and session.stem and apply_plan(ws, rebuild_intent(ws, artifact, session, source)).steps:
            finished.append(artifact)
    return finished


def _get_first_artifact(ws: Workspace, flow: str, stem: str) -> Artifact | None:
    kind = naming.COMPACTION if flow == COMPACTION else naming.TRANSCRIPT
    return ws.documents.artifacts.get(naming.artifact_path(stem, kind))


def rebuild_intent(ws: Workspace, artifact: Artifact, session: Session, source: SessionSource | None = None) -> Intent:
    """Return the intent of an existing compaction, or of an existing transcript with its summary made again."""
    stem = session.stem or artifact.stem
    flow = COMPACTION if artifact.kind == naming.COMPACTION else SESSION_END
    sentence, quality = artifact.memory_sentence, artifact.memory_sentence_quality
    rebuilt = Job(flow, artifact.identity.token, artifact.captured_at, sentence, quality, payload={})
    if flow == COMPACTION:
        return Intent(rebuilt, stem, (artifact,))
    job = next((job for job in session.jobs if job.name == rebuilt.name), None)
    narrative = None
    if job:
        narrative = ws.build_sanitizer().sanitize_optional(job.payload.get("summary"))
    elif source and source.turns and source.turns[-1].id == artifact.watermark[1]:
        narrative = source.summary  # the end of this very capture is signaled again
    evidence = gather_artifact_evidence(ws, artifact)
    digest = build_digest(evidence.turns, evidence)
    narrative = evidence.clean(narrative) if narrative else None
    return Intent(job or rebuilt, stem, (artifact, build_summary(artifact, digest, narrative)))


def build_intent(
    ws: Workspace,
    session: Session,
    request: Request,
    sentence_and_quality: tuple[str, str],
    build: Callable[[Request, str], tuple[Artifact, ...]],
) -> Intent:
    """Return the intent to write the artifacts that `build` makes of a request and the claimed stem (format: Times).

    Its time is the first millisecond from the request's whose paths are free, or hold this very content already. Its
    privacy is the session's.
    """
    request = replace(request, private=session.is_private(request))
    while True:
        stem = session.stem or naming.build_stem(request.captured_at, request.token)
        artifacts = build(request, stem)
        contents = map_concurrently(ws.documents.store, ws.documents.artifacts.has_content, artifacts)
        # None: the path is free, or belongs to a file that was lost, which comes back with its own bytes alone
        is_lost = contents[0] is None and artifacts[0].stem in session.captures
        digest = find_hash(ws, artifacts[0].path) if is_lost else None
        if False not in contents and (digest is None or has_hash(artifacts[0], digest)):
            is_first = session.stem is None and not any(contents)
            return Intent(build_job(request, sentence_and_quality), stem, artifacts, is_first)
        request = replace(request, captured_at=shift_time(request.captured_at, milliseconds=1))


def find_hash(ws: Workspace, path: str) -> str | None:
    """Return the SHA-256 that the file at a path had when it was indexed, None if this machine never knew it."""
    with tolerate_outage(ws):
        if known := ws.index.load_hashes([path]).get(path):
            return known
    return ws.telemetry.find_lost_hash(path)


def has_hash(artifact: Artifact, digest: str) -> bool:
    """Return whether the file of an artifact would have this SHA-256."""
    return compute_sha256(iter_chunks(serialize_or_stream(artifact))) == digest


def build_job(request: Request, sentence_and_quality: tuple[str, str]) -> Job:
    """Return the job of a flow that is about to write: the payload as it came, the signal's time, the sentence."""
    payload = {**request.payload, "agent_id": request.identity.agent_id, "summary": request.summary}
    return Job(request.flow, request.token, request.captured_at, *sentence_and_quality, payload)


def find_newest_transcript(ws: Workspace, session: Session) -> Artifact | None:
    """Return the newest transcript that is there; its watermark says how far the captures reach."""
    paths = (naming.artifact_path(stem, naming.TRANSCRIPT) for stem in reversed(session.captures))
    return next(filter(None, map(ws.documents.artifacts.get, paths)), None)


def list_captured_turn_ids(ws: Workspace, session: Session) -> list[str]:
    """Return the ids of the captured turns in order: a capture replaces all turns from its first one on."""
    ids: list[str] = []
    for stem in session.captures:
        artifact = ws.documents.artifacts.get(naming.artifact_path(stem, naming.TRANSCRIPT))
        turns = [(turn.number, turn.id) for turn in transcript.iter_turns(artifact.body)] if artifact else []
        if turns:
            ids[turns[0][0] - 1 :] = [turn_id for _, turn_id in turns]
    return ids
