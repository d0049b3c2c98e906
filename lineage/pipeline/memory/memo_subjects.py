"""What a memo is bound to: a file, a command or an error, as a person or an agent names it (format: Books).

A file is known by its path below the root of its repository, as the hook at an edit knows it; a folder's ends in a
slash. One that is there is found as a shell finds it, from the caller's folder; any other name is one below the root.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from lineage.core.base.about import FILE, build_subject, classify_subject, split_subject
from lineage.core.base.links import to_one_line
from lineage.core.base.project import is_absolute, normalize_subfolder
from lineage.errors import InvalidInput
from lineage.projects import has_repository, locate_in_project
from lineage.workspace.paths import expand_home


def resolve_subject(text: str, folder: str, project_keys: Sequence[str]) -> str:
    """Return the subject that a text names.

    `folder` is one of the project, "" where nobody knows one; without `project_keys` it may be any project's. Raises
    InvalidInput for a text that names nothing, and for a file outside of the project.
    """
    line = to_one_line(text)
    subject = classify_subject(line)
    sort, name = split_subject(subject)
    if not subject and expand_home(line).is_absolute():  # it may be short enough below the root
        sort, name = FILE, line
    is_sorted = subject != "" and line.strip("` ").startswith(f"{sort}:")
    named = expand_home(name.replace("\\", "/"))
    path = Path(folder, named)
    is_there, is_folder = _look(path) if name and (sort == FILE or not is_sorted) else (False, False)
    if is_folder or (is_there and (" " in name or is_absolute(name))):
        sort = FILE
    if sort == FILE and name:
        is_folder = is_folder or name.endswith(("/", "\\"))
        is_located = is_there or named.is_absolute()
        below = _locate_below(path, folder, project_keys, is_folder=is_folder) if is_located else _normalize(name)
        subject = build_subject(FILE, f"{below}/" if is_folder else below) if below else ""
    if not subject:
        raise InvalidInput(f"nothing to be bound to: {text[:80]!r}", hint="name a file, a command or an error")
    return subject


def _look(path: Path) -> tuple[bool, bool]:
    """Return whether a path with a root is there, and whether it is a folder."""
    try:
        return path.is_absolute() and path.exists(), path.is_absolute() and path.is_dir()
    except (OSError, ValueError):  # forbidden, or no name of a file
        return False, False


def _normalize(name: str) -> str:
    """Return a path below the root, "" for one that can't be."""
    return "" if is_absolute(name) or name[:1] == "~" else normalize_subfolder(name)


def _locate_below(path: Path, folder: str, project_keys: Sequence[str], *, is_folder: bool) -> str:
    """Return the path of a file or a folder below the root of its project."""
    inside = os.path.normpath(path / "_" if is_folder else path)  # a folder is known by what lies in it
    below, keys = locate_in_project(inside, folder, project_keys)
    is_of_project = not {*project_keys}.isdisjoint(keys) if project_keys else has_repository(_find_parent(Path(inside)))
    if not is_of_project:
        problem = f"{str(path)[:80]!r} is no file of {'the' if project_keys else 'a'} project"
        raise InvalidInput(problem, hint="name a file of the project, by its path below the project's root")
    return normalize_subfolder(below.rpartition("/")[0] if is_folder else below)


def _find_parent(path: Path) -> str:
    """Return the innermost folder around a path that is there."""
    try:
        return next(str(folder) for folder in path.parents if folder.is_dir())
    except (OSError, ValueError):
        return str(path.parent)
