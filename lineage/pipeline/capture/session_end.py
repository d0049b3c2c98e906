"""Session end. (spec: write ordering, session-end; format: Captures)"""

from collections.abc import Sequence

from lineage.core import naming
from lineage.core.capture import Capture
from lineage.core.digest import Digest
from lineage.core.documents import Artifact
from lineage.core.identity import session_token
from lineage.core.job import Job
from lineage.core.planner import Intent
from lineage.core.request import Request
from lineage.core.transcript import said_by
from lineage.core.turns import Turn, first_new
from lineage.extract import gathered
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture import source as sources
from lineage.pipeline.capture.building import memory_sentence, summary_of, transcript_of
from lineage.pipeline.capture.carrying_out import Known, carry_out
from lineage.pipeline.capture.session import Session
from lineage.pipeline.capture.source import Source
from lineage.pipeline.capture.telling import NOTHING, Told, adopted, told_of_capture
from lineage.pipeline.house import CAPTURED, REFUSED, UNCHANGED, House, Outcome

EMPTY = "empty"
NOTHING_NEW = "nothing new"
REMOVED = "removed"


def session_end(house: House, request: Request, capture: Capture | None = None) -> Outcome:
    """Captures what a session added since its last capture; running it again changes nothing. `capture` is what its
    transcript holds, where it was read already.

    Raises TranscriptError and InvalidInput before anything is written, WorkspaceError where a write fails: what was
    written until then is finished by the next run.
    """
    if house.canon.tombstones.has(request.token):
        return Outcome(status=REFUSED, session_token=request.token, reason=REMOVED)
    removed = house.canon.tombstones.removed_turns()
    source = sources.observed(request, house.rules, house.settings, removed, capture, house.scratch)
    told = _told(house, request, source)
    with sessions.taken_up(house, request.token, source) as (session, finished):
        turns = _new_turns(house, session, request, source)
        if not turns:
            outcome = _nothing_new(house, session, source, finished)
            notes = filter(None, (outcome.reason, session.privacy_note(request)))
            return outcome._replace(reason="; ".join(notes) or None)
        told, (happened, found) = told.of(turns), gathered(turns)
        intent = _intent(house, session, request, source, turns, happened, told)
        said = said_by(turns) if isinstance(turns, tuple) else None
        carried = carry_out(house, intent, Known(told.proposals, found, said))
    notes = filter(None, (session.privacy_note(request), carried.waits))
    outcome = _captured(intent, source, turns)
    return outcome._replace(learned=carried.learned.as_json(), reason="; ".join(notes) or None)


def _told(house: House, request: Request, source: Source) -> Told:
    """What a language model says of what is new, asked before the session's mutex is taken; nothing without a model,
    and of an end that was signalled before."""
    if house.model is None:
        return NOTHING
    session = sessions.observed(house, request.token)
    if session.signals:
        return NOTHING
    asked = request._replace(private=session.is_private(request))
    return told_of_capture(house, asked, source, _new_turns(house, session, request, source))


def _new_turns(house: House, session: Session, request: Request, source: Source) -> Sequence[Turn]:
    if not session.captures and source.forked_from:
        return source.turns[_inherited(house, request.identity.agent_id, source) :]
    mark = sessions.watermark(house, session)
    known = first_new(source.turns, mark, house.rules.version, lambda: sessions.captured_ids(house, session))
    return source.turns[known:]


def _inherited(house: House, agent_id: str, source: Source) -> int:
    """How many turns a fork begins with that are its parent's, or its parent's parent's: a turn belongs to the first
    session that holds it."""
    owned: set[str] = set()
    parent, seen = source.forked_from, set[str]()
    while parent and parent not in seen:
        seen.add(parent)
        session = sessions.observed(house, session_token(agent_id, parent))
        owned |= set(sessions.captured_ids(house, session))
        parent = session.manifest.forked_from if session.manifest else None
    return next((n for n, turn in enumerate(source.turns) if turn.id not in owned), len(source.turns))


def _nothing_new(house: House, session: Session, source: Source, finished: Sequence[Artifact]) -> Outcome:
    """Nothing is written but what the newest capture may lack: a summary, a row, MEMORY.md."""
    reason = NOTHING_NEW if source.turns else EMPTY
    for job in session.signals:  # of an end that another run has captured, or of one without a turn
        house.canon.spool.clear(job)
    if not session.captures:
        return Outcome(status=UNCHANGED, session_token=session.token, reason=reason, skipped=source.skipped)
    newest = house.canon.artifacts.get(naming.artifact_path(session.captures[-1], naming.TRANSCRIPT))
    if newest is None:
        return Outcome(status=UNCHANGED, session_token=session.token, reason=reason, skipped=source.skipped)
    intent = sessions.intent_of(house, newest, session, source)
    carry_out(house, intent)
    outcome = _captured(intent, source, ())
    if any(artifact.kind == naming.TRANSCRIPT for artifact in finished):
        return outcome
    return outcome._replace(status=UNCHANGED, reason=reason)


def _intent(
    house: House,
    session: Session,
    request: Request,
    source: Source,
    turns: Sequence[Turn],
    happened: Digest,
    told: Told,
) -> Intent:
    """The capture to be written: under the time and sentence of an unfinished signal where there is one. A model's
    narrative goes into the job as the summary of the signal, so that whoever finishes it writes the same."""
    job = next(iter(session.signals), None)
    told = adopted(job, house.sanitizer()) if job else told
    narrative = source.summary or told.narrative
    request = request._replace(captured_at=_moment(session, request, job), summary=request.summary or narrative)
    ending = "was resumed and ended" if session.captures and turns[0].number > 1 else "ended"
    sentenced = told.sentenced or memory_sentence(request, source, happened, ending, house.sanitizer())

    def build(asked: Request, stem: str) -> tuple[Artifact, ...]:
        transcript = transcript_of(asked, source, turns, stem, sentenced, house.rules.version)
        transcript = transcript._replace(memory_sentence_generated_at=told.at or asked.captured_at)
        return transcript, summary_of(transcript, happened, narrative)

    return sessions.intent_at(house, session, request, sentenced, build)


def _moment(session: Session, request: Request, job: Job | None) -> str:
    """When the capture is made: at the unfinished signal, else now; never before the session's newest capture, whatever
    the clock says, for the order of the captures is that of their times."""
    if job:
        return job.captured_at
    if session.stem and session.is_begun:
        return naming.captured_at_of(session.stem)
    return max([request.captured_at, *map(naming.captured_at_of, session.captures[-1:])])


def _captured(intent: Intent, source: Source, turns: Sequence[Turn]) -> Outcome:
    transcript, summary = intent.artifacts
    return Outcome(
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
