"""What another machine removed goes from this one too: rows, vectors, and what was made of them. (format: Removal)

Its tombstone is all that this machine is told. The files are gone already, or the removal's own machine sees to them.
"""

from collections.abc import Collection
from contextlib import ExitStack

from lineage.store import BusyError, commit, read_or_none
from lineage.workspace.vectors import prune_vectors, scrub_vectors
from lineage.workspace.workspace import Workspace

_MUTEX = "forgetting"
_SCRUB_PENDING = "forgetting/begun"


def drop_removed_sessions(ws: Workspace, removed: Collection[str]) -> int:
    """Drops what this machine holds of the sessions with these tokens, and leaves no copy of it; how many rows. Nothing
    is written to the workspace's store: whoever may only read there can do it too. Whoever is cut off is followed by
    `finish_scrub`."""
    if not ws.index.find_indexed_tokens(removed):
        return 0
    here = ws.documents.spool.store
    with here.lock(_MUTEX):
        commit(here, _SCRUB_PENDING, b"")
        ws.documents.context_cache.clear()
        held = sorted(ws.index.find_indexed_tokens(removed))
        for token in held:
            ws.documents.checkpoints.discard(token)
        dropped = sum(ws.telemetry.forget(token) + ws.index.delete_session(token) for token in held)
        scrub_databases(ws)
        here.delete(_SCRUB_PENDING)
    return dropped


def finish_scrub(ws: Workspace) -> None:
    """Scrubs where somebody on this machine dropped rows and was cut off before the scrub. Who is at it now ends it."""
    here = ws.documents.spool.store
    if read_or_none(here, _SCRUB_PENDING) is None:
        return
    with ExitStack() as held:
        try:
            held.enter_context(here.lock(_MUTEX, wait=False))
        except BusyError:
            return
        scrub_databases(ws)
        here.delete(_SCRUB_PENDING)


def scrub_databases(ws: Workspace) -> int:
    """Leaves no copy of what was dropped; how many vectors went with it."""
    pruned = prune_vectors(ws)
    scrub_vectors(ws)
    ws.telemetry.scrub()
    ws.index.scrub()
    return pruned
