"""Which project a working directory belongs to: its git repository, whichever worktree it is in. (format: Identity)

Read from git's own files, without git: `gitrepository-layout(5)`.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

_MAX_LEVELS = 128
_MAX_BYTES = 1 << 16
_GITDIR = re.compile(r"gitdir:[ \t]*([^\r\n]+)[\r\n]*\Z")
_WORKTREE = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*(\"?)([^\r\n]+?)\1[ \t]*$", re.MULTILINE)


def resolve_project(cwd: str | None) -> str | None:
    """The root of the repository that a working directory lies in; worktrees of one repository are one project, a
    submodule is one of its own.

    A directory in no repository, that is not there (any more), or whose repository cannot be read, is its own project.
    Of a bare repository's worktrees it is the folder that hides the repository (`demo/.bare`), else the repository
    itself (`demo.git`). None stays None. Never raises.
    """
    here = Path(cwd or "")
    with contextlib.suppress(OSError, ValueError):  # a folder that is closed to us, a name or a file that is no text
        if cwd and here.is_absolute() and here.is_dir():
            return next(_find_roots(Path(os.path.normpath(here))), cwd)
    return cwd or None


def _find_roots(here: Path) -> Iterator[str]:
    """The repositories around a folder, the innermost first."""
    for folder in (here, *here.parents)[:_MAX_LEVELS]:
        git = folder / ".git"
        if _is_repository(git):
            yield str(folder)
        elif _is_repository(folder):
            yield _first_worktree(folder)
        elif pointed := _read_gitdir(git):
            repository = _find_repository(pointed)
            yield _first_worktree(repository) if repository else str(folder)


def _is_repository(folder: Path) -> bool:
    """Whether a folder is a repository itself: a `.git`, or a bare one."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _read_gitdir(git: Path) -> Path | None:
    """Where a `.git` file says that the repository lies: a worktree's or a submodule's."""
    match = _GITDIR.match(_read_text(git))
    return Path(os.path.normpath(git.parent / match[1])) if match else None


def _find_repository(gitdir: Path) -> Path | None:
    """The repository that a worktree's own folder, `<repository>/worktrees/<name>`, belongs to. None for other folders:
    a submodule's has no `commondir`. One that was pruned, or lies on another machine, goes by its name."""
    is_worktrees = gitdir.parent.name == "worktrees" and ((gitdir / "commondir").is_file() or not gitdir.is_dir())
    return gitdir.parent.parent if is_worktrees else None


def _first_worktree(repository: Path) -> str:
    """The folder of a repository's first worktree: the configuration of a submodule's names it."""
    named = _WORKTREE.search(_read_text(repository / "config"))
    if named:
        return os.path.normpath(repository / named[2])
    return str(repository.parent if repository.name.startswith(".") else repository)


def _read_text(file: Path) -> str:
    """The beginning of a regular file; nothing where there is none."""
    if not file.is_file():
        return ""
    with file.open("rb") as opened:
        return opened.read(_MAX_BYTES).decode("utf-8")
