"""A checkpoint that a harness brings itself, instead of being read from its transcript. (`pipeline.checkpointing`)"""

from collections.abc import Sequence

from lineage.core.base.identity import Identity, validate_agent_id, validate_id
from lineage.core.base.links import to_one_line
from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope
from lineage.core.base.times import to_utc
from lineage.core.format.checkpoint import Checkpoint, build_message, select_last_messages
from lineage.core.format.turns import ROLES, Turn
from lineage.errors import InvalidInput
from lineage.harness.projects import resolve_project
from lineage.pipeline.capture import session as sessions
from lineage.workspace.workspace import Workspace

IncomingMessage = tuple[str, str, str | None]
"""A message as it comes: role, text, a time with a zone if there is one."""


def save_checkpoint(
    ws: Workspace,
    *,
    agent_id: str,
    session_id: str,
    harness: str,
    project: str | None,
    raw_messages: Sequence[IncomingMessage],
) -> Checkpoint:
    """Keeps the last 50 messages of a session that goes on, sanitized, for the one after it should it be interrupted.

    Raises InvalidInput for a private session, for ids and times that there can't be and where nothing was said,
    RemovedError for a session that was removed, EngineMissing where nothing can be redacted.
    """
    token = Identity(validate_agent_id(agent_id), validate_id("session_id", session_id)).token
    turns = [Turn(role, text, to_utc(at) if at else None) for role, text, at in raw_messages if role in ROLES]
    messages = select_last_messages(turns)
    if not messages:
        raise InvalidInput("a checkpoint without messages", hint="give what the user and the agent said last")
    with sessions.session_lock(ws, token):
        ws.documents.tombstones.raise_if_removed(token)
        _refuse_private(ws, token)
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
    """The checkpoint that an agent's next session would be told of. Raises InvalidInput for an agent's id that is
    none."""
    found = ws.documents.checkpoints.get(validate_agent_id(agent_id), ws.now, project=resolve_project(project))
    return None if found is None or ws.documents.tombstones.has(found.session_token) else found


def _refuse_private(ws: Workspace, token: str) -> None:
    session = sessions.load_session(ws, token)
    private = session.manifest.private if session.manifest else any(job.payload.get("private") for job in session.jobs)
    if not is_allowed_in_scope(GLOBAL, private=bool(private), token=token):
        raise InvalidInput("a private session leaves no checkpoint", hint="its end is captured like any other")
