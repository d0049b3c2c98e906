"""Bundles as files of the user's: written durably and never by accident over another one, read in bounded memory."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import STATE, with_house
from lineage.errors import InvalidInput, WorkspaceError

if TYPE_CHECKING:
    from lineage.pipeline.bundles.bundling import Imported
    from lineage.pipeline.bundles.exporting import Exported
    from lineage.pipeline.house import House

_LINK = "name a place that is no symbolic link"


def export(root: Path, session: str | None, output: Path, *, include_private: bool, force: bool) -> "Exported":
    """Writes the bundle of a session, or of the global books where none is named, to a file that is there whole or not
    at all. Raises InvalidInput where the file is there and `force` isn't set, and for a place that is a link."""
    from lineage.pipeline.bundles.exporting import export_global, export_session

    path = _place(output, root)

    def exported(house: "House") -> "Exported":
        if session is None:
            return export_global(house)
        return export_session(house, session, include_private=include_private)

    made = with_house(root, exported, writes=True)
    _write(path, made.data, root, force=force)
    return made


def import_file(root: Path, file: Path, *, restore: bool, trust: bool, dry_run: bool) -> "Imported":
    """Imports the bundle in a file; an import of it that was cut off is finished instead."""
    from lineage.canon.bundles import unpacked
    from lineage.pipeline.bundles.bundling import finished, import_bundle, unfinished
    from lineage.pipeline.upkeep.resuming import resume

    data = _read(file)

    def imported(house: "House") -> "Imported":
        if dry_run:
            return import_bundle(house, data, restore=restore, trust=trust, dry_run=True)
        jobs = unfinished(house, unpacked(data).digest)
        done = finished(house, jobs) if jobs else None
        resume(house)
        return done or import_bundle(house, data, restore=restore, trust=trust)

    return with_house(root, imported, create=not dry_run)


def _place(output: Path, root: Path) -> Path:
    from lineage.canon.bundles import SUFFIX

    path = Path(os.path.abspath(output))  # noqa: PTH100  (resolving would follow the links that are refused here)
    if path.is_symlink() or path.parent.is_symlink():
        raise InvalidInput(f"{output} is a symbolic link, or lies in one", hint=_LINK)
    if not path.parent.is_dir():
        raise InvalidInput(f"there is no folder {path.parent}", hint="make it, or name another place with -o")
    if path.is_relative_to(root) and path.suffix.lower() != SUFFIX:
        raise InvalidInput(f"{output} lies in the workspace", hint=f"end its name in {SUFFIX}: a removal looks for it")
    return path


def _write(path: Path, data: bytes, root: Path, *, force: bool) -> None:
    from lineage.store import ExistsError, LocalStore, update

    # for its owner alone: what leaves the workspace is no longer kept by the workspace's own modes
    store = LocalStore(path.parent, locks=root / STATE / "locks", private=True)
    if force:
        update(store, path.name, lambda _: data)
        return
    try:
        store.create(path.name, data)
    except ExistsError as error:
        raise InvalidInput(f"{path} is there already", hint="name another file, or add `--force`") from error


def _read(file: Path) -> bytes:
    """The bytes of a regular file, as many as a bundle may have. Raises WorkspaceError and InvalidInput."""
    from lineage.core.bundle import LIMITS

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
