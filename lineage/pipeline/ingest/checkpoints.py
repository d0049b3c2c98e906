"""Checkpoints: the last messages of running sessions, kept for the next session after an interruption.

A hook only reports the end of a turn; the worker reads the messages. So a checkpoint is as new as the worker's last
run, and the sweep captures later turns. A checkpoint is deleted when its session ends; after a capture by the sweep
it stays, for that session was interrupted. (harnesses.md 0.2) A harness may also bring one itself.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lineage.core.base import hook_protocol
from lineage.core.base.hook_output import format_hook_output
from lineage.core.base.links import to_one_line
from lineage.core.base.naming import Identity, validate_agent_id, validate_id
from lineage.core.base.times import from_epoch, shift_time, to_utc
from lineage.core.capture.capture import Capture
from lineage.core.format.checkpoint import MAX_AGE_DAYS, MAX_PER_AGENT, Checkpoint, build_message, select_last_messages
from lineage.core.format.turns import ASSISTANT, ROLES, Turn, compute_turn_id
from lineage.documents import HookEvent
from lineage.errors import DatabaseDamaged, InvalidInput, TranscriptError
from lineage.harness import spec
from lineage.harness.adapters import load_adapter
from lineage.harness.hook_payload import HookPayload
from lineage.harness.registry import find_output
from lineage.pipeline.capture.session import goes_on_from_private, is_private, session_lock
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, locate_transcript, read_file_size
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.pipeline.memory.workspace_evidence import gather_evidence
from lineage.projects import list_context_names, resolve_project
from lineage.store import Store, read_or_none
from lineage.telemetry import SeenSession
from lineage.workspace.projects import KnownProjects, find_key, identify
from lineage.workspace.workspace import Workspace

IncomingMessage = tuple[str, str, str | None]
"""A raw message: role, text, and a time with a zone, if any."""

NO_TRANSCRIPT = "no transcript"
PRIVATE = "private"
TOO_LARGE = "too large"
UNREADABLE = "unreadable"

_MAX_BYTES = 256 << 20  # of a transcript: reading more takes longer than a checkpoint is worth
_MAX_MESSAGE_CHARS = 20_000  # cut before the sanitizer, which would read the rest for nothing
_INACTIVE_EVENTS = (spec.SESSION_END, spec.SESSION_START)


def save_checkpoints(
    ws: Workspace, histories: HarnessHistories, *, should_continue: Callable[[], bool] = lambda: True
) -> Counter[str]:
    """Save a checkpoint of each agent's newest running sessions with events since their last one.

    Delete those older than 7 days, and those of removed and private sessions. Return the failures, counted by reason.
    """
    checkpoints = ws.documents.checkpoints
    checkpoints.expire(ws.now)
    ws.documents.recall_log.expire(ws.now)
    for checkpoint in checkpoints.list_for_agent(None):
        # Another machine may have removed the session, or its capture have made it private.
        if ws.documents.tombstones.has(checkpoint.session_token) or is_private(ws, checkpoint.session_token):
            checkpoints.discard(checkpoint.session_token)
    saved_at = {checkpoint.session_token: checkpoint.saved_at for checkpoint in checkpoints.list_for_agent(None)}
    failures: Counter[str] = Counter()
    for seen in _list_active_sessions(ws):
        if seen.at > saved_at.get(seen.session_token, "") and should_continue():
            reason = _save_checkpoint(ws, histories, seen)
            failures.update([reason] if reason else [])
    return failures


def _list_active_sessions(ws: Workspace) -> Iterator[SeenSession]:
    """Yield the sessions with a checkpoint, newest first."""
    since, counts = shift_time(ws.now, days=-MAX_AGE_DAYS), Counter[str]()
    for seen in reversed(ws.telemetry.list_seen_sessions()):
        if seen.event not in _INACTIVE_EVENTS and seen.at >= since:
            counts[seen.agent_id] += 1
            if counts[seen.agent_id] <= MAX_PER_AGENT:
                yield seen


def offer_checkpoints(ws: Workspace) -> None:
    """Prepare the contexts of new sessions, and mark the checkpoints that they hold from now on."""
    prepare_contexts(ws)
    checkpoints, blocks = ws.documents.checkpoints, ws.documents.context_cache.store
    pending = [item for item in checkpoints.list_for_agent(None) if item.is_valid(ws.now) and not item.offered_at]
    if pending:
        text = "\n".join(_read_text(blocks, entry.key) for entry in blocks.list(hook_protocol.CONTEXT_CACHE))
        at = from_epoch(time.time())  # not the run's time: a session that began since then got the older block
        for checkpoint in pending:
            if checkpoint.title in text:
                checkpoints.mark_offered(checkpoint.agent_id, checkpoint.session_token, at)


def mark_checkpoints_used(ws: Workspace, event: HookEvent, payload: HookPayload) -> None:
    """Mark the checkpoints that a session began with as used: its context block held them before the hook ran.

    A checkpoint that entered the block at that moment may be offered twice; none is lost. A resumed session needs no
    checkpoint of its own.
    """
    checkpoints = ws.documents.checkpoints
    checkpoints.discard(payload.identity(event.agent).token)
    names = list_context_names(payload.cwd) if payload.cwd else []
    answer = format_hook_output(find_output(event.harness), ws.documents.context_cache.find(event.agent, names).text)
    for checkpoint in checkpoints.list_for_agent(event.agent):
        if checkpoint.offered_at and checkpoint.offered_at < event.at and checkpoint.title in answer:
            checkpoints.mark_used(event.agent, checkpoint.session_token, event.at)


def _save_checkpoint(ws: Workspace, histories: HarnessHistories, seen: SeenSession) -> str | None:
    """Save a session's checkpoint; return the reason of a failure."""
    path = locate_transcript(histories, seen.harness, seen.session_id, seen.transcript_path)
    size = read_file_size(path) if path else None
    if path is None or size is None:
        return NO_TRANSCRIPT
    if size > _MAX_BYTES:
        return TOO_LARGE
    try:
        with session_lock(ws, seen.session_token):
            if not ws.documents.tombstones.has(seen.session_token):
                capture = _read_public(ws, seen, path)
                if capture is None:
                    return PRIVATE
                ws.documents.checkpoints.put(_build_checkpoint(ws, seen, capture))
    except DatabaseDamaged:
        raise
    except TranscriptError:
        return UNREADABLE
    except Exception as error:  # noqa: BLE001  (a bug must not keep the worker from its other work)
        return type(error).__name__
    return None


def _read_public(ws: Workspace, seen: SeenSession, path: Path) -> Capture | None:
    """Return what a session's transcript holds so far, None if it is private or goes on from a private one."""
    if is_private(ws, seen.session_token):
        return None
    capture = load_adapter(seen.harness).read(path, seen.session_id)
    return None if goes_on_from_private(ws, seen.agent_id, capture.forked_from) else capture


def _build_checkpoint(ws: Workspace, seen: SeenSession, capture: Capture) -> Checkpoint:
    # A fork may hold turns of a removed session.
    removed = ws.documents.tombstones.read_removed_turns()
    last = select_last_messages(
        turn for turn in capture.turns if not turn.source_id or compute_turn_id(turn.source_id) not in removed
    )
    texts = ws.build_sanitizer().sanitize_all([turn.text[:_MAX_MESSAGE_CHARS] for turn in last])
    texts = _drop_repeated(ws, seen.session_token, seen.cwd or capture.project, capture.turns, last, texts)
    return Checkpoint(
        agent_id=seen.agent_id,
        session_id=seen.session_id,
        session_token=seen.session_token,
        harness=seen.harness,
        project=ws.build_sanitizer().sanitize_optional(resolve_project(seen.cwd or capture.project)),
        saved_at=seen.at,
        messages=tuple(build_message(turn, text) for turn, text in zip(last, texts, strict=True)),
    )


def _drop_repeated(
    ws: Workspace, token: str, folder: str | None, turns: Sequence[Turn], messages: Sequence[Turn], texts: Sequence[str]
) -> list[str]:
    """Return the texts of messages, those of the agent without sentences that repeat a tool (reliability: overlap)."""
    project, repository = identify(ws, folder)
    evidence = gather_evidence(ws, turns, project=project, repository=repository, token=token, until=ws.now)
    # One call for all messages: each would read all results again.
    own = [text for turn, text in zip(messages, texts, strict=True) if turn.role == ASSISTANT]
    cleaned = iter(evidence.clean_all(own))
    return [next(cleaned) if turn.role == ASSISTANT else text for turn, text in zip(messages, texts, strict=True)]


def _read_text(store: Store, key: str) -> str:
    blob = read_or_none(store, key)
    return blob.data.decode("utf-8", errors="replace") if blob else ""


def save_checkpoint(
    ws: Workspace,
    *,
    agent_id: str,
    session_id: str,
    harness: str,
    project: str | None,
    raw_messages: Sequence[IncomingMessage],
) -> Checkpoint:
    """Save the last 50 messages of a running session, sanitized, for the next one after an interruption.

    Raise InvalidInput for a private session, malformed ids and times, and no messages; RemovedError for a removed
    session; EngineMissing without google-re2.
    """
    token = Identity(validate_agent_id(agent_id), validate_id("session_id", session_id)).token
    turns = [Turn(role, text, to_utc(at) if at else None) for role, text, at in raw_messages if role in ROLES]
    messages = select_last_messages(turns)
    if not messages:
        raise InvalidInput("a checkpoint without messages", hint="give what the user and the agent said last")
    with session_lock(ws, token):
        ws.documents.tombstones.raise_if_removed(token)
        if is_private(ws, token):
            raise InvalidInput("a private session leaves no checkpoint", hint="its end is captured like any other")
        sanitizer = ws.build_sanitizer()
        texts = sanitizer.sanitize_all([turn.text for turn in messages])
        texts = _drop_repeated(ws, token, project, turns, messages, texts)
        checkpoint = Checkpoint(
            agent_id=agent_id,
            session_id=sanitizer.sanitize(session_id.strip()),
            session_token=token,
            harness=to_one_line(sanitizer.sanitize(validate_id("harness", harness))),
            project=sanitizer.sanitize_optional(resolve_project(project)),
            saved_at=ws.now,
            messages=tuple(build_message(turn, text) for turn, text in zip(messages, texts, strict=True)),
        )
        ws.documents.checkpoints.put(checkpoint)
    return checkpoint


def load_newest_checkpoint(ws: Workspace, agent_id: str, project: str | None = None) -> Checkpoint | None:
    """Return the checkpoint for an agent's next session. Raise InvalidInput for a malformed agent id."""
    keys = KnownProjects(ws, ws.index.list_projects(), project).list_equal(find_key(ws, project))
    newest = ws.documents.checkpoints.get(
        validate_agent_id(agent_id), ws.now, lambda one: project is None or find_key(ws, one.project) in keys
    )
    return None if newest is None or ws.documents.tombstones.has(newest.session_token) else newest
