"""What another machine removed goes from this one too: rows, vectors, and what was made of them. (format: Removal)

Its tombstone is all that this machine is told. The files are gone already, or the removal's own machine sees to them.
"""

from collections.abc import Collection

from lineage.pipeline import embedding
from lineage.pipeline.house import House


def forget_removed(house: House, removed: Collection[str]) -> int:
    """Drops what this machine holds of the sessions with these tokens, and leaves no copy of it; how many rows. Nothing
    is written to the workspace's store: whoever may only read there can do it too."""
    held = house.index.held(removed)
    if not held:
        return 0
    house.canon.blocks.clear()
    for token in sorted(held):
        house.canon.checkpoints.discard(token)
    dropped = sum(house.telemetry.forget(token) + house.index.forget(token) for token in sorted(held))
    scrub(house)
    return dropped


def finish_scrub(house: House) -> None:
    """Scrubs after whoever dropped rows and was cut off before the scrub."""
    if house.index.owes_scrub:
        scrub(house)


def scrub(house: House) -> int:
    """Leaves no copy of what was dropped; how many vectors went with it. The index, which notes that a scrub is due,
    comes last."""
    pruned = embedding.prune(house)
    embedding.scrub(house)
    house.telemetry.scrub()
    house.index.scrub()
    return pruned
