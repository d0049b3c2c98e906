"""`lineage migrate-store`: a workspace moves from one place to another. See pipeline/mirroring/moving.py."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import with_house, workspace_root
from lineage.app.places import canon_at, is_bucket, shown, store_at
from lineage.errors import InvalidInput, Problems, WorkspaceError
from lineage.pipeline.house import House
from lineage.pipeline.mirroring.moving import Moved, Progress, moved, settled
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.verification import Finding, verify

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was moved, and what `verify` finds in the new place."""

    source: str
    target: str
    moved: Moved
    findings: "Sequence[Finding]"


def migrated(source: str, target: str, progress: Progress | None = None) -> Receipt:
    """Copies the workspace `source` to the empty place `target`, and verifies it there; `source` stays as it is.

    Raises InvalidInput where one lies in the other, WorkspaceError where there is nothing to move, something of it
    still waits in the spool, or the target is somebody's, and Problems for a bucket that would lose writes.
    """
    origin, place = workspace_root(source), workspace_root(target)
    _check_apart(shown(origin), shown(place))
    _check_source(origin)
    _check_promises(place)
    done = moved(store_at(origin), store_at(place), shown(origin), progress)
    findings = with_house(place, _opened, create=True, needs_index=False)
    settled(store_at(place))
    return Receipt(source=shown(origin), target=shown(place), moved=done, findings=findings)


def _opened(house: House) -> list[Finding]:
    reindex(house, confirmed=True)
    return verify(house)


def _check_apart(origin: str, place: str) -> None:
    if f"{origin}/".startswith(f"{place}/") or f"{place}/".startswith(f"{origin}/"):
        raise InvalidInput(f"{place} and {origin} lie in each other", hint="name a place of its own")


def _check_source(root: Path) -> None:
    if not store_at(root).is_there():
        raise WorkspaceError(f"no workspace at {shown(root)}", hint="name the place of the memory that is to move")
    canon = canon_at(root)
    waiting = len(canon.spool.pending()) + len(canon.signals.pending())
    if waiting:
        raise WorkspaceError(
            f"{waiting} captures still wait in this machine's spool",
            hint=f"run `lineage -w {shown(root)} work` and `lineage -w {shown(root)} recover` first",
        )


def _check_promises(root: Path) -> None:
    from lineage.store.probing import broken_alone

    broken = broken_alone(store_at(root)) if is_bucket(root) else None
    if broken:
        raise Problems(f"{shown(root)} can't keep a memory: {broken}", hint=f"run `lineage store check {shown(root)}`")
