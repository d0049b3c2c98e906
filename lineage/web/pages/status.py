"""The page about the state of the workspace: what is kept, what hooks do, what waits, what memory costs."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from lineage.app import hooks
from lineage.app.locations import is_bucket
from lineage.core.base.book_paths import PENDING
from lineage.web.routes import Page, TemplateView, WebCall
from lineage.workspace.lookup import read_status
from lineage.workspace.workspace import Workspace

MAX_LISTED = 20


def _show_status(ws: Workspace, call: WebCall) -> TemplateView:
    root = call.service.root
    is_here = call.service.is_local and not is_bucket(root)
    pending = [ref for ref in ws.documents.books.list() if ref.shelf == PENDING]
    values: dict[str, Any] = {
        "status": read_status(ws),
        "waiting": sum(len(ws.documents.books.read(ref).entries) for ref in pending),
        "hooks": hooks.summarize_hooks(root) if is_here else {},
        "size": _measure_folder(root) if is_here else None,
        "most": MAX_LISTED,
    }
    return TemplateView("status.html", values)


def _measure_folder(root: Path) -> int:
    """Return the bytes of all files below a folder; one that is deleted meanwhile counts nothing."""
    size = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(OSError):
                size += Path(folder, name).lstat().st_size
    return size


PAGES = (Page("/status", _show_status),)
