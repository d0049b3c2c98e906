"""What a memo is bound to: a file, a command or an error, as a person or an agent names it (format: Books).

A file is known by its path below the root of its repository, as the hook at an edit knows it; a folder's ends in a
slash.
"""

import os
from pathlib import Path

from lineage.core.base.about import FILE, build_subject, classify_subject, split_subject
from lineage.core.base.links import to_one_line
from lineage.core.base.project import is_absolute, normalize_subfolder
from lineage.errors import InvalidInput
from lineage.projects import has_repository, list_project_keys, locate_file
from lineage.workspace.paths import expand_home


def resolve_subject(text: str, root: str, *, is_fixed: bool = True) -> str:
    """Return the subject that a text names. `root` is a folder of the project, "" where nobody knows one.

    Raises InvalidInput for a text that names nothing, and for a file outside of the project; of any repository unless
    the project `is_fixed`.
    """
    subject = classify_subject(_complete_path(to_one_line(text), root))
    sort, name = split_subject(subject)
    if sort == FILE:
        path = str(expand_home(name.replace("\\", "/")))
        below = normalize_subfolder(_locate_below(path, root, is_fixed=is_fixed) if is_absolute(path) else path)
        is_named = below and path[:1] != "~"
        subject = build_subject(FILE, f"{below}/" if name.endswith(("/", "\\")) else below) if is_named else ""
    if not subject:
        raise InvalidInput(f"nothing to be bound to: {text[:80]!r}", hint="name a file, a command or an error")
    return subject


def _complete_path(name: str, root: str) -> str:
    """Return a name as that of a file or a folder if it can be nothing else: `docs/my notes.md` is there."""
    path = Path(root, expand_home(name))
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError):  # forbidden, or no name of a file
        return name
    if is_folder and path.is_absolute():
        return f"{FILE}:{name.rstrip('/')}/"
    is_path = path.is_absolute() and (" " in name or is_absolute(name))
    return f"{FILE}:{name}" if is_there and is_path else name


def _locate_below(path: str, root: str, *, is_fixed: bool) -> str:
    """Return the path of a file below the root of its project."""
    keys = list_project_keys(root) if root else []
    below, own = locate_file(os.path.normpath(path), root, keys)
    may_be_any = not (keys and is_fixed) and has_repository(_find_parent(path))
    if not Path(path).is_absolute() or (set(keys).isdisjoint(own) and not may_be_any):
        hint = "name a file of the project, by its path below the project's root"
        raise InvalidInput(f"{path[:80]!r} is no file of {root or 'a repository'}", hint=hint)
    return below


def _find_parent(path: str) -> str:
    """Return the innermost folder around a path that is there."""
    try:
        return next(str(folder) for folder in Path(path).parents if folder.is_dir())
    except (OSError, ValueError):
        return str(Path(path).parent)
