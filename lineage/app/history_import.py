"""Composition of `lineage import`: this machine's histories, the number of processes, the workspace."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lineage.app.locations import detect_machine
from lineage.app.workspace import open_workspace, run_in_workspace
from lineage.core.base.naming import validate_agent_id
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness import ADAPTERS, load_adapter
from lineage.harness.unread import UnreadStore, list_unread_stores
from lineage.pipeline.ingest import history_import
from lineage.pipeline.ingest.history_import import HistoryImport
from lineage.pipeline.ingest.import_sources import ImportRequest, StageProgress, is_there

ALL = "all"
_MAX_JOBS = 4


def build_import_request(harness: str, paths: Sequence[str], *, agent_id: str, jobs: int | None) -> ImportRequest:
    """Return the checked request; `jobs` defaults to one for each processor, at most four.

    Raises InvalidInput for an unknown harness or agent and for a harness without a history of its own,
    TranscriptError for a path with nothing at it.
    """
    machine = detect_machine()
    for path in paths:
        if not is_there(Path(path)):
            raise TranscriptError(
                f"there is nothing at {path}", hint="check the path; without one lineage looks itself"
            )
    if harness == ALL and paths:
        raise InvalidInput("whose files are these?", hint=f"name their harness: one of {', '.join(ADAPTERS)}")
    if harness != ALL and not paths and not load_adapter(harness).list_roots(machine.home, machine.environment):
        raise InvalidInput(
            f"{harness} keeps no history in a place of its own", hint=f"name it: `lineage import {harness} PATH`"
        )
    return ImportRequest(
        harnesses=tuple(sorted(ADAPTERS)) if harness == ALL else (harness,),
        agent_id=validate_agent_id(agent_id),
        histories=machine,
        paths=tuple(map(Path, paths)),
        jobs=jobs or min(os.cpu_count() or 1, _MAX_JOBS),
    )


def list_unread(request: ImportRequest) -> list[UnreadStore]:
    """Return what agents keep that lineage can't read, of the requested harnesses; of named paths nothing is said."""
    stores = list_unread_stores(request.histories.home, request.histories.environment)
    is_all = request.harnesses == tuple(sorted(ADAPTERS))
    own = [store for store in stores if is_all or store.agent.lower().startswith(request.harnesses)]
    return [] if request.paths else own


def import_history(root: Path, request: ImportRequest, progress: StageProgress) -> tuple[HistoryImport, ...]:
    """Import into the workspace, made if it is missing. Raises as the use case does."""
    opened = partial(open_workspace, root, use_model=False)  # thousands of sessions, and the same files each time
    return run_in_workspace(
        root, lambda ws: history_import.import_history(ws, opened, request, progress), create=True, writes=True
    )
