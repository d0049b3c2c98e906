"""Listing a harness's history: files below a folder, in a fixed order, links not followed."""

import os
from collections.abc import Iterator
from pathlib import Path

from lineage.harness.adapter import SessionLocation


def list_files(root: Path, suffixes: tuple[str, ...]) -> Iterator[SessionLocation]:
    """The regular files at or below `root` whose names end in one of `suffixes`, sorted by path.

    A file that is named itself is taken whatever it is called; folders that cannot be listed are left out.
    """
    if root.is_file():
        yield SessionLocation(root)
        return
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(suffixes) and path.is_file() and not path.is_symlink():
                yield SessionLocation(path)
