"""A removal on one side of a mirror removes on the other: all that a removal does, from the tombstone."""

from collections.abc import Iterable

from lineage.canon.bundles import SUFFIX, holding
from lineage.core import naming
from lineage.core.documents import Tombstone, parsed_as
from lineage.core.identity import DEFAULT_AGENT
from lineage.core.job import REMOVAL, Job
from lineage.core.mirror_plan import owners
from lineage.errors import FormatError
from lineage.pipeline.capture.session import exclusively
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.forgetting import taught
from lineage.pipeline.upkeep.reindexing import ensure_indexed
from lineage.pipeline.upkeep.removal import finish_removal
from lineage.store import ExistsError, read_or_none


def removed_in(keys: Iterable[str]) -> frozenset[str]:
    """The tokens of removed sessions, as a listing shows them."""
    return frozenset(
        key.removeprefix(naming.TOMBSTONES).removesuffix(".md")
        for key in keys
        if key.startswith(naming.TOMBSTONES) and naming.is_register(key)
    )


def bury(side: House, other: House, keys: frozenset[str], removed: frozenset[str]) -> frozenset[str]:
    """Removes on one side the sessions that are `removed` on either: those whose tombstone it lacks, and those with
    files there still. `keys` is what the side holds. The tokens of both.

    What was cut off is finished by the next command that writes there: its job lies in the spool before anything else.
    """
    fresh = removed - removed_in(keys)
    held = frozenset[str]().union(*map(owners, keys)) & removed
    has_bundles = any(key.lower().endswith(SUFFIX) for key in keys)
    for token in sorted(fresh | held):
        with exclusively(side, token):
            job = _job(side if token not in fresh else other, token)
            side.canon.spool.put(job)
            _copy_tombstone(other, side, token)
            is_known = token in held or taught(side, token).entries
            if is_known or (has_bundles and any(holding(side.canon.store, token))):
                ensure_indexed(side)
                finish_removal(side, job)
            else:
                side.canon.spool.clear(job)
    return fresh | held


def _copy_tombstone(source: House, target: House, token: str) -> None:
    path = naming.tombstone_path(token)
    blob = read_or_none(source.canon.store, path)
    if blob:
        try:
            target.canon.store.create(path, blob.data, frozen=True)
        except ExistsError:
            return


def _job(house: House, token: str) -> Job:
    """The removal that a tombstone tells of. A damaged one counts, though it tells nothing."""
    path = naming.tombstone_path(token)
    blob = read_or_none(house.canon.store, path)
    try:
        found = parsed_as(Tombstone, blob.data, path) if blob else None
    except FormatError:
        found = None
    payload = {
        "agent_id": found.agent_id if found else DEFAULT_AGENT,
        "reason": found.reason if found else "",
        "removed_paths": found.removed_paths if found else [],
        "removed_turns": found.removed_turns if found else [],
        "imported_from": found.imported_from if found else [],
    }
    at = found.removed_at if found else house.now
    return Job(flow=REMOVAL, token=token, captured_at=at, sentence="", quality="", payload=payload)
