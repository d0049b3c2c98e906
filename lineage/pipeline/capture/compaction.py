"""Compaction complete. (spec: write ordering, compaction-complete; format: Captures)"""

from lineage.core import naming
from lineage.core.documents import Artifact
from lineage.core.job import Job
from lineage.core.planner import Intent
from lineage.core.request import COMPACTION, Request
from lineage.core.turns import Watermark
from lineage.extract import digest
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture import source as sources
from lineage.pipeline.capture.building import compaction_body, compaction_of, memory_sentence
from lineage.pipeline.capture.carrying_out import carry_out
from lineage.pipeline.capture.session import Session
from lineage.pipeline.capture.session_end import NOTHING_NEW, REMOVED
from lineage.pipeline.capture.source import Source
from lineage.pipeline.capture.telling import NOTHING, Told, adopted, told_of_compaction
from lineage.pipeline.house import CAPTURED, REFUSED, UNCHANGED, House, Outcome


def compaction(house: House, request: Request) -> Outcome:
    """Keeps a compaction's summary: any number per session, before, between and after its captures.

    Turns that no capture holds yet wait for the session's end. Raises what `session_end` raises.
    """
    if house.canon.tombstones.has(request.token):
        return Outcome(status=REFUSED, session_token=request.token, reason=REMOVED)
    removed = house.canon.tombstones.removed_turns()
    source = sources.observed(request, house.rules, house.settings, removed, scratch=house.scratch)
    mark = _mark(source, house.rules.version)
    told = _told(house, request, source, mark)
    with sessions.taken_up(house, request.token) as (session, finished):
        known = _known(house, session, source, mark)
        if known:
            intent = sessions.intent_of(house, known, session)
            carry_out(house, intent)
            status = CAPTURED if known in finished else UNCHANGED
            reason = None if known in finished else NOTHING_NEW
            return _outcome(house, intent, source)._replace(status=status, reason=reason)
        intent = _intent(house, session, request, source, mark, told)
        carry_out(house, intent)
        return _outcome(house, intent, source)


def _told(house: House, request: Request, source: Source, mark: Watermark) -> Told:
    """What a language model says of a compaction that is new, asked before the session's mutex is taken."""
    if house.model is None:
        return NOTHING
    session = sessions.observed(house, request.token)
    if _signalled(session, request) or _known(house, session, source, mark):
        return NOTHING
    asked = request._replace(private=session.is_private(request))
    return told_of_compaction(house, asked, source, source.turns[: mark.turns])


def _signalled(session: Session, request: Request) -> Job | None:
    """The unfinished job of the same signal."""
    same = (job for job in session.jobs if job.flow == COMPACTION and job.payload.get("summary") == request.summary)
    return next(same, None)


def _mark(source: Source, sanitizer: str) -> Watermark:
    """The turns that were compacted: those before the transcript's own record of it, else all that there are."""
    count = next((turns for summary, turns in source.compactions if summary == source.summary), len(source.turns))
    return Watermark(count, source.turns[count - 1].id if count else None, sanitizer)


def _known(house: House, session: Session, source: Source, mark: Watermark) -> Artifact | None:
    """The same compaction, kept already: same watermark, same summary. A new sanitizer alone makes nothing new."""
    for stem in session.compactions:
        artifact = house.canon.artifacts.get(naming.artifact_path(stem, naming.COMPACTION))
        if artifact and artifact.watermark[:2] == mark.as_list()[:2]:
            body = compaction_body(source.summary or "", artifact.title, artifact.manifest_path)
            if body == str(artifact.body):
                return artifact
    return None


def _intent(house: House, session: Session, request: Request, source: Source, mark: Watermark, told: Told) -> Intent:
    """The compaction to be written: under the time and sentence of the same unfinished signal where there is one."""
    job = _signalled(session, request)
    if job:
        request = request._replace(captured_at=job.captured_at)
    elif session.stem and session.is_begun:
        request = request._replace(captured_at=naming.captured_at_of(session.stem))
    turns = source.turns[: mark.turns]
    told = adopted(job, house.sanitizer()) if job else told.of(turns)
    sentenced = told.sentenced or memory_sentence(request, source, digest(turns), "was compacted", house.sanitizer())

    def build(asked: Request, stem: str) -> tuple[Artifact, ...]:
        artifact = compaction_of(asked, source, mark, stem, sentenced)
        return (artifact._replace(memory_sentence_generated_at=told.at or asked.captured_at),)

    return sessions.intent_at(house, session, request, sentenced, build)


def _outcome(house: House, intent: Intent, source: Source) -> Outcome:
    artifact = intent.artifacts[0]
    manifest = house.canon.manifests.get(intent.stem)
    return Outcome(
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
