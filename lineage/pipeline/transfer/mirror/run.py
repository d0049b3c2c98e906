"""A mirror: a folder and a store are made the same, both ways, by the store protocol alone.

Observe both listings and the journal, plan, carry out file by file, each written to the journal when it is the same on
both sides. Whoever dies at any point is gone on from where the files are.
"""

from dataclasses import dataclass, field

from lineage.errors import FormatError, WorkspaceError
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import SuddenLoss, reindex
from lineage.pipeline.transfer.mirror.apply import MirrorApplier, MirrorCounts
from lineage.pipeline.transfer.mirror.journal import MirrorJournal
from lineage.pipeline.transfer.mirror.pair import CLAIMS, HERE, THERE, MirrorPair
from lineage.pipeline.transfer.mirror.plan import MirrorStep, Stamps, count_lost, is_mirrored, plan_mirror
from lineage.pipeline.transfer.mirror.removals import parse_removed_tokens, propagate_removals
from lineage.store import ConflictError, StoreUnavailable
from lineage.workspace.stale_index import tolerate_outage
from lineage.workspace.workspace import Workspace

_MAX_PASSES = 5


@dataclass(slots=True)
class MirrorResult:
    """What a round did. `conflicts` are files that were kept beside another version; `findings` are (file, what is
    wrong): those were left as they are; `deferred` ones kept changing, the next round has them. `removed` are tokens of
    sessions whose removal came across."""

    counts: MirrorCounts = field(default_factory=MirrorCounts)
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)


def run_mirror(pair: MirrorPair, journal: MirrorJournal, *, confirmed: bool = False) -> MirrorResult:
    """Makes both sides the same. Ending with it, rows and MEMORY.md of each that changed are brought up.

    Raises SuddenLoss, having changed nothing, where more than half of what was in step has gone from a side and
    `confirmed` is False, and StoreAway.
    """
    for ws in (pair.here, pair.there):
        finish_pending(ws)
    result = MirrorResult()
    for _ in range(_MAX_PASSES):
        carrier = _run_pass(pair, journal, result, confirmed=confirmed)
        if CLAIMS in journal.list_owed():  # one session was begun on both sides: its manifests become one
            recover(pair.there)
            journal.clear_owed(CLAIMS)
        elif not carrier.is_overtaken:
            break
    owed = journal.list_owed()
    for side, ws in ((HERE, pair.here), (THERE, pair.there)):
        if side in owed:
            _reindex(ws)
            journal.clear_owed(side)
    return result


def _run_pass(pair: MirrorPair, journal: MirrorJournal, result: MirrorResult, *, confirmed: bool) -> MirrorApplier:
    """One look at both sides and what follows from it; `is_overtaken` where a removal came in between."""
    result.findings, result.deferred = [], []
    here, there = map(_list_stamps, (pair.here, pair.there))
    removed = parse_removed_tokens((*here, *there))
    _check_loss(here, there, journal, removed, confirmed=confirmed)
    gone = propagate_removals(pair.here, pair.there, frozenset(here), removed) | propagate_removals(
        pair.there, pair.here, frozenset(there), removed
    )
    if gone:
        result.removed = sorted({*result.removed, *gone})
        for side in (HERE, THERE):  # no row of a removed session stays on this machine, whichever side's it is
            journal.mark_owed(side)
        here, there = map(_list_stamps, (pair.here, pair.there))
    carrier = MirrorApplier(pair, journal, (set(here), set(there)))
    for step in plan_mirror(_filter_mirrored(here), _filter_mirrored(there), journal.read_synced(), removed):
        _apply_step(carrier, step, result)
    journal.scrub(removed, is_due=bool(gone))
    result.counts += carrier.counts
    carrier.is_overtaken = pair.list_removed_tokens() != removed
    return carrier


def _apply_step(applier: MirrorApplier, step: MirrorStep, result: MirrorResult) -> None:
    try:
        result.conflicts += applier.apply(step)
    except StoreUnavailable:
        raise
    except ConflictError:
        result.deferred.append(step.key)
    except (FormatError, WorkspaceError) as error:
        result.findings.append((step.key, error.message.removeprefix(f"{step.key}: ")))


def _list_stamps(ws: Workspace) -> dict[str, str]:
    return {entry.key: entry.stamp for entry in ws.documents.store.list("")}


def _filter_mirrored(stamps: Stamps) -> dict[str, str]:
    return {key: stamp for key, stamp in stamps.items() if is_mirrored(key)}


def _check_loss(
    here: Stamps, there: Stamps, journal: MirrorJournal, removed: frozenset[str], *, confirmed: bool
) -> None:
    synced = journal.read_synced()
    for side, name in ((here, "the folder"), (there, "the memory that it mirrors")):
        gone = count_lost(side, synced, removed)
        if not confirmed and gone * 2 > len(synced):
            raise SuddenLoss(
                f"{gone} of {len(synced)} files that were in step are gone from {name}",
                hint="if they are meant to be gone: `--yes`; else bring them back first",
            )


def _reindex(ws: Workspace) -> None:
    """Rows and MEMORY.md say what the files say now. While the index is away they wait for it."""
    with tolerate_outage(ws, mark_stale=True):
        reindex(ws, confirmed=True)
