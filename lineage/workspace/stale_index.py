"""The index is behind the files: its server was away when rows were due. Whoever finds it back brings it up.

A mark lies on this machine for each time; what it stands for is made good by a look at all files.
"""

from collections.abc import Sequence

from lineage.documents import Documents
from lineage.errors import IndexUnavailable
from lineage.workspace.workspace import Workspace

_MARKS = "behind/"


def mark_stale(ws: Workspace, error: IndexUnavailable) -> None:
    """Notes that rows are missing, and why."""
    ws.documents.spool.store.create(f"{_MARKS}{ws.new_id()}", f"{ws.now} {error.message}\n".encode())


def describe_stale(canon: Documents) -> list[str]:
    """Since when rows are missing and why, oldest first; empty where none are."""
    store = canon.spool.store
    return sorted(store.read(key).data.decode("utf-8", "replace").strip() for key in list_stale_marks(canon))


def list_stale_marks(canon: Documents) -> list[str]:
    """What `clear_stale` is told when all that was missing before is there."""
    return [entry.key for entry in canon.spool.store.list(_MARKS)]


def clear_stale(canon: Documents, marks: Sequence[str]) -> None:
    """Takes the marks away that were there when a look at all files began; what fell behind since stays noted."""
    for key in marks:
        canon.spool.store.delete(key)


def index_error(ws: Workspace) -> IndexUnavailable | None:
    """Why the index can't be asked now; None where it can."""
    try:
        _ = ws.index.needs_reindex
    except IndexUnavailable as error:
        return error
    return None
