"""The export of a workspace to a folder."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from lineage.app.export_files import check_folder, replace_folder, resolve_output, write_files
from lineage.app.workspace import run_in_workspace
from lineage.core.base.progress import Progress
from lineage.errors import RemovedError
from lineage.index import SessionFilter
from lineage.pipeline.search.export_selection import ExportSelection, select_export
from lineage.web.export.links import INDEX, MEMORY, build_path
from lineage.web.export.site import MARK, build_site
from lineage.workspace.workspace import Workspace

_FOLDERS = ("days", "entries", "memory", "pages", "projects", "search", "sessions", "static")
_SCRATCH = ".words"


@dataclass(frozen=True, slots=True)
class SiteResult:
    """What an export holds, and how many sessions stayed behind, by reason."""

    site: str
    sessions: int
    entries: int
    pages: int
    files: int
    bytes: int
    left_out: dict[str, int]


def export_site(
    root: Path, target: Path, agent_id: str | None, wanted: SessionFilter, report: Progress | None = None
) -> SiteResult:
    """Write the sessions that a filter lets pass, of all agents if `agent_id` is None, as pages into a folder.

    An earlier export there is replaced. Raises InvalidInput for any other folder that isn't empty, and NotFoundError
    if no session is left.
    """
    path = resolve_output(target, root)
    check_folder(path, MARK, (build_path(INDEX), build_path(MEMORY), *_FOLDERS))

    def export(ws: Workspace) -> SiteResult:
        selection = select_export(ws, agent_id, wanted)
        results = list[SiteResult]()
        replace_folder(path, lambda staged: results.append(_write_site(ws, selection, staged, path, report)))
        return results[0]

    return run_in_workspace(root, export)


def _write_site(
    ws: Workspace, selection: ExportSelection, staged: Path, path: Path, report: Progress | None
) -> SiteResult:
    scratch = staged / _SCRATCH
    scratch.mkdir(mode=0o700)
    written = write_files(staged, build_site(ws, selection, scratch, report))
    shutil.rmtree(scratch)
    if not ws.documents.tombstones.list_tokens().isdisjoint(selection.sessions):
        raise RemovedError("a session was removed while it was exported", hint="run the command again")
    counts = (len(selection.sessions), len(selection.entries), written.pages, written.files, written.bytes)
    return SiteResult(str(path), *counts, dict(selection.left_out))
