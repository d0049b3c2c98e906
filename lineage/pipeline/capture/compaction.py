"""Compaction complete (spec: write ordering, compaction-complete; format: Captures).

A compaction that a transcript records is kept as if its harness had signaled it (harnesses.md 14).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

from lineage.core.base import naming
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.capture.planner import Intent
from lineage.core.capture.request import COMPACTION, Request, parse_request
from lineage.core.format import transcript
from lineage.core.format.documents import FORMAT, Artifact
from lineage.core.format.job import Job
from lineage.core.format.turns import Watermark, compute_turn_id, count_format_1_turns
from lineage.core.sanitizer import MARKER
from lineage.extraction.digests import build_digest
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.capture.apply import apply_plan
from lineage.pipeline.capture.artifacts import build_compaction, compose_sentence, render_compaction_body
from lineage.pipeline.capture.narration import (
    NO_NARRATION,
    Narration,
    choose_sentence,
    gather_source_evidence,
    narrate_compaction,
    narration_from_job,
)
from lineage.pipeline.capture.source import SessionSource, read_source
from lineage.workspace.workspace import Workspace


def capture_compaction(ws: Workspace, request: Request) -> sessions.CaptureResult:
    """Keep a compaction's summary: any number per session, before, between and after its captures.

    Turns that no capture holds yet wait for the session's end. Raise as `capture_session` does.
    """
    if ws.documents.tombstones.has(request.token):
        return sessions.refuse_removed(request.token)
    source = read_source(ws, request)  # sanitized: there is no raw text below this line
    if sessions.is_parent_removed(ws, request, source):
        return sessions.refuse_removed(request.token)
    request, source = sessions.follow_origin(ws, request, source)
    # The turns before the transcript's own record of the compaction; without a record, all turns so far.
    before = (turns for summary, turns in reversed(source.compactions) if summary == source.summary)
    count = next(before, len(source.turns))
    watermark = Watermark(count, source.turns[count - 1].id if count else None, ws.rules.version)
    narration = _narrate(ws, request, source, watermark)  # before the lock: a model may take a minute
    with sessions.locked_session(ws, request.token, source, is_end=False) as (session, finished):
        existing = _find_same_compaction(ws, session, source, watermark)
        if existing:
            intent = sessions.rebuild_intent(ws, existing, session)
        else:
            intent = _plan_compaction(ws, session, request, source, watermark, narration)
        sessions.hide_checkpoint(ws, intent.artifacts[0])
        apply_plan(ws, intent)
        result = _build_result(ws, intent, source)
    if existing and existing not in finished:
        return replace(result, status=sessions.UNCHANGED, reason=sessions.NOTHING_NEW)
    return result


def _narrate(ws: Workspace, request: Request, source: SessionSource, watermark: Watermark) -> Narration:
    """Ask the language model about a new compaction; not about one that was signaled before."""
    if ws.model is None:
        return NO_NARRATION
    session = sessions.load_session(ws, request.token, source.parent_token)
    if _find_same_job(session, request) or _find_same_compaction(ws, session, source, watermark):
        return NO_NARRATION
    request = replace(request, private=session.is_private(request))
    return narrate_compaction(ws, request, source, source.turns[: watermark.turns])


def _find_same_job(session: sessions.Session, request: Request) -> Job | None:
    """Return the unfinished job of the same signal."""
    same = (job for job in session.jobs if job.flow == COMPACTION and job.payload.get("summary") == request.summary)
    return next(same, None)


def _find_same_compaction(
    ws: Workspace, session: sessions.Session, source: SessionSource, watermark: Watermark
) -> Artifact | None:
    """Return the stored compaction with the same turns and summary. A new sanitizer alone makes nothing new."""
    for stem in session.compactions:
        artifact = ws.documents.artifacts.get(naming.artifact_path(stem, naming.COMPACTION))
        if artifact is None:
            continue
        turns, last, version = Watermark.from_list(artifact.watermark).as_list()
        body = render_compaction_body(source.summary or "", artifact.title, artifact.manifest_path)
        if version == artifact.sanitizer_version == ws.rules.version and artifact.format == FORMAT:
            is_same = last == watermark.last and body == artifact.body
        else:
            # Under other rules an id that was made from text is another one, and a marker stands for any text.
            stored, wanted = _unescape(ws.build_sanitizer().sanitize(str(artifact.body))), _unescape(body)
            old_count = count_format_1_turns(source.turns[: watermark.turns])
            is_known = wanted == stored or _has_in_order(wanted, MARKER.split(stored))
            is_same = turns in (watermark.turns, old_count) and is_known
        if is_same:
            return artifact
    return None


def _unescape(text: str) -> str:
    """Return a text without the escapes of markdown: earlier versions set others."""
    return unescape(text.replace("\\", ""))


def _has_in_order(text: str, parts: Sequence[str]) -> bool:
    """Tell whether the text is the parts in their order, with any text between them."""
    if not text.startswith(parts[0]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        if (at := text.find(part, at) + len(part)) < len(part):
            return False
    return text.endswith(parts[-1]) and at <= len(text) - len(parts[-1])


def _plan_compaction(
    ws: Workspace,
    session: sessions.Session,
    request: Request,
    source: SessionSource,
    watermark: Watermark,
    narration: Narration,
) -> Intent:
    """Build the intent of a compaction, under the time and sentence of the same unfinished signal if there is one."""
    turns = source.turns[: watermark.turns]
    job = _find_same_job(session, request)
    if job:
        request = replace(request, captured_at=job.captured_at)
        narration = narration_from_job(job, ws.build_sanitizer())
    else:
        narration = narration.for_turns(turns)
        if session.stem and session.is_claimed_only:  # write what the crashed run was about to write
            request = replace(request, captured_at=naming.parse_captured_at(session.stem))
    evidence = gather_source_evidence(ws, request, source, turns)
    sentence = choose_sentence(narration, evidence) or compose_sentence(
        request, source, build_digest(turns), "was compacted", ws.build_sanitizer()
    )

    def build(request: Request, stem: str) -> tuple[Artifact, ...]:
        artifact = build_compaction(request, source, watermark, stem, sentence)
        return (artifact._replace(memory_sentence_generated_at=narration.generated_at or request.captured_at),)

    return sessions.build_intent(ws, session, request, sentence, build)


def _build_result(ws: Workspace, intent: Intent, source: SessionSource) -> sessions.CaptureResult:
    (artifact,) = intent.artifacts
    manifest = ws.documents.manifests.get(intent.stem)
    names = ("transcript_path", "summary_path")
    paths = {name: getattr(manifest, name) for name in names} if manifest else {}
    return sessions.build_result(intent, source, turns=artifact.watermark[0], compaction_path=artifact.path, **paths)


@dataclass(frozen=True, slots=True)
class RecordedCompactionCounts:
    """The number of compactions kept now, and of those without a readable summary."""

    captured: int = 0
    unsummarized: int = 0


def capture_recorded_compactions(
    ws: Workspace, payload: Mapping[str, Any], token: str, capture: Capture, at: str
) -> RecordedCompactionCounts:
    """Keep each of the session's own compactions, at its recorded time, else at `at` (canonical UTC).

    `payload` is that of the session's end. A compaction that was kept from its signal is not kept again, even if the
    harness words it differently, or recorded it at another place. Those that a fork inherited stay its parent's.
    """
    session = sessions.load_session(ws, token)
    paths = (naming.artifact_path(stem, naming.COMPACTION) for stem in session.compactions)
    captured = [artifact for path in paths if (artifact := ws.documents.artifacts.get(path))]
    first = _find_first_own_turn(ws, session, capture)
    own = [record for record in capture.compactions if record.turns_before >= first]
    readable = [record for record in own if record.summary and record.summary.strip()]
    statuses = []
    for record in _drop_captured(ws, readable, captured, capture):
        values = {"summary": record.summary, "trigger": record.trigger, "captured_at": record.at or at}
        request = parse_request(COMPACTION, {**payload, **values}, agent_id=None, now=ws.now)
        statuses.append(capture_compaction(ws, request).status)
    return RecordedCompactionCounts(statuses.count(sessions.CAPTURED), len(own) - len(readable))


def _drop_captured(
    ws: Workspace, records: Sequence[CompactionRecord], captured: list[Artifact], capture: Capture
) -> list[CompactionRecord]:
    """Return the records without an artifact: each artifact stands for one record, by place, else by text."""
    left = []
    for record in records:
        before = capture.turns[: record.turns_before]
        # Thoughts that the transcript leaves out have no number.
        visible = [turn for turn in before if ws.settings.transcript.thinking or not turn.thinking]
        positions = {len(visible), count_format_1_turns(visible)}
        if same := [artifact for artifact in captured if artifact.watermark[0] in positions]:
            captured = [artifact for artifact in captured if artifact not in same]
        else:
            left.append(record)
    sanitizer = ws.build_sanitizer()
    for record in tuple(left):
        summary = sanitizer.sanitize((record.summary or "").strip())
        for artifact in captured:
            if render_compaction_body(summary, artifact.title, artifact.manifest_path) == artifact.body:
                captured.remove(artifact)
                left.remove(record)
                break
    return left


def _find_first_own_turn(ws: Workspace, session: sessions.Session, capture: Capture) -> int:
    """Return the position of the session's first own turn; behind the last turn if it has no capture."""
    if not session.captures:
        return len(capture.turns) + 1
    artifact = ws.documents.artifacts.get(naming.artifact_path(session.captures[0], naming.TRANSCRIPT))
    own_ids = transcript.extract_turn_ids(artifact.body)[:1] if artifact and capture.forked_from else []
    ids = (compute_turn_id(turn.source_id) if turn.source_id else None for turn in capture.turns)
    return next((position for position, turn_id in enumerate(ids) if turn_id in own_ids), 0)
