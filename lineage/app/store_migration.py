"""`lineage admin move`: a workspace moves from one place to another. See pipeline/transfer/move_store.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lineage.app.documents import open_documents
from lineage.app.init_workspace import check_bucket
from lineage.app.locations import format_location, open_store, resolve_workspace_root
from lineage.app.workspace import run_in_workspace
from lineage.core.base.progress import Progress
from lineage.errors import InvalidInput, WorkspaceError
from lineage.pipeline.maintenance.findings import VerifyFinding
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.transfer.move_store import MoveResult, finish_move, move_store
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationReceipt:
    """The moved files and the findings of `verify` in the new place; the field names are JSON keys."""

    source: str
    target: str
    moved: MoveResult
    findings: Sequence[VerifyFinding]


def migrate_store(source: str, target: str, progress: Progress | None = None) -> MigrationReceipt:
    """Copy the workspace `source` to the empty place `target`, and verify it there; `source` stays unchanged.

    Until `end_migration` the move can be resumed: it is recognized by its mark in the target.
    Raises InvalidInput if one lies in the other, WorkspaceError for a missing source, for jobs in its spool and for a
    target in use, FindingsReported for a bucket that would lose writes.
    """
    origin, place = resolve_workspace_root(source), resolve_workspace_root(target)
    old, new = format_location(origin), format_location(place)
    if f"{old}/".startswith(f"{new}/") or f"{new}/".startswith(f"{old}/"):
        raise InvalidInput(f"{new} and {old} lie in each other", hint="name a place of its own")
    _check_source(origin, old)
    check_bucket(place)
    moved = move_store(open_store(origin), open_store(place), old, progress)
    findings = run_in_workspace(place, _reindex_and_verify, create=True, needs_index=False)
    return MigrationReceipt(source=old, target=new, moved=moved, findings=findings)


def end_migration(target: str) -> None:
    """Take the mark of the move out of its target."""
    finish_move(open_store(resolve_workspace_root(target)))


def _reindex_and_verify(ws: Workspace) -> list[VerifyFinding]:
    reindex(ws, confirmed=True)
    return verify(ws)


def _check_source(root: Path, place: str) -> None:
    if not open_store(root).exists():
        raise WorkspaceError(f"no workspace at {place}", hint="name the place of the memory that is to move")
    documents = open_documents(root)
    # jobs wait in this machine's folder: the copy would lose them
    waiting = len(documents.spool.list_pending()) + len(documents.hook_queue.list_pending())
    if waiting:
        hint = f"run `lineage -w {place} work` and `lineage -w {place} admin recover` first"
        raise WorkspaceError(f"{waiting} captures still wait in this machine's spool", hint=hint)
