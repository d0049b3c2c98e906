"""The blocks that new sessions begin with: what `lineage context` says of the project. (harnesses.md 0.4)

Prepared after every run, so that a session start is answered by reading one file. They are no larger than what the
harness that takes the least takes whole: none of them cuts what was laid out here.
"""

from lineage.core.base.hook_output import MAX_TOKENS
from lineage.harness.projects import resolve_project
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.workspace.book_reader import BookReader
from lineage.workspace.workspace import Workspace


def prepare_contexts(ws: Workspace) -> int:
    """Writes the block of every agent and folder that a session was seen in, and of its project; how many changed."""
    seen = {(seen.agent_id, seen.cwd) for seen in ws.telemetry.list_seen_sessions() if seen.cwd}
    places = sorted(seen | {(agent, resolve_project(cwd) or cwd) for agent, cwd in seen})
    knowledge = BookReader(ws)
    return sum(_prepare_context(ws, agent, folder, knowledge) for agent, folder in places)


def _prepare_context(ws: Workspace, agent: str, folder: str, book_reader: BookReader) -> bool:
    asked = ContextRequest(agent_id=agent, project=folder, budget=min(ws.settings.context.budget, MAX_TOKENS))
    block = build_context(ws, asked, book_reader)
    return ws.documents.context_cache.put(agent, folder, f"{block.body}\n" if block.body else "")
