"""A round of a mirror: a folder and a store are made the same, both ways, by the store protocol alone.

Observe both listings and the journal, plan, apply file by file, and record each file in the journal once it is the same
on both sides. After a crash at any point, the next round continues from the files. Removals come first: a tombstone on
one side removes the session on the other.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from lineage.core.base import naming
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.format.documents import Tombstone, parse_document_as
from lineage.core.format.job import Job
from lineage.documents.bundle_zip import SUFFIX, find_bundles_with_session
from lineage.errors import FormatError, WorkspaceError
from lineage.pipeline.capture.session import session_lock
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import SuddenLoss, ensure_indexed, reindex
from lineage.pipeline.maintenance.remove import build_removal_job, finish_removal
from lineage.pipeline.memory.session_entries import find_session_entries
from lineage.pipeline.transfer.mirror.apply import CLAIMS, HERE, THERE, MirrorApplier, MirrorCounts, MirrorPair
from lineage.pipeline.transfer.mirror.journal import MirrorJournal
from lineage.pipeline.transfer.mirror.plan import Stamps, find_owner_tokens, is_mirrored, plan_mirror
from lineage.store import ConflictError, ExistsError, StoreUnavailable, read_or_none
from lineage.workspace.workspace import Workspace, tolerate_outage

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
        # A removal is no loss, however many files go with it.
        lost = sum(find_owner_tokens(key).isdisjoint(removed) for key in synced.keys() - side.keys())
        if not confirmed and lost * 2 > len(synced):
            hint = "if they are meant to be gone: `--yes`; else bring them back first"
            raise SuddenLoss(f"{lost} of {len(synced)} files that were in step are gone from {name}", hint=hint)


def parse_removed_tokens(keys: Iterable[str]) -> frozenset[str]:
    """Return the tokens of the removed sessions in a listing."""
    return frozenset(
        key.removeprefix(naming.TOMBSTONES).removesuffix(".md")
        for key in keys
        if key.startswith(naming.TOMBSTONES) and naming.is_claim_or_tombstone(key)
    )


def propagate_removals(
    side: Workspace, other: Workspace, keys: frozenset[str], removed: frozenset[str]
) -> frozenset[str]:
    """Remove the sessions in `removed` from one side: those without a tombstone there, and those with files.

    `keys` are the side's. Returns the tokens of both. The next command that writes there finishes an interrupted
    removal: its job lies in the spool first.
    """
    new = removed - parse_removed_tokens(keys)
    present = frozenset[str]().union(*map(find_owner_tokens, keys)) & removed
    has_bundles = any(key.lower().endswith(SUFFIX) for key in keys)
    for token in sorted(new | present):
        with session_lock(side, token):
            job = _build_job(other if token in new else side, token)
            side.documents.spool.put(job)  # before the tombstone: with that, the next round looks for files only
            path = naming.tombstone_path(token)
            if tombstone := read_or_none(other.documents.store, path):
                with suppress(ExistsError):  # removed on both sides; `merge_versions` joins the tombstones
                    side.documents.store.create(path, tombstone.data, frozen=True)
            has_text = token in present or find_session_entries(side, token).places
            if has_text or (has_bundles and any(find_bundles_with_session(side.documents.store, token))):
                ensure_indexed(side)
                finish_removal(side, job)
            else:
                side.documents.spool.clear(job)
    return new | present


def _build_job(ws: Workspace, token: str) -> Job:
    """Return the job of the removal that a tombstone records. A damaged tombstone removes too."""
    path = naming.tombstone_path(token)
    tombstone = Tombstone(
        "tombstone", DEFAULT_AGENT, token, removed_at=ws.now, reason="", removed_paths=[], removed_turns=[]
    )
    if blob := read_or_none(ws.documents.store, path):
        with suppress(FormatError):
            tombstone = parse_document_as(Tombstone, blob.data, path)
    return build_removal_job(tombstone)
