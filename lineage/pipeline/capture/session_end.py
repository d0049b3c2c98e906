"""Session end. (spec: write ordering, session-end; format: Captures)"""

from collections.abc import Sequence
from dataclasses import replace

from lineage.core.base import naming
from lineage.core.base.identity import derive_session_token
from lineage.core.capture.capture import Capture
from lineage.core.capture.planner import Intent
from lineage.core.capture.request import Request
from lineage.core.format.digest import Digest
from lineage.core.format.documents import Artifact
from lineage.core.format.job import Job
from lineage.core.format.transcript import turn_texts
from lineage.core.format.turns import Turn, find_first_new
from lineage.extraction.digests import build_digest_and_candidates
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture import source as sources
from lineage.pipeline.capture.apply import CaptureHints, apply_plan
from lineage.pipeline.capture.artifacts import build_summary, build_transcript, compose_sentence
from lineage.pipeline.capture.narration import NO_NARRATION, Narration, narrate, narration_from_job
from lineage.pipeline.capture.result import CAPTURED, EMPTY, NOTHING_NEW, REFUSED, REMOVED, UNCHANGED, CaptureResult
from lineage.pipeline.capture.session import Session
from lineage.pipeline.capture.source import SessionSource
from lineage.workspace.workspace import Workspace


def capture_session(ws: Workspace, request: Request, capture: Capture | None = None) -> CaptureResult:
    """Captures what a session added since its last capture; running it again changes nothing. `capture` is what its
    transcript holds, where it was read already.

    Raises TranscriptError and InvalidInput before anything is written, WorkspaceError where a write fails: what was
    written until then is finished by the next run.
    """
    if ws.documents.tombstones.has(request.token):
        return CaptureResult(status=REFUSED, session_token=request.token, reason=REMOVED)
    removed = ws.documents.tombstones.read_removed_turns()
    source = sources.read_source(request, ws.rules, ws.settings, removed, capture, ws.scratch)
    told = _narrate(ws, request, source)
    with sessions.locked_session(ws, request.token, source) as (session, finished):
        turns = _select_new_turns(ws, session, request, source)
        if not turns:
            outcome = _finish_unchanged(ws, session, source, finished)
            notes = filter(None, (outcome.reason, session.explain_privacy(request)))
            return replace(outcome, reason="; ".join(notes) or None)
        told, (happened, found) = told.for_turns(turns), build_digest_and_candidates(turns)
        intent = _build_intent(ws, session, request, source, turns, happened, told)
        said = turn_texts(turns) if isinstance(turns, tuple) else None
        carried = apply_plan(ws, intent, CaptureHints(told.proposals, found, said))
    notes = filter(None, (session.explain_privacy(request), carried.pending_reason))
    outcome = _build_result(intent, source, turns)
    return replace(outcome, learned=carried.learn_result.as_json(), reason="; ".join(notes) or None)


def _narrate(ws: Workspace, request: Request, source: SessionSource) -> Narration:
    """What a language model says of what is new, asked before the session's mutex is taken; nothing without a model,
    and of an end that was signalled before."""
    if ws.model is None:
        return NO_NARRATION
    session = sessions.load_session(ws, request.token)
    if session.pending_ends:
        return NO_NARRATION
    asked = request._replace(private=session.is_private(request))
    return narrate(ws, asked, source, _select_new_turns(ws, session, request, source))


def _select_new_turns(ws: Workspace, session: Session, request: Request, source: SessionSource) -> Sequence[Turn]:
    if not session.captures and source.forked_from:
        return source.turns[_count_inherited(ws, request.identity.agent_id, source) :]
    mark = sessions.find_watermark(ws, session)
    known = find_first_new(source.turns, mark, ws.rules.version, lambda: sessions.list_captured_turn_ids(ws, session))
    return source.turns[known:]


def _count_inherited(ws: Workspace, agent_id: str, source: SessionSource) -> int:
    """How many turns a fork begins with that are its parent's, or its parent's parent's: a turn belongs to the first
    session that holds it."""
    owned: set[str] = set()
    parent, seen = source.forked_from, set[str]()
    while parent and parent not in seen:
        seen.add(parent)
        session = sessions.load_session(ws, derive_session_token(agent_id, parent))
        owned |= set(sessions.list_captured_turn_ids(ws, session))
        parent = session.manifest.forked_from if session.manifest else None
    return next((n for n, turn in enumerate(source.turns) if turn.id not in owned), len(source.turns))


def _finish_unchanged(
    ws: Workspace, session: Session, source: SessionSource, finished: Sequence[Artifact]
) -> CaptureResult:
    """Nothing is written but what the newest capture may lack: a summary, a row, MEMORY.md."""
    reason = NOTHING_NEW if source.turns else EMPTY
    for job in session.pending_ends:  # of an end that another run has captured, or of one without a turn
        ws.documents.spool.clear(job)
    if not session.captures:
        return CaptureResult(status=UNCHANGED, session_token=session.token, reason=reason, skipped=source.skipped)
    newest = ws.documents.artifacts.get(naming.artifact_path(session.captures[-1], naming.TRANSCRIPT))
    if newest is None:
        return CaptureResult(status=UNCHANGED, session_token=session.token, reason=reason, skipped=source.skipped)
    intent = sessions.rebuild_intent(ws, newest, session, source)
    apply_plan(ws, intent)
    outcome = _build_result(intent, source, ())
    if any(artifact.kind == naming.TRANSCRIPT for artifact in finished):
        return outcome
    return replace(outcome, status=UNCHANGED, reason=reason)


def _build_intent(
    ws: Workspace,
    session: Session,
    request: Request,
    source: SessionSource,
    turns: Sequence[Turn],
    digest: Digest,
    narration: Narration,
) -> Intent:
    """The capture to be written: under the time and sentence of an unfinished signal where there is one. A model's
    narrative goes into the job as the summary of the signal, so that whoever finishes it writes the same."""
    job = next(iter(session.pending_ends), None)
    narration = narration_from_job(job, ws.build_sanitizer()) if job else narration
    narrative = source.summary or narration.narrative
    request = request._replace(captured_at=_choose_time(session, request, job), summary=request.summary or narrative)
    ending = "was resumed and ended" if session.captures and turns[0].number > 1 else "ended"
    sentenced = narration.sentence_and_quality or compose_sentence(
        request, source, digest, ending, ws.build_sanitizer()
    )

    def build(asked: Request, stem: str) -> tuple[Artifact, ...]:
        transcript = build_transcript(asked, source, turns, stem, sentenced, ws.rules.version)
        transcript = transcript._replace(memory_sentence_generated_at=narration.generated_at or asked.captured_at)
        return transcript, build_summary(transcript, digest, narrative)

    return sessions.build_intent(ws, session, request, sentenced, build)


def _choose_time(session: Session, request: Request, job: Job | None) -> str:
    """When the capture is made: at the unfinished signal, else now; never before the session's newest capture, whatever
    the clock says, for the order of the captures is that of their times."""
    if job:
        return job.captured_at
    if session.stem and session.is_claimed_only:
        return naming.parse_captured_at(session.stem)
    return max([request.captured_at, *map(naming.parse_captured_at, session.captures[-1:])])


def _build_result(intent: Intent, source: SessionSource, turns: Sequence[Turn]) -> CaptureResult:
    transcript, summary = intent.artifacts
    return CaptureResult(
        status=CAPTURED,
        session_token=intent.job.token,
        manifest_path=transcript.manifest_path,
        transcript_path=transcript.path,
        summary_path=summary.path,
        captured_at=transcript.captured_at,
        memory_sentence=transcript.memory_sentence,
        memory_sentence_quality=transcript.memory_sentence_quality,
        turns=len(turns),
        compactions=len(source.compactions),
        redactions=source.redactions,
        skipped=source.skipped,
    )
