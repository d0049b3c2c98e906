"""The files of a session, whether the index knows of it or not."""

from collections.abc import Iterable

from lineage.core.base import naming
from lineage.core.transfer.archive_paths import ARCHIVE
from lineage.documents.bundle_zip import find_bundles_with_session
from lineage.pipeline.memory.session_entries import list_session_books
from lineage.workspace.workspace import Workspace


def list_session_paths(ws: Workspace, token: str) -> list[str]:
    """Return every file of the session except its tombstone: its own books, and a sync client's copies too."""
    files = [key for key in _list_keys(ws) if token in key]
    return files + list_session_books(ws, token) + list(find_bundles_with_session(ws.documents.store, token))


def find_unindexed(ws: Workspace, tokens: Iterable[str]) -> list[str]:
    """Return those of these sessions that are in the spool, or of which a sync brought files or books."""
    pending, keys = {job.token for job in ws.documents.spool.list_pending()}, "\n".join(_list_keys(ws))
    return [one for one in tokens if one in pending or one in keys or list_session_books(ws, one)]


def _list_keys(ws: Workspace) -> list[str]:
    keys = (entry.key for folder in (naming.MEMORY, ARCHIVE) for entry in ws.documents.store.list(folder))
    return [key for key in keys if not key.startswith(naming.TOMBSTONES)]
