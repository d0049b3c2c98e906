"""Prepared contexts: what a session is told at its start, written before it begins (usefulness: At start).

They follow every capture, import and change of a book: the next session gets the new text.
"""

import os
from collections.abc import Collection
from itertools import product

from lineage.core.base.context_blocks import NO_PROJECT, ContextFile
from lineage.core.base.hook_output import MAX_TOKENS
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.base.project import build_project_key, is_absolute
from lineage.core.capture.ledger import Window
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.projection.memory_md import list_active_projects
from lineage.workspace.book_reader import BookReader
from lineage.workspace.projects import KnownProjects, build_key, identify
from lineage.workspace.workspace import Workspace, tolerate_outage

_MAX_UNSEEN = 100  # projects of other machines: each takes a few milliseconds of every run of the worker


def refresh_contexts(ws: Workspace, told: Collection[tuple[str, str]] | None = None, folder: str | None = None) -> None:
    """Prepare contexts anew behind a change. `told` are the agents and names that had one before it: all that have one.

    Where no session was ever told anything, nothing is stale: the first hook's worker begins. `folder` is that of a
    project that may have no session yet.
    """
    told = ws.documents.context_cache.list_names() if told is None else told
    named = {*told, (DEFAULT_AGENT, folder or "")}
    if told:
        with tolerate_outage(ws):
            prepare_contexts(ws, {(agent, name) for agent, name in named if is_absolute(name)})


def prepare_contexts(ws: Workspace, folders: Collection[tuple[str, str]] = ()) -> int:
    """Write the blocks of every agent's projects, and of no project; return the number of new ones.

    A hook answers a session start by reading one block, by its project's identity: so a worktree, clone or machine is
    told the same from its first session on. `folders` are agents with folders that may have no session yet. Each block
    fits the harness with the smallest limit, so no harness cuts it. (harnesses.md 0.4)
    """
    budget, reader, changed = min(ws.settings.context.budget, MAX_TOKENS), BookReader(ws), 0
    for (agent, key), (project, names) in _list_contexts(ws, folders).items():
        block = build_context(ws, ContextRequest(agent_id=agent, project=project, budget=budget), reader)
        file = ContextFile(key, block.entry_ids, block.body)
        written = [ws.documents.context_cache.put(agent, name, file) for name in sorted(names)]
        changed += bool(file.text) and any(written)
    return changed


def _list_contexts(
    ws: Workspace, folders_without: Collection[tuple[str, str]]
) -> dict[tuple[str, str], tuple[str, set[str]]]:
    """Return a folder or key for each agent and project, and all names of that.

    Of projects that are neither seen on this machine nor in MEMORY.md so many that a run of the worker stays short.
    """
    agents = {DEFAULT_AGENT, *ws.index.list_agents()}
    seen = {(seen.agent_id, seen.cwd) for seen in ws.telemetry.list_seen_sessions() if seen.cwd}
    seen |= set(folders_without)
    known_projects = ws.index.list_projects()
    folders = sorted(seen | _list_active_projects(ws))
    identified = {folder: identify(ws, folder) for _, folder in folders}
    here = [(build_project_key(one), path) for path, one in identified.values() if path and one]
    known = KnownProjects(ws, [*known_projects, *here])
    contexts: dict[tuple[str, str], tuple[str, set[str]]] = {}
    for agent, folder in folders:
        project, repository = identified[folder]
        key = known.join(build_key(project, repository))
        former, names = contexts.get((agent, key), ("", set[str]()))
        own = {build_key(project, repository), *known.list_equal(key)}
        contexts[agent, key] = (project or folder) if repository or not former else former, names | own
    others = sorted({known.join(key) for key, _ in known_projects})[:_MAX_UNSEEN]
    for agent, key in product(sorted(agents), others):
        contexts.setdefault((agent, key), (key, known.list_equal(key)))
    for agent in agents | {agent for agent, _ in seen}:
        contexts[agent, NO_PROJECT] = (os.sep, {NO_PROJECT})
    return contexts


def _list_active_projects(ws: Workspace) -> set[tuple[str, str]]:
    """Return (agent, path) of the projects that MEMORY.md names: sessions of other machines are known from it."""
    window = Window.from_end(ws.now)
    ledgers = [(agent, ws.index.load_ledger(agent, window)) for agent in ws.index.list_agents()]
    return {(agent, path) for agent, ledger in ledgers for path in list_active_projects(ledger.tallies)}
