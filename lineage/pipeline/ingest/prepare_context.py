"""The context blocks that new sessions begin with, written ahead (harnesses.md 0.4).

They are prepared after every run: a hook answers a session start by reading one file. Each fits the harness with the
smallest limit, so no harness cuts it.
"""

from lineage.core.base.hook_output import MAX_TOKENS
from lineage.harness.projects import resolve_project
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.workspace.book_reader import BookReader
from lineage.workspace.workspace import Workspace


def prepare_contexts(ws: Workspace) -> int:
    """Write the block of every agent and folder with a session, and of its project; return the number of changes."""
    seen = {(seen.agent_id, seen.cwd) for seen in ws.telemetry.list_seen_sessions() if seen.cwd}
    # A session may start in a subfolder or at the project's root: both get a block.
    places = sorted(seen | {(agent, resolve_project(cwd) or cwd) for agent, cwd in seen})
    budget, reader, changed = min(ws.settings.context.budget, MAX_TOKENS), BookReader(ws), 0
    for agent, folder in places:
        block = build_context(ws, ContextRequest(agent_id=agent, project=folder, budget=budget), reader)
        changed += ws.documents.context_cache.put(agent, folder, f"{block.body}\n" if block.body else "")
    return changed
