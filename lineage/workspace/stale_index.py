"""The stale index: files are written without its server, and marks on this machine ask for a reindex."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lineage.documents import Documents
from lineage.errors import IndexUnavailable
from lineage.workspace.workspace import Workspace

_MARKS = "behind/"


@dataclass(slots=True)
class IndexOutage:
    """The outcome of `tolerate_outage`. `reason` is the error's message, None if the index was available."""

    reason: str | None = None


@contextmanager
def tolerate_outage(ws: Workspace, *, mark_stale: bool = False) -> Iterator[IndexOutage]:
    """End the block early if the index is unavailable; `mark_stale` leaves a mark for the owed rows."""
    outage = IndexOutage()
    try:
        yield outage
    except IndexUnavailable as error:
        outage.reason = error.message
        if mark_stale:
            mark = f"{ws.now} {error.message}\n"
            ws.documents.spool.store.create(f"{_MARKS}{ws.new_id()}", mark.encode())


def find_outage(ws: Workspace) -> str | None:
    """Return why the index is unavailable now, None if it is available."""
    with tolerate_outage(ws) as outage:
        _ = ws.index.needs_reindex
    return outage.reason


def describe_stale(documents: Documents) -> list[str]:
    """Return the time and reason of each mark, oldest first."""
    store = documents.spool.store
    return sorted(store.read(key).data.decode("utf-8", "replace").strip() for key in list_stale_marks(documents))


def list_stale_marks(documents: Documents) -> list[str]:
    """Return the marks, for `clear_stale` after a look at all files."""
    return [entry.key for entry in documents.spool.store.list(_MARKS)]


def clear_stale(documents: Documents, marks: Sequence[str]) -> None:
    """Delete marks listed before a look at all files; younger ones stay."""
    # By name: a mark made since then stands for rows that the look may have missed.
    for key in marks:
        documents.spool.store.delete(key)
