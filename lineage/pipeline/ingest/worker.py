"""The worker: process queued hook events in order, and sweep (harnesses.md 0.1, 0.2).

A session end captures the session, a compaction keeps its summary, any other event only records the session. A failed
event is retried with growing delays, then goes to the dead letters with its reason. The sweep captures sessions that
ended without an event, or grew since their capture.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lineage.core.base.hook_protocol import session_block_name
from lineage.core.base.naming import validate_agent_id, validate_id
from lineage.core.base.times import from_epoch, shift_time
from lineage.core.capture.request import COMPACTION, SESSION_END, parse_request
from lineage.documents import HookEvent
from lineage.errors import (
    DatabaseDamaged,
    DiskFull,
    EngineMissing,
    IndexUnavailable,
    InvalidInput,
    LineageError,
    TranscriptError,
)
from lineage.extraction.digests import build_digest
from lineage.harness import spec
from lineage.harness.adapters import ADAPTERS, load_adapter, validate_harness
from lineage.harness.hook_payload import HookPayload, find_ignore_reason, parse_hook_payload
from lineage.harness.programs import is_shared_process
from lineage.harness.unread import UnreadStore
from lineage.pipeline.capture.compaction import capture_recorded_compactions
from lineage.pipeline.capture.session import CAPTURED, CaptureResult
from lineage.pipeline.ingest import locate_transcript as transcripts
from lineage.pipeline.ingest.before_compaction import prepare_compaction
from lineage.pipeline.ingest.checkpoints import mark_checkpoints_used, offer_checkpoints, save_checkpoints
from lineage.pipeline.ingest.import_sources import find_lane
from lineage.pipeline.maintenance.finish_pending import finish_pending, run_capture
from lineage.processes import is_running
from lineage.projects import resolve_project
from lineage.store import StoreUnavailable
from lineage.telemetry import SeenSession
from lineage.workspace.workspace import Workspace, find_outage, tolerate_outage

_MAX_ATTEMPTS = 5
_FIRST_DELAY_MS = 15_000
_HOPELESS_DELAY_MS = 600_000  # longer than a worker waits: the next hook's worker tries again
_GENERATED_NOTE = "The harness kept no summary of this compaction; lineage made this one from the records."
_NOT_YET = "9998-12-31T00:00:00.000Z"
_WORDLESS = "a session without a word"
IDLE_MINUTES = 10


@dataclass(slots=True)
class DrainResult:
    """The work of one run.

    `outcomes` counts captures by status, `ignored` payloads by reason. `put_off` and `given_up` are (event, reason).
    `next_due` is the time of the next retry, canonical UTC. `started` means that a session began: time to sweep. `left`
    counts events out of time, `unkept` lost checkpoints by reason; `embedded` counts passages, `unembedded` says why
    not more. `waiting`: sessions that are open, which a worker watches.
    """

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
    waiting: list["OpenSession"] = field(default_factory=list)


def drain(
    ws: Workspace, histories: transcripts.HarnessHistories, *, should_continue: Callable[[], bool] = lambda: True
) -> DrainResult:
    """Process due events while `should_continue`, save running sessions' checkpoints, prepare new ones' contexts."""
    done = DrainResult()
    ws.documents.spool.store.collect_garbage()  # what a hook that was killed left
    if ws.documents.base.is_remote:
        keep_settings(ws)
    finish_pending(ws)  # first what a crash left behind: a session's captures stay in order
    for event in ws.documents.hook_queue.list_pending():
        if event.not_before > ws.now:
            done.next_due = min(filter(None, (done.next_due, event.not_before)))
        elif should_continue():
            _process_event(ws, histories, event, done)
        else:
            done.left += 1
    with tolerate_outage(ws) as outage:
        done.unkept = save_checkpoints(ws, histories, should_continue=should_continue)
        offer_checkpoints(ws)
    if outage.reason:
        done.unkept[outage.reason] += 1
    return done


def keep_settings(ws: Workspace) -> None:
    """Keep the settings of recall on this machine: the hook reads nothing else."""
    recall = ws.settings.recall
    text = f"[recall]\nprompt = {recall.prompt}\naction = {recall.action}\n"
    ws.documents.recall_log.put_settings(text.lower())


def _process_event(ws: Workspace, histories: transcripts.HarnessHistories, event: HookEvent, done: DrainResult) -> None:
    payload = parse_hook_payload(event.harness, event.payload)
    if payload is None:
        done.ignored[find_ignore_reason(event.harness, event.payload) or ""] += 1
        ws.documents.hook_queue.clear(event)
        return
    try:
        validate_harness(event.harness)
        validate_agent_id(event.agent)
        validate_id("session_id", payload.session_id)
        if payload.lane:
            payload = replace(payload, lane=find_lane(ws, event.agent, payload.session_id, payload.lane))
        match payload.event:
            case spec.SESSION_END:
                _handle_session_end(ws, histories, event, payload, done)
            case spec.COMPACTION:
                _handle_compaction(ws, histories, event, payload, done)
            case spec.BEFORE_COMPACTION:
                _record_session(ws, event, payload, payload.transcript_path, None)
                _handle_before_compaction(ws, histories, event, payload)
            case _:
                if payload.event == spec.SESSION_START:
                    done.started = True
                    mark_checkpoints_used(ws, event, payload)
                _record_session(ws, event, payload, payload.transcript_path, None)
    except DatabaseDamaged:  # not this event's fault: the run begins again with a new index
        raise
    except Exception as error:  # noqa: BLE001  (a bug must not block the events behind it for ever)
        _handle_failure(ws, event, error, done)
    else:
        ws.telemetry.mark(f"event {event.harness}", f"{event.at} {payload.event}")
        ws.documents.hook_queue.clear(event)


def _handle_failure(ws: Workspace, event: HookEvent, error: Exception, done: DrainResult) -> None:
    reason = describe_error(error)
    # An outage is no attempt: the event waits as long as the server is away, or until a person helps.
    is_hopeless = isinstance(error, EngineMissing | DiskFull)
    attempts = event.attempts + (not (is_hopeless or isinstance(error, IndexUnavailable | StoreUnavailable)))
    if attempts >= _MAX_ATTEMPTS or isinstance(error, InvalidInput):
        ws.documents.hook_queue.dead_letter(event, reason)
        done.given_up.append((event.key, reason))
        return
    delay = _HOPELESS_DELAY_MS if is_hopeless else _FIRST_DELAY_MS * 4 ** max(attempts - 1, 0)
    until = shift_time(ws.now, milliseconds=delay)
    ws.documents.hook_queue.retry_later(event, until=until, reason=reason, attempts=attempts)
    done.put_off.append((event.key, reason))
    done.next_due = min(filter(None, (done.next_due, until)))


def describe_error(error: Exception) -> str:
    """Return the error's message; of an unexpected error its class only, for its message may hold raw text."""
    return error.message if isinstance(error, LineageError) else f"an unexpected {type(error).__name__}"


def _handle_session_end(
    ws: Workspace, histories: transcripts.HarnessHistories, event: HookEvent, payload: HookPayload, done: DrainResult
) -> None:
    try:
        path = _locate_transcript(histories, event, payload)
        size = transcripts.wait_until_stable(path, event.at)
        result = capture_session_tree(ws, {**_build_request(event, payload), "transcript_path": str(path)}, event.at)
    except TranscriptError:  # gone by now, at the latest while it was read
        named = transcripts.locate_transcript(histories, event.harness, payload.session_id, payload.transcript_path)
        if named or _had_turn(ws, event, payload):
            raise
        # Opened and left without a word: there is nothing to keep. Should a transcript turn up, the sweep finds it.
        done.ignored[_WORDLESS] += 1
        _record_session(ws, event, payload, payload.transcript_path, None)
        return
    done.outcomes[result.status] += 1
    _record_session(ws, event, payload, str(path), size)
    ws.documents.checkpoints.discard(result.session_token)


def _had_turn(ws: Workspace, event: HookEvent, payload: HookPayload) -> bool:
    """Return whether a hook told of a turn of this session."""
    told = ws.telemetry.list_seen_sessions(payload.identity(event.agent).token)
    # an end that is recorded was dealt with: Gemini CLI tells of each one twice
    return any(seen.event not in (spec.SESSION_START, spec.SESSION_END) for seen in told)


def capture_session_tree(ws: Workspace, payload: Mapping[str, Any], at: str) -> CaptureResult:
    """Capture a session's end, the compactions that its transcript records, and its sub-agents' sessions.

    `payload` is that of `lineage session-end`; `at` is the time of the captures, canonical UTC.
    """
    # The end comes first: only with its capture is known which of the recorded compactions are its own.
    request = parse_request(SESSION_END, {**payload, "captured_at": at}, agent_id=None, now=ws.now)
    result = run_capture(ws, request)
    ws.documents.context_cache.discard(request.identity.agent_id, session_block_name(request.identity.session_id))
    harness, path = payload["harness"], Path(payload["transcript_path"])
    if result.status == CAPTURED and result.compactions:
        capture = load_adapter(harness).read(path, payload["session_id"])
        capture_recorded_compactions(ws, payload, result.session_token, capture, at)
    shared = {key: payload[key] for key in ("harness", "agent_id", "cwd", "project", "private") if key in payload}
    parts = transcripts.find_sub_agents(harness, path, payload["session_id"])
    for parent in (parents := [payload["session_id"]]):  # a sub-agent may have started others
        for part in (part for part in parts if part.parent == parent):
            session_id = part.session or ADAPTERS[harness].read(part.path).session_id or part.path.stem
            values = {**shared, "session_id": session_id, "transcript_path": str(part.path), "captured_at": at}
            run_capture(ws, parse_request(SESSION_END, values, agent_id=None, now=ws.now))
            parents += [session_id] if session_id not in parents else []
    return result


def _handle_before_compaction(
    ws: Workspace, histories: transcripts.HarnessHistories, event: HookEvent, payload: HookPayload
) -> None:
    # Nobody waits for a second try: the compaction is over by then.
    path = transcripts.locate_transcript(histories, event.harness, payload.session_id, payload.transcript_path)
    if path:
        values = {**_build_request(event, payload), "transcript_path": str(path), "captured_at": event.at}
        prepare_compaction(ws, parse_request(SESSION_END, values, agent_id=None, now=ws.now))


def _handle_compaction(
    ws: Workspace, histories: transcripts.HarnessHistories, event: HookEvent, payload: HookPayload, done: DrainResult
) -> None:
    path = _locate_transcript(histories, event, payload)
    transcripts.wait_until_stable(path, event.at)
    values = {
        **_build_request(event, payload),
        "transcript_path": str(path),
        "summary": payload.summary or _find_compaction_summary(event.harness, path, payload.session_id),
        "trigger": payload.trigger,
        "captured_at": event.at,
    }
    result = run_capture(ws, parse_request(COMPACTION, values, agent_id=None, now=ws.now))
    done.outcomes[result.status] += 1
    _record_session(ws, event, payload, str(path), None)


def _find_compaction_summary(harness: str, path: Path, session: str) -> str:
    """Return the transcript's summary of its newest compaction; without one, a digest of the turns before it."""
    capture = load_adapter(harness).read(path, session)
    newest = capture.compactions[-1] if capture.compactions else None
    if newest and newest.summary:
        return newest.summary
    before = build_digest(capture.turns[: newest.turns_before] if newest else capture.turns)
    parts = (("Asked", before.requests), ("Files touched", before.edited_files), ("Commands run", before.commands))
    lines = [f"## {heading}\n\n" + "\n".join(f"- {item}" for item in items) for heading, items in parts if items]
    return "\n\n".join([_GENERATED_NOTE, *lines])


def _locate_transcript(histories: transcripts.HarnessHistories, event: HookEvent, payload: HookPayload) -> Path:
    path = transcripts.locate_transcript(histories, event.harness, payload.session_id, payload.transcript_path)
    if path is None:
        named = payload.transcript_path or f"of session {payload.session_id}"
        raise TranscriptError(f"the transcript {named} is not there (any more)")
    return path


def _build_request(event: HookEvent, payload: HookPayload) -> dict[str, Any]:
    values = {
        "harness": event.harness,
        "agent_id": event.agent,
        "session_id": payload.session_id,
        "session_key": payload.session_key,
        "lane": payload.lane,
        "project": resolve_project(payload.cwd),
        "reason": payload.reason,
    }
    return {key: value for key, value in values.items() if value is not None}


def _record_session(ws: Workspace, event: HookEvent, payload: HookPayload, path: str | None, size: int | None) -> None:
    """Record a session for the sweep, with the captured size of its transcript; not a removed one."""
    token = payload.identity(event.agent).token
    if ws.documents.tombstones.has(token):  # a removal leaves no trace, and a late hook must not make one
        return
    ws.telemetry.record_event(
        SeenSession(
            harness=event.harness,
            agent_id=event.agent,
            session_id=payload.session_id,
            session_token=token,
            transcript_path=path,
            cwd=payload.cwd,
            event=payload.event,
            at=event.at,
            captured_size=size,
            session_key=payload.session_key,
            lane=payload.lane,
            process=event.process,
        )
    )


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that may go on and so isn't captured yet: while its process runs, and until a time, canonical UTC."""

    harness: str
    session_id: str
    until: str | None
    process: str | None = None

    def describe(self, format_time: Callable[[str], str] = str) -> str:
        """Return a line for people, with times as `format_time` writes them."""
        until = f"until {format_time(self.until)}" if self.until else "while its process runs"
        return f"{self.harness} {self.session_id}, {until}"


def is_over(session: OpenSession, now: str) -> bool:
    """Return whether an open session's process is gone, or its quiet minutes have passed."""
    is_gone = session.process is not None and not is_running(session.process)
    return is_gone or (session.until is not None and session.until <= now)


@dataclass(slots=True)
class SweepResult:
    """`captured` tokens, `failed` (session, reason), counts; `waiting` are in use, `gone` have no transcript.

    `unread` names sessions of agents that lineage can't read, for a sweep that a person asked for.
    """

    captured: list[str] = field(default_factory=list)
    unchanged: int = 0
    waiting: list[OpenSession] = field(default_factory=list)
    gone: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    unread: list[UnreadStore] = field(default_factory=list)


def sweep(ws: Workspace, histories: transcripts.HarnessHistories, *, idle_minutes: int = IDLE_MINUTES) -> SweepResult:
    """Capture the sessions of hooks that grew since their capture and are over.

    A session is over when the process that its last event came from is gone; where that isn't known, or the process
    outlives its sessions, when nothing was written for `idle_minutes`. With none, every one that grew is captured.
    """
    done = SweepResult()
    if outage := find_outage(ws):
        done.failed.append(("what hooks told of", outage))
        return done
    for seen in ws.telemetry.list_seen_sessions():
        path = transcripts.locate_transcript(histories, seen.harness, seen.session_id, seen.transcript_path)
        size = transcripts.read_growth_mark(path) if path else None
        if path is None or size is None:
            done.gone += 1
        elif size == seen.captured_size:
            done.unchanged += 1
        elif idle_minutes and (waiting := find_open_session(seen, path, ws.now, idle_minutes)):
            done.waiting.append(waiting)
        else:
            _capture_session(ws, seen, path, size, done)
    if done.captured:
        offer_checkpoints(ws)
    return done


def find_open_session(seen: SeenSession, path: Path, now: str, idle_minutes: int) -> OpenSession | None:
    """Return the reason for which a session waits, None if it is over."""
    is_its_own = seen.process is not None and not is_shared_process(seen.harness)
    until = None if is_its_own else shift_time(_read_mtime(path), milliseconds=60_000 * idle_minutes)
    session = OpenSession(seen.harness, seen.session_id, until, seen.process)
    return None if is_over(session, now) else session


def _capture_session(ws: Workspace, seen: SeenSession, path: Path, size: int, done: SweepResult) -> None:
    payload: dict[str, Any] = {
        "harness": seen.harness,
        "agent_id": seen.agent_id,
        "session_id": seen.session_id,
        "session_key": seen.session_key,
        "lane": seen.lane,
        "transcript_path": str(path),
        "reason": "sweep",
        "project": resolve_project(seen.cwd),
    }
    try:
        result = capture_session_tree(ws, payload, ws.now)
    except DatabaseDamaged:
        raise
    except Exception as error:  # noqa: BLE001  (a bug must not keep the other sessions from capture)
        done.failed.append((seen.session_id, describe_error(error)))
        return
    # The size from before the capture: if the file grew meanwhile, the next sweep sees a difference.
    ws.telemetry.record_captured_size(seen, size)
    if result.status == CAPTURED:
        done.captured.append(result.session_token)
    else:
        done.unchanged += 1


def _read_mtime(path: Path) -> str:
    try:
        return from_epoch(path.stat().st_mtime)
    except FileNotFoundError:  # deleted just now: the next sweep counts it
        return _NOT_YET
