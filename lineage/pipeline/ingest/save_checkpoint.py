"""Checkpoints that a harness brings itself; `checkpoints` reads the others from transcripts."""

from collections.abc import Sequence

from lineage.core.base.book_paths import GLOBAL, is_allowed_in_scope
from lineage.core.base.links import to_one_line
from lineage.core.base.naming import Identity, validate_agent_id, validate_id
from lineage.core.base.times import to_utc
from lineage.core.format.checkpoint import Checkpoint, build_message, select_last_messages
from lineage.core.format.turns import ROLES, Turn
from lineage.errors import InvalidInput
from lineage.harness.projects import resolve_project
from lineage.pipeline.capture.session import load_session, session_lock
from lineage.workspace.workspace import Workspace

IncomingMessage = tuple[str, str, str | None]
"""A raw message: role, text, and a time with a zone, if any."""


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
        if is_session_private(ws, token):
            raise InvalidInput("a private session leaves no checkpoint", hint="its end is captured like any other")
        sanitizer = ws.build_sanitizer()
        texts = sanitizer.sanitize_all([turn.text for turn in messages])
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
    newest = ws.documents.checkpoints.get(validate_agent_id(agent_id), ws.now, project=resolve_project(project))
    return None if newest is None or ws.documents.tombstones.has(newest.session_token) else newest


def is_session_private(ws: Workspace, token: str) -> bool:
    """Return whether nothing of a session may leave it. Raise FormatError if its manifest is damaged."""
    private = load_session(ws, token).is_private()
    return not is_allowed_in_scope(GLOBAL, private=private, token=token)
