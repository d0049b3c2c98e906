"""Composition of `lineage import`: this machine's histories, the number of processes, the workspace."""

import contextlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from lineage.app.documents import detect_machine
from lineage.app.locations import STATE_FOLDER, is_workspace, open_private_store, open_store
from lineage.app.workspace import open_workspace, run_in_workspace
from lineage.core.base.naming import validate_agent_id
from lineage.core.base.progress import StageProgress
from lineage.documents import Documents
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness.adapters import ADAPTERS, list_history_roots, load_adapter
from lineage.harness.registry import HARNESSES
from lineage.harness.unread import UnreadStore, list_unread_stores
from lineage.index import SqliteIndex
from lineage.pipeline.ingest import history_import
from lineage.pipeline.ingest.history_import import HistoryImport
from lineage.pipeline.ingest.import_sources import ImportRequest, is_there
from lineage.store import LocalStore
from lineage.store.overlay import OverlayStore
from lineage.telemetry import Telemetry
from lineage.workspace.workspace import Workspace

ALL = "all"
_MAX_JOBS = 4


def build_import_request(
    harness: str, paths: Sequence[str], *, agent_id: str, jobs: int | None, newest: int | None = None
) -> ImportRequest:
    """Return the checked request; `jobs` defaults to one for each processor, at most four.

    Raises InvalidInput for an unknown harness or agent, for a path in place of a harness, and for a harness without a
    history of its own, TranscriptError for a path with nothing at it.
    """
    machine = detect_machine()
    if harness not in (ALL, *HARNESSES) and ("/" in harness or os.sep in harness or is_there(Path(harness))):
        if named := [path for path in paths if path in HARNESSES]:
            line = shlex.join(["lineage", "import", named[0], harness, *(path for path in paths if path != named[0])])
            raise InvalidInput(f"{harness} is a path, and the harness comes first", hint=f"run `{line}`")
        raise InvalidInput(
            f"{harness} is a path: whose files are these?",
            hint=f"name their harness: {_describe_line(harness, *paths)}",
        )
    for path in paths:
        if not is_there(Path(path)):
            raise TranscriptError(
                f"there is nothing at {path}", hint=f"check the path; `lineage import {harness}` looks for itself"
            )
    if harness == ALL and paths:
        raise InvalidInput("whose files are these?", hint=f"name their harness: {_describe_line(*paths)}")
    adapter = None if harness == ALL else load_adapter(harness)
    if adapter and not paths and not list_history_roots(harness, machine.home, machine.environment):
        raise InvalidInput(
            f"{harness} keeps no history in a place of its own", hint=f"name it: `lineage import {harness} PATH`"
        )
    return ImportRequest(
        harnesses=tuple(sorted(ADAPTERS)) if harness == ALL else (harness,),
        agent_id=validate_agent_id(agent_id),
        histories=machine,
        paths=tuple(map(Path, paths)),
        jobs=jobs or min(os.cpu_count() or 1, _MAX_JOBS),
        newest=newest,
    )


def _describe_line(*paths: str) -> str:
    """Return the line that imports from paths, and the names to choose from."""
    return f"`lineage import HARNESS {shlex.join(paths)}`, with one of {', '.join(HARNESSES)}"


def require_sessions(request: ImportRequest, imports: Sequence[HistoryImport]) -> None:
    """Raise TranscriptError if paths are named and no session of the harness could be read from them."""
    if request.paths and not any(one.count_sessions() for one in imports):
        paths = list(map(str, request.paths))
        raise TranscriptError(
            f"there is no session of {', '.join(request.harnesses)} in {', '.join(paths)}",
            hint=f"check whose files these are: {_describe_line(*paths)}",
        )


def list_unread(request: ImportRequest) -> list[UnreadStore]:
    """Return the unreadable stores of the requested harnesses' agents; of named paths nothing is said."""
    stores = list_unread_stores(request.histories.home, request.histories.environment)
    is_all = request.harnesses == tuple(sorted(ADAPTERS))
    own = [store for store in stores if is_all or store.agent.lower().startswith(request.harnesses)]
    return [] if request.paths else own


def import_history(
    root: Path, request: ImportRequest, progress: StageProgress, *, dry_run: bool = False
) -> tuple[HistoryImport, ...]:
    """Import into the workspace. Raises WorkspaceError for a missing one, and as the use case does.

    `dry_run` does all of it in a folder of its own in front of the workspace, which stays as it is: so it counts what
    the import would.
    """
    if dry_run:
        with TemporaryDirectory(prefix="lineage-import-") as name:
            return _rehearse(root, Path(name), request, progress)
    opened = partial(open_workspace, root, use_model=False)  # thousands of sessions, and the same files each time
    return run_in_workspace(root, lambda ws: history_import.import_history(ws, opened, request, progress), writes=True)


def _rehearse(root: Path, folder: Path, request: ImportRequest, progress: StageProgress) -> tuple[HistoryImport, ...]:
    exists = is_workspace(root, open_store(root))
    opened = partial(_open_rehearsal, root if exists else folder / "missing", folder)

    def run(ws: Workspace) -> tuple[HistoryImport, ...]:
        return history_import.import_history(ws, opened, request, progress)

    if exists:
        return run_in_workspace(root, run, needs_index=False)
    with contextlib.closing(opened()) as ws:
        return run(ws)


def _open_rehearsal(root: Path, folder: Path) -> Workspace:
    """Return the workspace with everything that is written, rows and counters too, in another folder."""
    ws = open_workspace(root, create=True, use_model=False)
    ws.close()  # its databases stay as they are
    private = open_private_store(folder)
    return replace(
        ws,
        documents=Documents(OverlayStore(LocalStore(folder), open_store(root)), private),
        index=SqliteIndex(folder / STATE_FOLDER / "index.db"),
        telemetry=Telemetry(folder / STATE_FOLDER / "runtime.db"),
        vector_file=None,
        embedding=None,
    )
