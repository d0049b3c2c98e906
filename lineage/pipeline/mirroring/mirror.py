"""A mirror: a folder and a store are made the same, both ways, by the store protocol alone.

Observe both listings and the journal, plan, carry out file by file, each written to the journal when it is the same on
both sides. Whoever dies at any point is gone on from where the files are.
"""

from dataclasses import dataclass, field

from lineage.core.mirror_plan import Stamps, Step, is_mirrored, lost, planned
from lineage.errors import FormatError, IndexAway, WorkspaceError
from lineage.pipeline.behind import fall_behind
from lineage.pipeline.house import House
from lineage.pipeline.mirroring.burying import bury, removed_in
from lineage.pipeline.mirroring.carrying import Carrier, Counts
from lineage.pipeline.mirroring.journal import Journal
from lineage.pipeline.mirroring.sides import CLAIMS, HERE, THERE, Sides
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.reindexing import SuddenLoss, reindex
from lineage.pipeline.upkeep.resuming import resume
from lineage.store import ConflictError, StoreAway

_MOST_PASSES = 5


@dataclass(slots=True)
class Mirrored:
    """What a round did. `conflicts` are files that were kept beside another version; `findings` are (file, what is
    wrong): those were left as they are; `deferred` ones kept changing, the next round has them. `removed` are tokens of
    sessions whose removal came across."""

    counts: Counts = field(default_factory=Counts)
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    findings: list[tuple[str, str]] = field(default_factory=list)


def mirrored(sides: Sides, journal: Journal, *, confirmed: bool = False) -> Mirrored:
    """Makes both sides the same. Ending with it, rows and MEMORY.md of each that changed are brought up.

    Raises SuddenLoss, having changed nothing, where more than half of what was in step has gone from a side and
    `confirmed` is False, and StoreAway.
    """
    for house in (sides.here, sides.there):
        resume(house)
    result = Mirrored()
    for _ in range(_MOST_PASSES):
        carrier = _pass(sides, journal, result, confirmed=confirmed)
        if CLAIMS in journal.owed():  # one session was begun on both sides: its manifests become one
            recover(sides.there)
            journal.paid(CLAIMS)
        elif not carrier.is_overtaken:
            break
    owed = journal.owed()
    for side, house in ((HERE, sides.here), (THERE, sides.there)):
        if side in owed:
            _published(house)
            journal.paid(side)
    return result


def _pass(sides: Sides, journal: Journal, result: Mirrored, *, confirmed: bool) -> Carrier:
    """One look at both sides and what follows from it; `is_overtaken` where a removal came in between."""
    result.findings, result.deferred = [], []
    here, there = map(_listed, (sides.here, sides.there))
    removed = removed_in((*here, *there))
    _check_loss(here, there, journal, removed, confirmed=confirmed)
    gone = bury(sides.here, sides.there, frozenset(here), removed) | bury(
        sides.there, sides.here, frozenset(there), removed
    )
    if gone:
        result.removed = sorted({*result.removed, *gone})
        for side in (HERE, THERE):  # no row of a removed session stays on this machine, whichever side's it is
            journal.owe(side)
        here, there = map(_listed, (sides.here, sides.there))
    carrier = Carrier(sides, journal, (set(here), set(there)))
    for step in planned(_mirrored(here), _mirrored(there), journal.synced(), removed):
        _carry_out(carrier, step, result)
    journal.scrub(removed, is_due=bool(gone))
    result.counts += carrier.counts
    carrier.is_overtaken = sides.removed() != removed
    return carrier


def _carry_out(carrier: Carrier, step: Step, result: Mirrored) -> None:
    try:
        result.conflicts += carrier.carry_out(step)
    except StoreAway:
        raise
    except ConflictError:
        result.deferred.append(step.key)
    except (FormatError, WorkspaceError) as error:
        result.findings.append((step.key, error.message.removeprefix(f"{step.key}: ")))


def _listed(house: House) -> dict[str, str]:
    return {entry.key: entry.stamp for entry in house.canon.store.list("")}


def _mirrored(stamps: Stamps) -> dict[str, str]:
    return {key: stamp for key, stamp in stamps.items() if is_mirrored(key)}


def _check_loss(here: Stamps, there: Stamps, journal: Journal, removed: frozenset[str], *, confirmed: bool) -> None:
    synced = journal.synced()
    for side, name in ((here, "the folder"), (there, "the memory that it mirrors")):
        gone = lost(side, synced, removed)
        if not confirmed and gone * 2 > len(synced):
            raise SuddenLoss(
                f"{gone} of {len(synced)} files that were in step are gone from {name}",
                hint="if they are meant to be gone: `--yes`; else bring them back first",
            )


def _published(house: House) -> None:
    """Rows and MEMORY.md say what the files say now. While the index is away they wait for it."""
    try:
        reindex(house, confirmed=True)
    except IndexAway as error:
        fall_behind(house, error)
