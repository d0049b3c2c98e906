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
    dropped = sum(house.index.forget(token) + house.telemetry.forget(token) for token in sorted(held))
    embedding.prune(house)
    house.index.scrub()
    embedding.scrub(house)
    house.telemetry.scrub()
    return dropped
