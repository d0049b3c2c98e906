"""Session end: the main flow (spec: write ordering, session-end; format: Captures)."""

from collections.abc import Sequence
from dataclasses import replace

from lineage.core.base import naming
from lineage.core.base.naming import derive_session_token
from lineage.core.capture.capture import Capture
from lineage.core.capture.planner import Intent
from lineage.core.capture.request import Request
from lineage.core.format.documents import FORMAT, Artifact
from lineage.core.format.job import Job
from lineage.core.format.transcript import turn_texts
from lineage.core.format.turns import Turn, Watermark, count_format_1_turns, find_first_new
from lineage.extraction.digests import build_digest_and_candidates
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.apply import CaptureHints, apply_plan
from lineage.pipeline.capture.artifacts import build_summary, build_transcript, compose_sentence
from lineage.pipeline.capture.narration import (
    NO_NARRATION,
    Narration,
    choose_sentence,
    gather_source_evidence,
    narrate,
    narration_from_job,
)
from lineage.pipeline.capture.recall_use import count_recall
from lineage.pipeline.capture.source import SessionSource, read_source
from lineage.pipeline.memory.session_entries import forget_session_entries
from lineage.workspace.lookup import MAX_SUB_AGENTS
from lineage.workspace.workspace import Workspace, tolerate_outage


def capture_session(ws: Workspace, request: Request, capture: Capture | None = None) -> sessions.CaptureResult:
    """Capture the turns that a session added since its last capture. A second run changes nothing.

    `capture` is the parsed transcript, if the caller has it already. Raise TranscriptError, InvalidInput or
    EngineMissing before anything is written, RemovedError if the session was removed meanwhile, ConflictError if
    another machine claimed it, WorkspaceError if a write fails; the next run finishes what was written until then.
    """
    if ws.documents.tombstones.has(request.token):
        return sessions.refuse_removed(request.token)
    source = read_source(ws, request, capture)  # sanitized; below, only the request holds raw text, for its job
    if sessions.is_parent_removed(ws, request, source):
        return sessions.refuse_removed(request.token)
    request, source = sessions.follow_origin(ws, request, source)
    narration = _narrate(ws, request, source)  # before the lock: a model may take a minute
    with sessions.locked_session(ws, request.token, source, is_end=True) as (session, finished):
        turns = select_new_turns(ws, session, request, source)
        if not turns:
            return _finish_unchanged(ws, session, request, source, finished)
        intent, hints = _plan_capture(ws, session, request, source, turns, narration)
        if intent.artifacts[0].private and not session.captures:
            _hide_sub_agents(ws, request.token)
        sessions.hide_checkpoint(ws, intent.artifacts[0])
        applied = apply_plan(ws, intent, hints)
    count_recall(ws, request.identity, turns)
    return replace(
        _build_result(intent, source, len(turns)),
        learned=applied.learn_result.as_json(),
        reason=sessions.join_notes(session.explain_privacy(request), applied.pending_reason),
    )


def _hide_sub_agents(ws: Workspace, token: str) -> None:
    """Take the lessons of sub-agents out of the books of others: they were captured before the private session was."""
    with tolerate_outage(ws):
        for row in ws.index.list_sessions(None, parent=token, limit=MAX_SUB_AGENTS):
            forget_session_entries(ws, row.session_token)


def _narrate(ws: Workspace, request: Request, source: SessionSource) -> Narration:
    """Ask the language model about the new turns; not for an end that was signaled before: its job has the sentence."""
    if ws.model is None:
        return NO_NARRATION
    session = sessions.load_session(ws, request.token, source.parent_token)
    if session.pending_ends:
        return NO_NARRATION
    # The first capture may have made the session private: then no model may see it, whatever this request says.
    request = replace(request, private=session.is_private(request))
    return narrate(ws, request, source, select_new_turns(ws, session, request, source))


def select_new_turns(
    ws: Workspace, session: sessions.Session, request: Request, source: SessionSource
) -> Sequence[Turn]:
    """Return the turns that no capture of the session holds, nor one of its parents if it is a fork."""
    is_partial = session.manifest is not None and session.manifest.partial
    if source.partial and session.captures and not is_partial:
        return ()  # more than its prompts is captured
    is_superseding = is_partial and not source.partial
    # A fork's transcript begins with its parent's turns; they stay the parent's.
    if (is_superseding or not session.captures) and source.forked_from:
        return source.turns[count_inherited(ws, request.identity.agent_id, source) :]
    newest = sessions.find_newest_transcript(ws, session)
    if newest is None or is_superseding:
        return source.turns
    watermark = Watermark.from_list(newest.watermark)
    first = find_first_new(
        source.turns,
        watermark,
        is_same_reading=(watermark.sanitizer, newest.format) == (ws.rules.version, FORMAT),
        captured_ids=lambda: sessions.list_captured_turn_ids(ws, session),
    )
    turns = source.turns[first:]
    # What readers of format 1 left out of records that they had read comes with the growth behind it, not alone.
    return turns if newest.format == FORMAT or count_format_1_turns(turns) else ()


def count_inherited(ws: Workspace, agent_id: str, source: SessionSource) -> int:
    """Return the number of leading turns of a fork that an ancestor holds: a turn belongs to its first session."""
    inherited: set[str] = set()
    parent, visited = source.forked_from, set[str]()
    while parent and parent not in visited:  # a damaged manifest may close a circle
        visited.add(parent)
        session = sessions.load_session(ws, derive_session_token(agent_id, parent))
        inherited.update(sessions.list_captured_turn_ids(ws, session))
        parent = session.manifest.forked_from if session.manifest else None
    # A turn in between may be newly read: what its parent holds ends with the last one that it holds.
    return max((n + 1 for n, turn in enumerate(source.turns) if turn.id in inherited), default=0)


def _finish_unchanged(
    ws: Workspace, session: sessions.Session, request: Request, source: SessionSource, finished: Sequence[Artifact]
) -> sessions.CaptureResult:
    """Write missing parts of the newest capture: a summary, a row, MEMORY.md. `finished` are captures completed now."""
    for job in session.pending_ends:  # of an end that another run captured, or of one without a turn
        ws.documents.spool.clear(job)
    reason = sessions.join_notes(
        sessions.NOTHING_NEW if source.turns else sessions.EMPTY, session.explain_privacy(request)
    )
    paths = [naming.artifact_path(stem, naming.TRANSCRIPT) for stem in session.captures[-1:]]
    newest = ws.documents.artifacts.get(paths[0]) if paths else None
    if newest is None:
        return sessions.CaptureResult(
            status=sessions.UNCHANGED, session_token=session.token, reason=reason, skipped=source.skipped
        )
    intent = sessions.rebuild_intent(ws, newest, session, source)
    apply_plan(ws, intent)
    result = _build_result(intent, source, 0)
    if any(artifact.kind == naming.TRANSCRIPT for artifact in finished):
        return replace(result, reason=session.explain_privacy(request))
    return replace(result, status=sessions.UNCHANGED, reason=reason)


def _plan_capture(
    ws: Workspace,
    session: sessions.Session,
    request: Request,
    source: SessionSource,
    turns: Sequence[Turn],
    narration: Narration,
) -> tuple[Intent, CaptureHints]:
    """Build the intent of a capture, under the time and sentence of an unfinished signal if there is one."""
    evidence = gather_source_evidence(ws, request, source, turns)
    digest, candidates = build_digest_and_candidates(turns, evidence)
    narration = narration.for_turns(turns)
    # A tuple is in memory; a longer transcript is read again wherever it is needed.
    texts = turn_texts(turns) if isinstance(turns, tuple) else None
    hints = CaptureHints(narration.proposals, candidates, texts, evidence)
    job = next(iter(session.pending_ends), None)
    if job:
        narration = narration_from_job(job, ws.build_sanitizer())
    raw_narrative = source.summary or narration.narrative
    narrative = evidence.clean(raw_narrative) if raw_narrative else None
    # A model's narrative goes into the job as the signal's summary: recovery then writes the same file.
    request = replace(
        request, captured_at=_choose_time(session, request, job), summary=request.summary or raw_narrative
    )
    ending = "was resumed and ended" if session.captures and turns[0].number > 1 else "ended"
    sentence = choose_sentence(narration, evidence) or compose_sentence(
        request, source, digest, ending, ws.build_sanitizer()
    )

    # Built by `build_intent`, and again under a later time if another capture's files have this one.
    def build(request: Request, stem: str) -> tuple[Artifact, ...]:
        transcript = build_transcript(request, source, turns, stem, sentence, ws.rules.version)
        transcript = transcript._replace(memory_sentence_generated_at=narration.generated_at or request.captured_at)
        return transcript, build_summary(transcript, digest, narrative)

    return sessions.build_intent(ws, session, request, sentence, build), hints


def _choose_time(session: sessions.Session, request: Request, job: Job | None) -> str:
    if job:
        return job.captured_at
    if session.stem and session.is_claimed_only:
        return naming.parse_captured_at(session.stem)
    # Never before the newest capture, even if the clock was set back: the order of captures is that of their times.
    return max([request.captured_at, *map(naming.parse_captured_at, session.captures[-1:])])


def _build_result(intent: Intent, source: SessionSource, turn_count: int) -> sessions.CaptureResult:
    transcript, summary = intent.artifacts
    paths = {"transcript_path": transcript.path, "summary_path": summary.path}
    return sessions.build_result(intent, source, turns=turn_count, compactions=len(source.compactions), **paths)
