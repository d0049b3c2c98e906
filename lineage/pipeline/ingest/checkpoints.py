"""Checkpoints: what the last turns of sessions that go on said, kept for the next one should they be interrupted.

A hook only tells that a turn ended. What was said is read when the worker runs, so a checkpoint is as new as its last
run; what came since is in the harness's own transcript, which the sweep captures. A checkpoint goes when its session
ends; one that the sweep captured ended without a word, and keeps it. (harnesses.md 0.2)
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

from lineage.core.base import hook_protocol
from lineage.core.base.hook_output import format_hook_output
from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope
from lineage.core.base.times import from_epoch, shift_time
from lineage.core.format.checkpoint import (
    MAX_AGE_DAYS,
    MAX_PER_AGENT,
    Checkpoint,
    Message,
    build_message,
    select_last_messages,
)
from lineage.core.format.turns import Turn, compute_turn_id
from lineage.documents import HookEvent
from lineage.errors import DatabaseDamaged, FormatError, TranscriptError
from lineage.harness import hook_payload, load_adapter
from lineage.harness.hook_payload import HookPayload
from lineage.harness.projects import resolve_project
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, locate_transcript
from lineage.pipeline.ingest.prepare_context import prepare_contexts
from lineage.pipeline.ingest.wait_until_stable import read_file_size
from lineage.store import read_or_none
from lineage.telemetry import SeenSession
from lineage.workspace.workspace import Workspace

NO_TRANSCRIPT = "no transcript"
PRIVATE = "private"
TOO_LARGE = "too large"
UNREADABLE = "unreadable"

_MAX_BYTES = 256 << 20
_MAX_MESSAGE_CHARS = 20_000
_INACTIVE_EVENTS = (hook_payload.SESSION_END, hook_payload.SESSION_START)


def save_checkpoints(
    ws: Workspace, histories: HarnessHistories, *, may_go_on: Callable[[], bool] = lambda: True
) -> Counter[str]:
    """Keeps a checkpoint of each agent's newest sessions that have not ended, of which a hook has told since their last
    one; drops those that are more than 7 days old, and of sessions that were removed, perhaps on another machine, or
    have turned out to be private. How many could not be kept, by reason."""
    ws.documents.checkpoints.expire(ws.now)
    for one in ws.documents.checkpoints.list_for_agent(None):
        if ws.documents.tombstones.has(one.session_token) or _is_private(ws, one.session_token):
            ws.documents.checkpoints.discard(one.session_token)
    kept = {one.session_token: one.saved_at for one in ws.documents.checkpoints.list_for_agent(None)}
    unkept: Counter[str] = Counter()
    for seen in _list_active_sessions(ws):
        if seen.at > kept.get(seen.session_token, "") and may_go_on():
            why = _save_checkpoint(ws, histories, seen)
            unkept.update([why] if why else [])
    return unkept


def _list_active_sessions(ws: Workspace) -> Iterator[SeenSession]:
    """The sessions whose checkpoints are kept, newest first."""
    since, of_agent = shift_time(ws.now, days=-MAX_AGE_DAYS), Counter[str]()
    for seen in reversed(ws.telemetry.list_seen_sessions()):
        if seen.event not in _INACTIVE_EVENTS and seen.at >= since:
            of_agent[seen.agent_id] += 1
            if of_agent[seen.agent_id] <= MAX_PER_AGENT:
                yield seen


def offer_checkpoints(ws: Workspace) -> None:
    """Prepares the blocks that new sessions begin with, and notes which checkpoints they hold from now on."""
    prepare_contexts(ws)
    waiting = [
        one for one in ws.documents.checkpoints.list_for_agent(None) if one.is_valid(ws.now) and not one.offered_at
    ]
    if waiting:
        text = "\n".join(
            _read_text(ws, entry.key) for entry in ws.documents.context_cache.store.list(hook_protocol.CONTEXT_CACHE)
        )
        at = from_epoch(time.time())  # not the run's time: a session that began meanwhile got the block before
        for one in waiting:
            if one.title in text:
                ws.documents.checkpoints.mark_offered(one.agent_id, one.session_token, at)


def mark_checkpoints_used(ws: Workspace, event: HookEvent, signal: HookPayload) -> None:
    """Marks those checkpoints as used that a session began with: its block holds them, as its harness was given it, and
    held them before the hook rang. One that came into the block just then may be recovered a second time; none is lost.
    A session that goes on itself has no use for its own."""
    checkpoints = ws.documents.checkpoints
    checkpoints.discard(signal.identity(event.agent).token)
    answer = format_hook_output(event.harness, _find_context_block(ws, event.agent, signal.cwd)) if signal.cwd else ""
    for one in checkpoints.list_for_agent(event.agent):
        if one.offered_at and one.offered_at < event.at and one.title in answer:
            checkpoints.mark_used(event.agent, one.session_token, event.at)


def _save_checkpoint(ws: Workspace, histories: HarnessHistories, seen: SeenSession) -> str | None:
    """Keeps a session's checkpoint; why not, where it could not be."""
    path = locate_transcript(histories, seen.harness, seen.session_id, seen.transcript_path)
    size = read_file_size(path) if path else None
    if path is None or size is None:
        return NO_TRANSCRIPT
    if size > _MAX_BYTES:
        return TOO_LARGE
    try:
        return _save_locked(ws, seen, path)
    except DatabaseDamaged:
        raise
    except TranscriptError:
        return UNREADABLE
    except Exception as error:  # noqa: BLE001  (one that nobody expected must not keep the worker from its work)
        return type(error).__name__


def _save_locked(ws: Workspace, seen: SeenSession, path: Path) -> str | None:
    """Of a removed session nothing is kept, nor counted."""
    with sessions.session_lock(ws, seen.session_token):
        if ws.documents.tombstones.has(seen.session_token):
            return None
        if _is_private(ws, seen.session_token):
            return PRIVATE
        ws.documents.checkpoints.put(_build_checkpoint(ws, seen, path))
    return None


def _build_checkpoint(ws: Workspace, seen: SeenSession, path: Path) -> Checkpoint:
    capture = load_adapter(seen.harness).read(path, seen.session_id)
    return Checkpoint(
        agent_id=seen.agent_id,
        session_id=seen.session_id,
        session_token=seen.session_token,
        harness=seen.harness,
        project=ws.build_sanitizer().sanitize_optional(resolve_project(seen.cwd or capture.project)),
        saved_at=seen.at,
        messages=_build_messages(ws, capture.turns),
    )


def _build_messages(ws: Workspace, turns: Sequence[Turn]) -> tuple[Message, ...]:
    """The last ones, sanitized before they are cut; without what a fork brought from a session that was removed."""
    removed = ws.documents.tombstones.read_removed_turns()
    said = select_last_messages(
        turn for turn in turns if not turn.source_id or compute_turn_id(turn.source_id) not in removed
    )
    texts = ws.build_sanitizer().sanitize_all([turn.text[:_MAX_MESSAGE_CHARS] for turn in said])
    return tuple(build_message(turn, text) for turn, text in zip(said, texts, strict=True))


def _is_private(ws: Workspace, token: str) -> bool:
    """Whether nothing of a session may leave it; what cannot be read is in doubt, and private."""
    try:
        session = sessions.load_session(ws, token)
    except FormatError:
        return True
    jobs = any(job.payload.get("private") is True for job in session.jobs)
    return not is_allowed_in_scope(GLOBAL, private=session.manifest.private if session.manifest else jobs, token=token)


def _find_context_block(ws: Workspace, agent: str, folder: str) -> str:
    """The block that the doorbell answers a session's start in a folder with: the folder's own, or the next one above
    it in its repository. (`lineage.cli.hook_entry`)"""
    around = [Path(folder), *Path(folder).parents]
    top = next((number for number, place in enumerate(around) if os.path.lexists(place / ".git")), 0)
    for place in [folder, *map(str, around[1 : top + 1])]:
        checksum = crc32(f"{agent}\n{place}".encode("utf-8", "replace"))
        head, _, text = _read_text(ws, hook_protocol.context_block_key(agent, place, checksum)).partition("\n")
        if text and f"{head}\n" == hook_protocol.context_block_header(agent, place):
            return text
    return ""


def _read_text(ws: Workspace, key: str) -> str:
    blob = read_or_none(ws.documents.context_cache.store, key)
    return blob.data.decode("utf-8", errors="replace") if blob else ""
