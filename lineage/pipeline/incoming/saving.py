"""A checkpoint that a harness brings itself, instead of being read from its transcript. (`pipeline.checkpointing`)"""

from collections.abc import Sequence

from lineage.core.checkpoint import Checkpoint, last_said, message
from lineage.core.identity import Identity, checked_agent, checked_id
from lineage.core.links import one_line
from lineage.core.privacy import GLOBAL, may_reach
from lineage.core.times import utc
from lineage.core.turns import ROLES, Turn
from lineage.errors import InvalidInput
from lineage.harness.projects import project_of
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House

Said = tuple[str, str, str | None]
"""A message as it comes: role, text, a time with a zone if there is one."""


def save(
    house: House, *, agent_id: str, session_id: str, harness: str, project: str | None, said: Sequence[Said]
) -> Checkpoint:
    """Keeps the last 50 messages of a session that goes on, sanitized, for the one after it should it be interrupted.

    Raises InvalidInput for a private session, for ids and times that there can't be and where nothing was said,
    RemovedError for a session that was removed, EngineMissing where nothing can be redacted.
    """
    token = Identity(checked_agent(agent_id), checked_id("session_id", session_id)).token
    turns = [Turn(role, text, utc(at) if at else None) for role, text, at in said if role in ROLES]
    messages = last_said(turns)
    if not messages:
        raise InvalidInput("a checkpoint without messages", hint="give what the user and the agent said last")
    with sessions.exclusively(house, token):
        house.canon.tombstones.refuse(token)
        _refuse_private(house, token)
        sanitizer = house.sanitizer()
        texts = sanitizer.texts([turn.text for turn in messages])
        checkpoint = Checkpoint(
            agent_id=agent_id,
            session_id=sanitizer.text(session_id.strip()),
            session_token=token,
            harness=one_line(sanitizer.text(checked_id("harness", harness))),
            project=sanitizer.optional(project_of(project)),
            saved_at=house.now,
            messages=tuple(message(turn, text) for turn, text in zip(messages, texts, strict=True)),
        )
        house.canon.checkpoints.put(checkpoint)
    return checkpoint


def newest(house: House, agent_id: str, project: str | None = None) -> Checkpoint | None:
    """The checkpoint that an agent's next session would be told of. Raises InvalidInput for an agent's id that is
    none."""
    found = house.canon.checkpoints.get(checked_agent(agent_id), house.now, project=project_of(project))
    return None if found is None or house.canon.tombstones.has(found.session_token) else found


def _refuse_private(house: House, token: str) -> None:
    session = sessions.observed(house, token)
    private = session.manifest.private if session.manifest else any(job.payload.get("private") for job in session.jobs)
    if not may_reach(GLOBAL, private=bool(private), token=token):
        raise InvalidInput("a private session leaves no checkpoint", hint="its end is captured like any other")
