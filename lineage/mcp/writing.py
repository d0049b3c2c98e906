"""Tools that write. What an agent says through them is an agent's: derived, and what would be global waits."""

from lineage.core.entry import TASK
from lineage.errors import InvalidInput
from lineage.mcp.asking import Call
from lineage.mcp.framing import Piece, framed
from lineage.mcp.looking import task_list
from lineage.pipeline.knowledge import bookkeeping, remembering
from lineage.pipeline.knowledge.remembering import FORGOTTEN, KNOWN, REMEMBERED, WAITS, Memo, Remembered


def remember(call: Call) -> str:
    """Writes one entry."""
    memo = Memo(
        text=call["text"],
        kind=call["kind"],
        scope=call.reach.writable(call["scope"]),
        agent_id=call.reach.agent_id,
        project=call["project"],
        tags=call["tags"],
        supersedes=tuple(call.reach.entry(prefix).entry.id for prefix in call["supersedes"]),
    )
    return _outcome(call, remembering.remember(call.house, memo, call.caller))


def tasks(call: Call) -> str:
    """Lists, adds or ticks tasks."""
    if call["action"] == "add":
        return _added(call)
    return _done(call) if call["action"] == "done" else task_list(call)


def _added(call: Call) -> str:
    if not call["text"]:
        raise InvalidInput("a task has to say what is to be done", hint="give `text`")
    memo = Memo(text=call["text"], kind=TASK, agent_id=call.reach.agent_id, project=call.project)
    return _outcome(call, remembering.remember(call.house, memo, call.caller))


def _done(call: Call) -> str:
    if not call["id"]:
        raise InvalidInput("which task is done?", hint="give `id`, as action `list` shows it")
    known = call.reach.entry(call["id"])
    place = bookkeeping.done(call.house, known.entry.id)
    return framed("done", [Piece(place.entry.id, f"{place.entry.body}\n{place.ref.kind} of {place.ref.scope}")], "")


def _outcome(call: Call, outcome: Remembered) -> str:
    """What became of a text. Raises InvalidInput where nothing was written."""
    if outcome.status not in (REMEMBERED, WAITS, KNOWN):
        hint = "the user has it forgotten" if outcome.status == FORGOTTEN else outcome.hint
        raise InvalidInput(f"not remembered: {outcome.reason or outcome.status}; nothing was written", hint=hint)
    is_seen = call.reach.sees(outcome.scope)
    where = f"{outcome.kind} of {outcome.scope}, in {outcome.path}" if is_seen else ""
    redacted = ", ".join(f"{name} {count}" for name, count in outcome.redactions.items())
    notes = [
        "it waits until the user confirms it, and is not shown before" * (outcome.status == WAITS),
        f"redacted: {redacted}" * bool(redacted),
    ]
    head = "; ".join(filter(None, (outcome.status, *notes)))
    return framed(head, [Piece(outcome.id or "", where)], "")
