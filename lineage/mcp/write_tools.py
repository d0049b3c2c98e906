"""Tools that write. Their entries count as the agent's: trust is derived, and global ones wait for the user."""

from lineage.core.books.entry import TASK
from lineage.errors import InvalidInput
from lineage.mcp.call import ToolCall
from lineage.mcp.read_tools import list_tasks
from lineage.mcp.response import ResponseItem, render_response
from lineage.pipeline.memory import books
from lineage.pipeline.memory import remember as remembering
from lineage.pipeline.memory.remember import FORGOTTEN, KNOWN, PENDING_STATUS, REMEMBERED, Memo, RememberResult


def remember(call: ToolCall) -> str:
    """Write one entry."""
    memo = Memo(
        text=call["text"],
        kind=call["kind"],
        scope=call.access.check_writable_scope(call["scope"]),
        agent_id=call.access.agent_id,
        project=call["project"],
        tags=call["tags"],
        supersedes=tuple(call.access.find_entry(prefix).entry.id for prefix in call["supersedes"]),
    )
    return _render_outcome(call, remembering.remember(call.ws, memo, call.caller))


def handle_tasks(call: ToolCall) -> str:
    """List, add or tick tasks."""
    if call["action"] == "add":
        if not call["text"]:
            raise InvalidInput("a task has to say what is to be done", hint="give `text`")
        memo = Memo(text=call["text"], kind=TASK, agent_id=call.access.agent_id, project=call.project)
        return _render_outcome(call, remembering.remember(call.ws, memo, call.caller))
    if call["action"] == "list":
        return list_tasks(call)
    if not call["id"]:
        raise InvalidInput("which task is done?", hint="give `id`, as action `list` shows it")
    place = books.set_task_done(call.ws, call.access.find_entry(call["id"]).entry.id)
    text = f"{place.entry.body}\n{place.ref.kind} of {place.ref.scope}"
    return render_response("done", [ResponseItem(place.entry.id, text)], "")


def _render_outcome(call: ToolCall, outcome: RememberResult) -> str:
    """Return the outcome of a write as an answer. Raises InvalidInput if nothing was written."""
    if outcome.status not in (REMEMBERED, PENDING_STATUS, KNOWN):
        hint = "the user has it forgotten" if outcome.status == FORGOTTEN else outcome.hint
        raise InvalidInput(f"not remembered: {outcome.reason or outcome.status}; nothing was written", hint=hint)
    is_seen = call.access.may_read_scope(outcome.scope)
    where = f"{outcome.kind} of {outcome.scope}, in {outcome.path}" if is_seen else ""
    waits = "it waits until the user confirms it, and is not shown before" * (outcome.status == PENDING_STATUS)
    counts = ", ".join(f"{name} {count}" for name, count in outcome.redactions.items())
    head = "; ".join(filter(None, (outcome.status, waits, f"redacted: {counts}" * bool(counts))))
    return render_response(head, [ResponseItem(outcome.id or "", where)], "")
