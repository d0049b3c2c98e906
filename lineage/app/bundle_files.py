"""Bundles as files of the user: written durably, never over another file by accident, read in bounded memory."""

import os
import stat
from pathlib import Path

from lineage.app.locations import STATE_FOLDER
from lineage.app.workspace import run_in_workspace
from lineage.core.transfer.bundle import LIMITS
from lineage.documents.bundle_zip import SUFFIX, unpack
from lineage.errors import InvalidInput, WorkspaceError
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.transfer import bundles
from lineage.pipeline.transfer.bundle_export import BundleExport, export_global, export_session
from lineage.store import ExistsError, LocalStore, update
from lineage.workspace.workspace import Workspace

_LINK = "name a place that is no symbolic link"


def export_bundle(root: Path, session: str | None, output: Path, *, include_private: bool, force: bool) -> BundleExport:
    """Write the bundle of a session, or of the global books, to a file, atomically.

    Raises InvalidInput for an existing file without `force`, and for a path with a link.
    """
    path = _resolve_output(output, root)

    def export(ws: Workspace) -> BundleExport:
        if session is None:
            return export_global(ws)
        return export_session(ws, session, include_private=include_private)

    result = run_in_workspace(root, export, writes=True)
    _write_bundle_file(path, result.data, root, force=force)
    return result


def import_bundle_file(
    root: Path, file: Path, *, restore: bool, trust: bool, copy: bool, dry_run: bool
) -> bundles.BundleImport:
    """Import the bundle in a file; an interrupted import of the same bundle is finished instead."""
    data = _read_bundle_file(file)

    def run_import(ws: Workspace) -> bundles.BundleImport:
        if dry_run:
            return bundles.import_bundle(ws, data, restore=restore, trust=trust, copy=copy, dry_run=True)
        result = bundles.finish_interrupted_import(ws, unpack(data).digest)
        finish_pending(ws)
        return result or bundles.import_bundle(ws, data, restore=restore, trust=trust, copy=copy)

    return run_in_workspace(root, run_import, create=not dry_run)


def _resolve_output(output: Path, root: Path) -> Path:
    path = Path(os.path.abspath(output))  # noqa: PTH100  (resolving would follow the links that are refused here)
    if path.is_symlink() or path.parent.is_symlink():
        raise InvalidInput(f"{output} is a symbolic link, or lies in one", hint=_LINK)
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent}", hint="make it, or name another place with -o")
    if path.is_relative_to(root) and path.suffix.lower() != SUFFIX:
        raise InvalidInput(f"{output} lies in the workspace", hint=f"end its name in {SUFFIX}: a removal looks for it")
    return path


def _write_bundle_file(path: Path, data: bytes, root: Path, *, force: bool) -> None:
    # private: outside of the workspace its folders' modes no longer protect the text
    store = LocalStore(path.parent, locks=root / STATE_FOLDER / "locks", private=True)
    if force:
        update(store, path.name, lambda _: data)
        return
    try:
        store.create(path.name, data)
    except ExistsError as error:
        raise InvalidInput(f"{path} is there already", hint="name another file, or add `--force`") from error


def _read_bundle_file(file: Path) -> bytes:
    """Return the bytes of a regular file of at most a bundle's size. Raises WorkspaceError and InvalidInput."""
    try:
        with file.open("rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise InvalidInput(f"{file} is no regular file", hint="name the file of a bundle")
            data = opened.read(LIMITS.file_bytes + 1)
    except OSError as error:
        raise WorkspaceError(f"{file}: {error.strerror or error}", hint="name the file of a bundle") from error
    if len(data) > LIMITS.file_bytes:
        raise InvalidInput(f"{file} is larger than a bundle may be", hint="name the file of a bundle")
    return data
