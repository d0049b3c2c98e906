"""The project of a working directory: its git repository, the same for all worktrees. (format: Identity).

Reads git's own files, without git: `gitrepository-layout(5)`.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

# Bounds on a foreign tree: no project is deeper, no file of git's that is read here longer.
_MAX_LEVELS = 128
_MAX_BYTES = 1 << 16
_GITDIR = re.compile(r"gitdir:[ \t]*([^\r\n]+)[\r\n]*\Z")
_WORKTREE = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*(\"?)([^\r\n]+?)\1[ \t]*$", re.MULTILINE)


def resolve_project(cwd: str | None) -> str | None:
    """Return the root of a working directory's repository. Never raises; None stays None.

    Worktrees of one repository are one project; a submodule is one of its own. A directory outside of any repository, a
    missing one, or one with an unreadable repository is its own project. For a bare repository's worktrees it is the
    folder that hides the repository (`demo/.bare`), else the repository itself (`demo.git`).
    """
    path = Path(cwd or "")
    with contextlib.suppress(OSError, ValueError):  # a forbidden folder, a name or a file that is no text
        if cwd and path.is_absolute() and path.is_dir():
            return next(_find_roots(Path(os.path.normpath(path))), cwd)
    return cwd or None


def _find_roots(start: Path) -> Iterator[str]:
    """Yield the repositories around a folder, the innermost first."""
    for folder in (start, *start.parents)[:_MAX_LEVELS]:
        git = folder / ".git"
        if _is_repository(git):
            yield str(folder)
        elif _is_repository(folder):
            yield _first_worktree(folder)
        elif match := _GITDIR.match(_read_text(git)):  # a worktree's or a submodule's `.git` names its own folder
            repository = _find_repository(Path(os.path.normpath(git.parent / match[1])))
            yield _first_worktree(repository) if repository else str(folder)


def _is_repository(folder: Path) -> bool:
    """Return whether a folder is a repository itself: a `.git`, or a bare one."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _find_repository(gitdir: Path) -> Path | None:
    """Return the repository of a worktree's own folder, `<repository>/worktrees/<name>`; None for other folders."""
    # A submodule's folder has no `commondir`. A pruned worktree, or one of another machine, is known by its name.
    is_worktrees = gitdir.parent.name == "worktrees" and ((gitdir / "commondir").is_file() or not gitdir.is_dir())
    return gitdir.parent.parent if is_worktrees else None


def _first_worktree(repository: Path) -> str:
    """Return the folder of a repository's first worktree. A submodule's configuration names it."""
    if named := _WORKTREE.search(_read_text(repository / "config")):
        return os.path.normpath(repository / named[2])
    return str(repository.parent if repository.name.startswith(".") else repository)


def _read_text(file: Path) -> str:
    if not file.is_file():
        return ""
    with file.open("rb") as opened:
        return opened.read(_MAX_BYTES).decode("utf-8")
