"""Composition of `lineage hooks package`: the packages for publishing, written into a folder."""

import json
import re
from collections.abc import Collection
from pathlib import Path

from lineage import __version__
from lineage.errors import InvalidInput, describe_os_error
from lineage.installing.packages import MANIFEST, build_packages, is_manifest

_NAMESPACE = re.compile(r"[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+")
_EXAMPLE = "`lineage hooks package ./lineage-packages"


def write_packages(folder: Path, namespace: str) -> list[str]:
    """Write the packages and return the paths of their files in the folder.

    Raises InvalidInput for a namespace that is none, and for a folder with a file that no package has; WorkspaceError
    if a file cannot be written.
    """
    if not _NAMESPACE.fullmatch(namespace):
        raise InvalidInput(f"not a namespace: {namespace!r}", hint=f"name yours: {_EXAMPLE} --namespace io.github.YOU`")
    files = build_packages(__version__, namespace)
    try:
        _require_own(folder, files)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise describe_os_error(
            f"{folder} cannot be written", error, hint=f"name another folder: {_EXAMPLE}`"
        ) from error
    return list(files)


def _require_own(folder: Path, names: Collection[str]) -> None:
    """Raise InvalidInput unless the folder is missing, empty, or holds packages of lineage's and a repository alone."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder", hint=f"name an empty folder: {_EXAMPLE}`")
    found = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()] if folder.exists() else []
    others = {path.relative_to(folder).as_posix() for path in found} - set(names)
    others = {name for name in others if not name.startswith(".git/")}
    if others or (found and not _has_manifest(folder)):
        what = f" ({min(others)})" if others else ""
        hint = f"name an empty folder: {_EXAMPLE}`"
        raise InvalidInput(f"{folder} holds files that are not lineage's{what}", hint=hint)


def _has_manifest(folder: Path) -> bool:
    try:
        return is_manifest(json.loads((folder / MANIFEST).read_bytes()))
    except (FileNotFoundError, ValueError):
        return False
