"""The reindex of a scope: an agent's sessions, a project's, or an agent's in a project (spec: re-index).

Every file of the scope is read, checked and gets its row again, changed or not. Rows outside of it stay as they are.
"""

from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.book_paths import session_scope
from lineage.core.base.progress import Progress
from lineage.errors import NotFoundError
from lineage.index import ArtifactRow
from lineage.pipeline.maintenance.prefetch import scan_files
from lineage.pipeline.maintenance.reindex import (
    BATCH,
    ReindexReport,
    StaleFile,
    drop_rows_of_lost,
    index_scanned,
    raise_sudden_loss,
    reindex,
)
from lineage.workspace.book_index import index_books
from lineage.workspace.projects import match_projects
from lineage.workspace.publish import publish_agents
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ReindexScope:
    """The sessions of an agent, of a project, or of both; `project` is a folder, a name or the end of either."""

    agent_id: str | None = None
    project: str | None = None

    def __str__(self) -> str:
        parts = [f"the agent {self.agent_id}"] * (self.agent_id is not None)
        return " and ".join([*parts, *[f"the project {self.project}"] * (self.project is not None)])

    def holds(self, row: ArtifactRow, keys: Collection[str]) -> bool:
        """Return whether a row is of the scope; `keys` are those of its project."""
        project = row.project or ""
        is_of_project = self.project is None or row.project_key in keys or f"/{project}".endswith(f"/{self.project}")
        return is_of_project and self.agent_id in (None, row.agent_id)


def reindex_scope(
    ws: Workspace,
    scope: ReindexScope,
    *,
    confirmed: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> ReindexReport:
    """Make the rows of the scope anew, with its sessions' books, and render MEMORY.md of its agents.

    An index that is incomplete is made whole first. Raises SuddenLoss as `reindex` does, NotFoundError for no session.
    """
    if ws.index.needs_reindex:
        reindex(ws, confirmed=confirmed, progress=progress, executor=executor)
    report, known = ReindexReport(), ws.index.load_stamps()
    keys = match_projects(ws, scope.project) if scope.project else []
    tokens = ws.index.find_tokens(scope.agent_id, scope.project, keys)
    stamps = ws.documents.store.stat_all(naming.MEMORY)
    orphaned = [path for path in known if _find_token(path) in tokens and path not in stamps]
    removed = ws.documents.tombstones.list_tokens()
    unexplained = sum(removed.isdisjoint(naming.find_tokens(path)) for path in orphaned)
    raise_sudden_loss(unexplained, sum(_find_token(path) in tokens for path in known), confirmed=confirmed)
    stale = _list_stale(ws, stamps, known, tokens, removed)
    agents = {scope.agent_id} if scope.agent_id else set[str]()
    batches = [stale[start : start + BATCH] for start in range(0, len(stale), BATCH)]
    scanned = scan_files(ws.documents.store, ([file.path for file in batch] for batch in batches), executor)
    done = 0
    for batch, files in zip(batches, scanned, strict=True):
        pairs = [
            (file, found)
            for file, found in zip(batch, files, strict=True)
            if _find_token(file.path) in tokens or (found.row and scope.holds(found.row, keys))
        ]
        rows = [found.row for _, found in pairs if found.row]
        agents.update(row.agent_id for row in rows)
        tokens |= {row.session_token for row in rows}
        index_scanned(ws, pairs, report, is_anew=True)
        done += len(batch)
        if progress:
            progress(done, len(stale))
    if not tokens:
        hint = "`lineage status` names the agents, `lineage list` the projects"
        raise NotFoundError(f"no session of {scope}", hint=hint)
    drop_rows_of_lost(ws, orphaned)
    report.dropped += len(orphaned)
    report.broken = [link for link in report.broken if link[1] not in stamps]
    scopes = set(map(session_scope, tokens))
    books = [ref for ref in ws.documents.books.list() if ref.scope in scopes]
    index_books(ws, books)
    report.books = len(books)
    report.published = publish_agents(ws, agents)
    return report


def _find_token(path: str) -> str | None:
    name = naming.parse_path(path)
    return name.token if name else None


def _list_stale(
    ws: Workspace, stamps: Mapping[str, str], known: Mapping[str, str], tokens: set[str], removed: Collection[str]
) -> list[StaleFile]:
    """Return the files of the scope's sessions, and those of sessions without any row: they may be of it."""
    indexed = set(map(_find_token, known))
    paths = [
        path
        for path in sorted(stamps)
        if (token := _find_token(path)) in tokens or (token and token not in indexed and token not in removed)
    ]
    hashes = ws.index.load_hashes(path for path in paths if path in known)
    return [StaleFile(path, stamps[path], hashes.get(path)) for path in paths]
