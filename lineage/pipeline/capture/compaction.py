"""Compaction complete. (spec: write ordering, compaction-complete; format: Captures)"""

from dataclasses import replace

from lineage.core.base import naming
from lineage.core.capture.planner import Intent
from lineage.core.capture.request import COMPACTION, Request
from lineage.core.format.documents import Artifact
from lineage.core.format.job import Job
from lineage.core.format.turns import Watermark
from lineage.extraction.digests import build_digest
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture import source as sources
from lineage.pipeline.capture.apply import apply_plan
from lineage.pipeline.capture.artifacts import build_compaction, compose_sentence, render_compaction_body
from lineage.pipeline.capture.narration import NO_NARRATION, Narration, narrate_compaction, narration_from_job
from lineage.pipeline.capture.result import CAPTURED, NOTHING_NEW, REFUSED, REMOVED, UNCHANGED, CaptureResult
from lineage.pipeline.capture.session import Session
from lineage.pipeline.capture.source import SessionSource
from lineage.workspace.workspace import Workspace


def capture_compaction(ws: Workspace, request: Request) -> CaptureResult:
    """Keeps a compaction's summary: any number per session, before, between and after its captures.

    Turns that no capture holds yet wait for the session's end. Raises what `capture_session` raises.
    """
    if ws.documents.tombstones.has(request.token):
        return CaptureResult(status=REFUSED, session_token=request.token, reason=REMOVED)
    removed = ws.documents.tombstones.read_removed_turns()
    source = sources.read_source(request, ws.rules, ws.settings, removed, scratch=ws.scratch)
    mark = _build_watermark(source, ws.rules.version)
    told = _narrate(ws, request, source, mark)
    with sessions.locked_session(ws, request.token) as (session, finished):
        known = _find_same_compaction(ws, session, source, mark)
        if known:
            intent = sessions.rebuild_intent(ws, known, session)
            apply_plan(ws, intent)
            status = CAPTURED if known in finished else UNCHANGED
            reason = None if known in finished else NOTHING_NEW
            return replace(_build_result(ws, intent, source), status=status, reason=reason)
        intent = _build_intent(ws, session, request, source, mark, told)
        apply_plan(ws, intent)
        return _build_result(ws, intent, source)


def _narrate(ws: Workspace, request: Request, source: SessionSource, mark: Watermark) -> Narration:
    """What a language model says of a compaction that is new, asked before the session's mutex is taken."""
    if ws.model is None:
        return NO_NARRATION
    session = sessions.load_session(ws, request.token)
    if _find_same_job(session, request) or _find_same_compaction(ws, session, source, mark):
        return NO_NARRATION
    asked = request._replace(private=session.is_private(request))
    return narrate_compaction(ws, asked, source, source.turns[: mark.turns])


def _find_same_job(session: Session, request: Request) -> Job | None:
    """The unfinished job of the same signal."""
    same = (job for job in session.jobs if job.flow == COMPACTION and job.payload.get("summary") == request.summary)
    return next(same, None)


def _build_watermark(source: SessionSource, sanitizer: str) -> Watermark:
    """The turns that were compacted: those before the transcript's own record of it, else all that there are."""
    count = next((turns for summary, turns in source.compactions if summary == source.summary), len(source.turns))
    return Watermark(count, source.turns[count - 1].id if count else None, sanitizer)


def _find_same_compaction(ws: Workspace, session: Session, source: SessionSource, mark: Watermark) -> Artifact | None:
    """The same compaction, kept already: same watermark, same summary. A new sanitizer alone makes nothing new."""
    for stem in session.compactions:
        artifact = ws.documents.artifacts.get(naming.artifact_path(stem, naming.COMPACTION))
        if artifact and artifact.watermark[:2] == mark.as_list()[:2]:
            body = render_compaction_body(source.summary or "", artifact.title, artifact.manifest_path)
            if body == str(artifact.body):
                return artifact
    return None


def _build_intent(
    ws: Workspace, session: Session, request: Request, source: SessionSource, mark: Watermark, narration: Narration
) -> Intent:
    """The compaction to be written: under the time and sentence of the same unfinished signal where there is one."""
    job = _find_same_job(session, request)
    if job:
        request = request._replace(captured_at=job.captured_at)
    elif session.stem and session.is_claimed_only:
        request = request._replace(captured_at=naming.parse_captured_at(session.stem))
    turns = source.turns[: mark.turns]
    narration = narration_from_job(job, ws.build_sanitizer()) if job else narration.for_turns(turns)
    sentenced = narration.sentence_and_quality or compose_sentence(
        request, source, build_digest(turns), "was compacted", ws.build_sanitizer()
    )

    def build(asked: Request, stem: str) -> tuple[Artifact, ...]:
        artifact = build_compaction(asked, source, mark, stem, sentenced)
        return (artifact._replace(memory_sentence_generated_at=narration.generated_at or asked.captured_at),)

    return sessions.build_intent(ws, session, request, sentenced, build)


def _build_result(ws: Workspace, intent: Intent, source: SessionSource) -> CaptureResult:
    artifact = intent.artifacts[0]
    manifest = ws.documents.manifests.get(intent.stem)
    return CaptureResult(
        status=CAPTURED,
        session_token=intent.job.token,
        manifest_path=artifact.manifest_path,
        transcript_path=manifest.transcript_path if manifest else None,
        summary_path=manifest.summary_path if manifest else None,
        compaction_path=artifact.path,
        captured_at=artifact.captured_at,
        memory_sentence=artifact.memory_sentence,
        memory_sentence_quality=artifact.memory_sentence_quality,
        turns=artifact.watermark[0],
        redactions=source.redactions,
        skipped=source.skipped,
    )
