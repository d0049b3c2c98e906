"""What another machine removed goes from this one too: rows, vectors, and what was made of them. (format: Removal)

Its tombstone is all that this machine is told. The files are gone already, or the removal's own machine sees to them.
"""

from collections.abc import Collection
from contextlib import ExitStack

from lineage.pipeline import embedding
from lineage.pipeline.house import House
from lineage.store import BusyError, commit, read_or_none

_MUTEX = "forgetting"
_BEGUN = "forgetting/begun"


def forget_removed(house: House, removed: Collection[str]) -> int:
    """Drops what this machine holds of the sessions with these tokens, and leaves no copy of it; how many rows. Nothing
    is written to the workspace's store: whoever may only read there can do it too. Whoever is cut off is followed by
    `finish_scrub`."""
    if not house.index.held(removed):
        return 0
    here = house.canon.spool.store
    with here.mutex(_MUTEX):
        commit(here, _BEGUN, b"")
        house.canon.blocks.clear()
        held = sorted(house.index.held(removed))
        for token in held:
            house.canon.checkpoints.discard(token)
        dropped = sum(house.telemetry.forget(token) + house.index.forget(token) for token in held)
        scrub(house)
        here.delete(_BEGUN)
    return dropped


def finish_scrub(house: House) -> None:
    """Scrubs where somebody on this machine dropped rows and was cut off before the scrub. Who is at it now ends it."""
    here = house.canon.spool.store
    if read_or_none(here, _BEGUN) is None:
        return
    with ExitStack() as held:
        try:
            held.enter_context(here.mutex(_MUTEX, wait=False))
        except BusyError:
            return
        scrub(house)
        here.delete(_BEGUN)


def scrub(house: House) -> int:
    """Leaves no copy of what was dropped; how many vectors went with it."""
    pruned = embedding.prune(house)
    embedding.scrub(house)
    house.telemetry.scrub()
    house.index.scrub()
    return pruned
