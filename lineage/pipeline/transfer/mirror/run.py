"""A round of a mirror: a folder and a store are made the same, both ways, by the store protocol alone.

Observe both listings and the journal, plan, apply file by file, and record each file in the journal once it is the same
on both sides. After a crash at any point, the next round continues from the files.
"""

from dataclasses import dataclass, field

from lineage.errors import FormatError, WorkspaceError
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import SuddenLoss, reindex
from lineage.pipeline.transfer.mirror.apply import MirrorApplier, MirrorCounts
from lineage.pipeline.transfer.mirror.journal import MirrorJournal
from lineage.pipeline.transfer.mirror.pair import CLAIMS, HERE, THERE, MirrorPair
from lineage.pipeline.transfer.mirror.plan import Stamps, count_lost, is_mirrored, plan_mirror
from lineage.pipeline.transfer.mirror.removals import parse_removed_tokens, propagate_removals
from lineage.store import ConflictError, StoreUnavailable
from lineage.workspace.stale_index import tolerate_outage
from lineage.workspace.workspace import Workspace

_MAX_PASSES = 5  # a removal during each of them is left to the next round


@dataclass(slots=True)
class MirrorResult:
    """The result of a round.

    `conflicts` are versions kept under another name, `findings` are (file, error message) of files left alone,
    `deferred` files kept changing and wait for the next round, `removed` are tokens of the removals propagated.
    """

    counts: MirrorCounts = field(default_factory=MirrorCounts)
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)


def run_mirror(pair: MirrorPair, journal: MirrorJournal, *, confirmed: bool = False) -> MirrorResult:
    """Make both sides the same, then reindex each side that changed.

    Raises StoreUnavailable; and SuddenLoss, with nothing changed, if more than half of the synced files are gone from a
    side and `confirmed` is False.
    """
    for ws in (pair.here, pair.there):
        finish_pending(ws)
    result = MirrorResult()
    for _ in range(_MAX_PASSES):
        applier = _run_pass(pair, journal, result, confirmed=confirmed)
        if CLAIMS in journal.list_owed():
            recover(pair.there)  # one session began on both sides: merge its manifests
            journal.clear_owed(CLAIMS)
        elif not applier.is_overtaken:
            break
    owed = journal.list_owed()
    for side, ws in ((HERE, pair.here), (THERE, pair.there)):
        if side in owed:
            with tolerate_outage(ws, mark_stale=True):
                reindex(ws, confirmed=True)
            journal.clear_owed(side)
    return result


def _run_pass(pair: MirrorPair, journal: MirrorJournal, result: MirrorResult, *, confirmed: bool) -> MirrorApplier:
    """Sync both sides once. The applier is overtaken if a removal came in between."""
    result.findings, result.deferred = [], []
    here, there = map(_list_stamps, (pair.here, pair.there))
    removed = parse_removed_tokens((*here, *there))
    _check_loss(here, there, journal, removed, confirmed=confirmed)
    propagated = propagate_removals(pair.here, pair.there, frozenset(here), removed)
    propagated |= propagate_removals(pair.there, pair.here, frozenset(there), removed)
    if propagated:
        result.removed = sorted({*result.removed, *propagated})
        for side in (HERE, THERE):  # both reindex: neither index on this machine may keep a row of the session
            journal.mark_owed(side)
        here, there = map(_list_stamps, (pair.here, pair.there))
    applier = MirrorApplier(pair, journal, (set(here), set(there)))
    ours, theirs = ({key: stamp for key, stamp in stamps.items() if is_mirrored(key)} for stamps in (here, there))
    for step in plan_mirror(ours, theirs, journal.read_synced(), removed):
        try:
            result.conflicts += applier.apply(step)
        except StoreUnavailable:
            raise
        except ConflictError:
            result.deferred.append(step.key)
        except (FormatError, WorkspaceError) as error:
            result.findings.append((step.key, error.message.removeprefix(f"{step.key}: ")))
    journal.scrub(removed, is_due=bool(propagated))
    result.counts += applier.counts
    applier.is_overtaken = pair.list_removed_tokens() != removed
    return applier


def _list_stamps(ws: Workspace) -> dict[str, str]:
    return {entry.key: entry.stamp for entry in ws.documents.store.list("")}


def _check_loss(
    here: Stamps, there: Stamps, journal: MirrorJournal, removed: frozenset[str], *, confirmed: bool
) -> None:
    synced = journal.read_synced()
    for side, name in ((here, "the folder"), (there, "the memory that it mirrors")):
        lost = count_lost(side, synced, removed)
        if not confirmed and lost * 2 > len(synced):
            raise SuddenLoss(
                f"{lost} of {len(synced)} files that were in step are gone from {name}",
                hint="if they are meant to be gone: `--yes`; else bring them back first",
            )
