"""The worker: what hooks have signalled is captured, in the order in which they rang. (harnesses.md 0.1, 0.2)

Turn ends say only that a session is there and how far it got; session ends capture it, compactions keep their summary.
What fails is tried again, later each time, and set aside in the end, with the reason and all that it holds.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.base.identity import validate_agent_id, validate_id
from lineage.core.base.times import shift_time
from lineage.core.capture.request import COMPACTION, SESSION_END, parse_request
from lineage.documents import HookEvent
from lineage.errors import DatabaseDamaged, EngineMissing, IndexUnavailable, InvalidInput, LineageError, TranscriptError
from lineage.extraction.digests import build_digest
from lineage.harness import ADAPTERS, hook_payload, load_adapter, validate_harness
from lineage.harness.hook_payload import HookPayload
from lineage.harness.projects import resolve_project
from lineage.pipeline.capture.recorded_compactions import capture_recorded_compactions
from lineage.pipeline.capture.result import CAPTURED, CaptureResult
from lineage.pipeline.ingest.checkpoints import mark_checkpoints_used, offer_checkpoints, save_checkpoints
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, find_subagent_transcripts, locate_transcript
from lineage.pipeline.ingest.wait_until_stable import wait_until_stable
from lineage.pipeline.maintenance.finish_pending import finish_pending, run_capture
from lineage.store import StoreUnavailable
from lineage.telemetry import SeenSession
from lineage.workspace.stale_index import tolerate_outage
from lineage.workspace.workspace import Workspace

_MAX_ATTEMPTS = 5
_FIRST_DELAY_MS = 15_000
_GENERATED_NOTE = "The harness kept no summary of this compaction; lineage made this one from the records."


@dataclass(slots=True)
class DrainResult:
    """What the worker did: outcomes by status, payloads that say nothing by reason, and what went wrong. `started` says
    that a session began: the time to sweep. `left` are signals for which no time was left, `unkept` counts checkpoints
    that could not be made, by reason; `embedded` counts passages, `unembedded` says why not more."""

    outcomes: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    put_off: list[tuple[str, str]] = field(default_factory=list)
    given_up: list[tuple[str, str]] = field(default_factory=list)
    next_due: str | None = None
    started: bool = False
    left: int = 0
    unkept: Counter[str] = field(default_factory=Counter)
    embedded: int = 0
    unembedded: str = ""


def drain(ws: Workspace, histories: HarnessHistories, *, may_go_on: Callable[[], bool] = lambda: True) -> DrainResult:
    """Works off every signal that is due, keeps checkpoints of the sessions that go on, then prepares the blocks that
    new sessions begin with. `should_continue` is asked before each; what is left over is the next worker's."""
    done = DrainResult()
    finish_pending(ws)
    for rung in ws.documents.hook_queue.list_pending():
        if rung.not_before > ws.now:
            done.next_due = min(filter(None, (done.next_due, rung.not_before)))
        elif may_go_on():
            _process_event(ws, histories, rung, done)
        else:
            done.left += 1
    with tolerate_outage(ws) as outage:
        done.unkept = save_checkpoints(ws, histories, may_go_on=may_go_on)
        offer_checkpoints(ws)
    if outage.reason:
        done.unkept[outage.reason] += 1
    return done


def _process_event(ws: Workspace, histories: HarnessHistories, event: HookEvent, done: DrainResult) -> None:
    found = hook_payload.parse_hook_payload(event.harness, event.payload)
    if found is None:
        done.ignored[hook_payload.find_ignore_reason(event.harness, event.payload) or ""] += 1
        ws.documents.hook_queue.clear(event)
        return
    try:
        _validate_event(event, found)
        _HANDLERS.get(found.event, _handle_notice)(ws, histories, event, found, done)
    except DatabaseDamaged:
        raise
    except Exception as error:  # noqa: BLE001  (one that nobody expected must not keep the others waiting for ever)
        _handle_failure(ws, event, error, done)
    else:
        ws.telemetry.mark(f"event {event.harness}", f"{event.at} {found.event}")
        ws.documents.hook_queue.clear(event)


def _validate_event(event: HookEvent, signal: HookPayload) -> None:
    """Raises InvalidInput for what no other attempt will make right."""
    validate_harness(event.harness)
    validate_agent_id(event.agent)
    validate_id("session_id", signal.session_id)


def _handle_failure(ws: Workspace, event: HookEvent, error: Exception, done: DrainResult) -> None:
    why = describe_error(error)
    attempts = event.attempts + (not isinstance(error, EngineMissing | IndexUnavailable | StoreUnavailable))
    if attempts >= _MAX_ATTEMPTS or isinstance(error, InvalidInput):
        ws.documents.hook_queue.dead_letter(event, why)
        done.given_up.append((event.key, why))
        return
    until = shift_time(ws.now, milliseconds=_FIRST_DELAY_MS * 4 ** max(attempts - 1, 0))
    ws.documents.hook_queue.retry_later(event, until=until, reason=why, attempts=attempts)
    done.put_off.append((event.key, why))
    done.next_due = min(filter(None, (done.next_due, until)))


def describe_error(error: Exception) -> str:
    """What went wrong, in a sentence; of an error that nobody expected its kind alone."""
    return error.message if isinstance(error, LineageError) else f"an unexpected {type(error).__name__}"


def _handle_notice(
    ws: Workspace, _: HarnessHistories, event: HookEvent, signal: HookPayload, done: DrainResult
) -> None:
    if signal.event == hook_payload.SESSION_START:
        done.started = True
        mark_checkpoints_used(ws, event, signal)
    _record_session(ws, event, signal, signal.transcript_path, None)


def _handle_session_end(
    ws: Workspace, histories: HarnessHistories, event: HookEvent, signal: HookPayload, done: DrainResult
) -> None:
    path = _locate_transcript(histories, event, signal)
    size = wait_until_stable(path, event.at)
    outcome = capture_session_tree(ws, {**_build_payload(event, signal), "transcript_path": str(path)}, event.at)
    done.outcomes[outcome.status] += 1
    _record_session(ws, event, signal, str(path), size)
    ws.documents.checkpoints.discard(outcome.session_token)


def capture_session_tree(ws: Workspace, payload: Mapping[str, Any], at: str) -> CaptureResult:
    """Captures a session as it ends, the compactions that its transcript records, and what its sub-agents said."""
    outcome = run_capture(ws, parse_request(SESSION_END, {**payload, "captured_at": at}, agent_id=None, now=ws.now))
    harness, path = payload["harness"], Path(payload["transcript_path"])
    if outcome.status == CAPTURED and outcome.compactions:
        capture = load_adapter(harness).read(path, payload["session_id"])
        capture_recorded_compactions(ws, payload, outcome.session_token, capture, at)
    for part in find_subagent_transcripts(harness, path):
        session = ADAPTERS[harness].read(part.path, part.session).session_id or part.path.stem
        own = {"session_id": session, "transcript_path": str(part.path), "captured_at": at}
        shared = {key: payload[key] for key in ("harness", "agent_id", "cwd", "private") if key in payload}
        run_capture(ws, parse_request(SESSION_END, {**shared, **own}, agent_id=None, now=ws.now))
    return outcome


def _handle_compaction(
    ws: Workspace, histories: HarnessHistories, event: HookEvent, signal: HookPayload, done: DrainResult
) -> None:
    path = _locate_transcript(histories, event, signal)
    wait_until_stable(path, event.at)
    summary = signal.summary or _find_compaction_summary(event.harness, path, signal.session_id)
    payload = {
        **_build_payload(event, signal),
        "transcript_path": str(path),
        "summary": summary,
        "trigger": signal.trigger,
    }
    outcome = run_capture(
        ws, parse_request(COMPACTION, {**payload, "captured_at": event.at}, agent_id=None, now=ws.now)
    )
    done.outcomes[outcome.status] += 1
    _record_session(ws, event, signal, str(path), None)


def _find_compaction_summary(harness: str, path: Path, session: str) -> str:
    """The summary that the transcript holds of its newest compaction; where it holds none, one made by us."""
    capture = load_adapter(harness).read(path, session)
    newest = capture.compactions[-1] if capture.compactions else None
    if newest and newest.summary:
        return newest.summary
    before = build_digest(capture.turns[: newest.turns_before] if newest else capture.turns)
    parts = (("Asked", before.requests), ("Files touched", before.edited_files), ("Commands run", before.commands))
    lines = [f"## {heading}\n\n" + "\n".join(f"- {item}" for item in items) for heading, items in parts if items]
    return "\n\n".join([_GENERATED_NOTE, *lines])


def _locate_transcript(histories: HarnessHistories, event: HookEvent, signal: HookPayload) -> Path:
    path = locate_transcript(histories, event.harness, signal.session_id, signal.transcript_path)
    if path is None:
        named = signal.transcript_path or f"of session {signal.session_id}"
        raise TranscriptError(f"the transcript {named} is not there (any more)")
    return path


def _build_payload(event: HookEvent, signal: HookPayload) -> dict[str, Any]:
    named = {
        "harness": event.harness,
        "agent_id": event.agent,
        "session_id": signal.session_id,
        "session_key": signal.session_key,
        "lane": signal.lane,
        "project": resolve_project(signal.cwd),
        "reason": signal.reason,
    }
    return {key: value for key, value in named.items() if value is not None}


def _record_session(ws: Workspace, event: HookEvent, signal: HookPayload, path: str | None, size: int | None) -> None:
    """That the session is there, and how much of its transcript is captured; of a removed one nothing is noted."""
    token = signal.identity(event.agent).token
    if ws.documents.tombstones.has(token):
        return
    ws.telemetry.record_event(
        SeenSession(
            harness=event.harness,
            agent_id=event.agent,
            session_id=signal.session_id,
            session_token=token,
            transcript_path=path,
            cwd=signal.cwd,
            event=signal.event,
            at=event.at,
            captured_size=size,
            session_key=signal.session_key,
            lane=signal.lane,
        )
    )


_HANDLERS: Mapping[str, Callable[[Workspace, HarnessHistories, HookEvent, HookPayload, DrainResult], None]] = {
    hook_payload.SESSION_END: _handle_session_end,
    hook_payload.COMPACTION: _handle_compaction,
}
