"""The readers of a workspace: its owner alone or, if that was asked for, its group too (format: Workspace).

Writers give their files these modes from the first moment. What git, a sync tool or an earlier version made wider is
found and mended here.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lineage.store import platform

SHARED_MARK = ".lineage/shared"
"""The file that says of a folder: its group may read it. It is this machine's own, as users and groups are."""
_STATE = ".lineage"
_OWN = ("MEMORY.md", "AGENT_MEMORY.md", "lineage.toml", "memory", "books", "agents", "archive", "projects", "days")
_FROM_TEMPLATE = ("Start here.md", "handbook", "integrations", "services", "templates", "views")
_OTHERS_WRITE = 0o022


def read_group_bits(root: Path) -> int:
    """Return the permissions of the folder's group: to read, if it is shared, else none."""
    return 0o050 if (root / SHARED_MARK).exists() else 0


def set_modes(root: Path, *, dry_run: bool = False) -> list[str]:
    """Give lineage's folders and files their modes, and return those that had others, relative to `root`.

    Other notes of a vault stay as they are, and so does what other users own. The folder of a vault with such notes
    only loses the permission of others to write.
    """
    changed = []
    for path, mode, wanted in _iter_modes(root):
        if mode != wanted:
            try:
                if not dry_run:
                    path.chmod(wanted)
            except OSError:  # another user's, or deleted
                continue
            changed.append(path.relative_to(root).as_posix())
    return changed


def find_exposed(root: Path) -> list[str]:
    """Return lineage's folders and files that others may read or write, relative to `root`."""
    open_folders, exposed = {root.parent}, []
    for path, mode, wanted in _iter_modes(root):
        if path.parent in open_folders:
            if mode & ~wanted & 0o077:
                exposed.append(path.relative_to(root).as_posix())
            if mode & 0o011:
                open_folders.add(path)
    return exposed


def _iter_modes(root: Path) -> Iterator[tuple[Path, int, int]]:
    """Yield each folder, before its contents, and each file with its mode and the one that it should have."""
    if not platform.CAN_RENAME_OPEN_FILES or not root.is_dir():
        return  # Windows has no such modes, and a bucket no folder
    group, mode = read_group_bits(root), stat.S_IMODE(root.stat().st_mode)
    names = {entry.name for entry in root.iterdir() if not entry.name.startswith(".")}
    yield root, mode, 0o700 | group if names <= {*_OWN, *_FROM_TEMPLATE} else mode & ~_OTHERS_WRITE
    for path in _walk(root):
        with contextlib.suppress(FileNotFoundError):  # deleted since its folder was read
            status = path.lstat()
            mode, bits = stat.S_IMODE(status.st_mode), 0 if path.is_relative_to(root / _STATE) else group
            wanted = 0o700 | bits if path.is_dir() else (0o600 if mode & 0o200 else 0o400) | bits & 0o040
            if not stat.S_ISLNK(status.st_mode):
                yield path, mode, mode & 0o7000 | wanted


def _walk(root: Path) -> Iterator[Path]:
    for top in (root / name for name in (_STATE, *_OWN)):
        yield from [] if top.is_dir() else [top]
        for folder, _, names in os.walk(top) if not top.is_symlink() else ():
            yield Path(folder)
            yield from (Path(folder, name) for name in names)
