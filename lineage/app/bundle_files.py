"""Bundles as files of the user: written durably, never over another file by accident, read in bounded memory."""

import os
import stat
from pathlib import Path

from lineage.app.export_files import resolve_output, write_file
from lineage.app.workspace import run_in_workspace
from lineage.core.transfer.bundle import LIMITS
from lineage.documents.bundle_zip import SUFFIX, unpack
from lineage.errors import InvalidInput, WorkspaceError
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.transfer import bundles
from lineage.pipeline.transfer.bundle_export import BundleExport, export_global, export_session
from lineage.workspace.workspace import Workspace

_HINT = "name the file of a bundle: `lineage admin bundle import FILE`"


def export_bundle(root: Path, session: str | None, output: Path, *, include_private: bool, force: bool) -> BundleExport:
    """Write the bundle of a session, or of the global books, to a file, atomically.

    Raises InvalidInput for an existing file without `force`, and for a path with a link.
    """
    path = resolve_output(output, root, suffix=SUFFIX)

    def export(ws: Workspace) -> BundleExport:
        if session is None:
            return export_global(ws)
        return export_session(ws, session, include_private=include_private)

    result = run_in_workspace(root, export, writes=True)
    write_file(path, result.data, root, force=force)
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

    return run_in_workspace(root, run_import, in_place=not dry_run)


def _read_bundle_file(file: Path) -> bytes:
    """Return the bytes of a regular file of at most a bundle's size. Raises WorkspaceError and InvalidInput."""
    try:
        with file.open("rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise InvalidInput(f"{file} is no regular file", hint=_HINT)
            data = opened.read(LIMITS.file_bytes + 1)
    except OSError as error:
        raise WorkspaceError(f"{file}: {error.strerror or error}", hint=_HINT) from error
    if len(data) > LIMITS.file_bytes:
        raise InvalidInput(f"{file} is larger than a bundle may be", hint=_HINT)
    return data
