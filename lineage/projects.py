"""The project of a folder: its git repository, the same for all worktrees, and that repository's remote.

Reads git's own files, without git: `gitrepository-layout(5)`. The hook path imports this module, so it is light.
"""

import os

from lineage.core.base.project import (
    build_project_key,
    has_project,
    is_scp_form,
    normalize_remote,
    strip_project,
    strip_worktree,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Bounds on a foreign tree: no project is deeper, no file of git's that is read here longer.
_MAX_LEVELS = 128
_MAX_BYTES = 1 << 16
_MAX_CLONES = 4  # a clone of a clone …: the remotes of folders may form a circle
_ORIGIN = "origin"


def resolve_project(folder: str | None) -> str | None:
    """Return the root of a folder's repository, as `identify_folder` does."""
    return identify_folder(folder)[0]


def identify_folder(folder: str | None) -> "tuple[str | None, str | None]":
    """Return the root of a folder's repository and its normalized remote. Never raises; (None, None) stays so.

    Worktrees of one repository are one project; a submodule is one of its own. A folder outside of any repository, a
    missing one, or one with an unreadable repository is its own project; a repository that is the home directory counts
    as none. For a bare repository's worktrees it is the folder that hides the repository (`demo/.bare`), else the
    repository itself (`demo.git`). The remote is `origin`, else the only one; a remote that is a folder stands for that
    folder's repository.
    """
    try:
        return _identify(folder, _MAX_CLONES) if folder and os.path.isabs(folder) else (folder or None, None)
    except (OSError, ValueError):  # a forbidden folder, a name or a file that is no text
        return folder, None


def find_subfolder(folder: str | None) -> str:
    """Return the path of a folder below the root of its checkout, "" at the root and outside of a repository.

    Never raises. Of a removed worktree's folder it is the part that the repository has as well.
    """
    try:
        return _find_subfolder(folder) if folder and os.path.isabs(folder) else ""
    except (OSError, ValueError):
        return ""


def locate_in_project(path: str, folder: str, project_keys: "Sequence[str]") -> "tuple[str, list[str]]":
    """Return the path of a file below the root of its project, and that project's keys.

    `folder` is one of the project with `project_keys`, which may have no repository. The file needn't be there.
    """
    parent, below = os.path.split(path)
    while not os.path.isdir(parent) and parent != os.path.dirname(parent):  # an edit makes its folders
        parent, name = os.path.split(parent)
        below = f"{name}/{below}"
    if not has_repository(parent):
        root, real = identify_folder(folder)[0] or folder, os.path.join(os.path.realpath(parent), below)
        if (inside := strip_project(real, os.path.realpath(root))) != real:
            return inside, list(project_keys)
    return "/".join(filter(None, (find_subfolder(parent), below))), list_project_keys(parent)


def has_repository(folder: str) -> bool:
    """Return whether a folder that is there lies in a repository."""
    return identify_folder(folder)[0] != os.path.realpath(folder) or os.path.lexists(os.path.join(folder, ".git"))


def find_project_key(folder: str) -> str:
    """Return the key of a folder's project."""
    return build_project_key(*identify_folder(folder))


def list_project_keys(folder: str | None) -> "list[str]":
    """Return the possible keys of a folder's project: by its remote, then by its path."""
    return [key for key in list_context_names(folder) if has_project(key)]


def list_context_names(folder: str | None) -> "list[str]":
    """Return the possible names of a folder's prepared context, the last for sessions without a project."""
    root, remote = identify_folder(folder)
    return list(dict.fromkeys((build_project_key(root, remote), build_project_key(root), "")))


def _identify(folder: str, clones: int) -> "tuple[str, str | None]":
    if not os.path.isdir(folder):
        root = strip_worktree(folder)
        if root == folder or not os.path.isdir(root):
            return root, None
        folder = root
    real = os.path.realpath(folder)
    for root, repository, _ in _find_roots(real):
        return root, _find_remote(root, repository, clones)
    return (folder if os.path.dirname(real) == real else real), None


def _find_subfolder(folder: str) -> str:
    if not os.path.isdir(folder):
        root = strip_worktree(folder)
        below = folder[len(root) :].replace("\\", "/").strip("/").split("/")
        # The name of a worktree may have several parts, as its branch has.
        tails = (below[start:] for start in range(3 if below[0] == ".claude" else 2, len(below)))
        return next(("/".join(tail) for tail in tails if os.path.isdir(os.path.join(root, *tail))), "")
    real = os.path.realpath(folder)
    top = next((top for _, _, top in _find_roots(real)), real)
    return "" if top == real else os.path.relpath(real, top).replace(os.sep, "/")


def _find_roots(folder: str) -> "Iterator[tuple[str, str, str]]":
    """Yield the roots of projects around a folder, the innermost first, each with its repository and its checkout."""
    home = os.path.realpath(os.path.expanduser("~"))
    for root, repository, checkout in _find_checkouts(folder):
        if root != home and has_project(build_project_key(root)):
            yield root, repository, checkout


def _find_checkouts(folder: str) -> "Iterator[tuple[str, str, str]]":
    for _ in range(_MAX_LEVELS):
        git = os.path.join(folder, ".git")
        if _is_repository(git):
            yield folder, git, folder
        elif _is_repository(folder):
            yield _find_first_worktree(folder), folder, folder
        elif gitdir := _read_pointer(git, "gitdir:"):  # a worktree's or a submodule's `.git` names its own folder
            common = _find_common_folder(gitdir)
            yield (_find_first_worktree(common), common, folder) if common else (folder, gitdir, folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _is_repository(folder: str) -> bool:
    """Return whether a folder is a repository itself: a `.git`, or a bare one."""
    is_there = os.path.isfile(os.path.join(folder, "HEAD"))
    return is_there and all(os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs"))


def _find_common_folder(gitdir: str) -> str | None:
    """Return the repository of a worktree's own folder, `<repository>/worktrees/<name>`; None for other folders."""
    # A submodule's folder has no `commondir`. A pruned worktree, or one of another machine, is known by its name.
    if common := _read_pointer(os.path.join(gitdir, "commondir"), ""):
        return common if _is_repository(common) else None
    parent, name = os.path.split(os.path.dirname(gitdir))
    return parent if name == "worktrees" and not os.path.isdir(gitdir) else None


def _find_first_worktree(repository: str) -> str:
    """Return the folder of a repository's first worktree. A submodule's configuration names it."""
    if named := _read_config(repository)[0]:
        return os.path.normpath(os.path.join(repository, named))
    parent, name = os.path.split(repository)
    return parent if name.startswith(".") else repository


def _find_remote(root: str, repository: str, clones: int) -> str | None:
    """Return the normalized remote of a repository; for one on this machine the remote or the root of that."""
    remotes = _read_config(repository)[1]
    url = remotes.get(_ORIGIN) or (next(iter(remotes.values())) if len(remotes) == 1 else "")
    scheme, is_address, path = url.partition("://")
    if name := normalize_remote(url):
        return name
    if not url or (scheme.lower() != "file" if is_address else is_scp_form(url) or "::" in url):
        return None
    path = os.path.normpath(os.path.join(root, f"/{path.partition('/')[2]}" if is_address else url))
    path = next((one for one in (path, f"{path}.git") if os.path.isdir(one)), path)
    other, remote = _identify(path, clones - 1) if clones else (path, None)
    return remote or (other if other != root else None)


def _read_config(repository: str) -> "tuple[str, dict[str, str]]":
    """Return `core.worktree`, and the first URL of each remote, by name. Included files are not read."""
    worktree, remotes, section = "", dict[str, str](), ""
    for line in map(str.strip, _read_text(os.path.join(repository, "config")).splitlines()):
        section, _, rest = line[1:].partition("]") if line[:1] == "[" else (section, "", line)
        name, _, value = map(str.strip, rest.partition("="))
        # Without quotes a comment may follow.
        value = value[1:].partition('"')[0] if value[:1] == '"' else value.partition("#")[0].partition(";")[0].rstrip()
        kind, _, subsection = section.partition(" ")
        if (kind.lower(), name.lower()) == ("core", "worktree"):
            worktree = value.replace("\\\\", "\\")
        elif (kind.lower(), name.lower()) == ("remote", "url"):
            remotes.setdefault(subsection.strip().strip('"'), value.replace("\\\\", "\\"))
    return worktree, remotes


def _read_pointer(file: str, mark: str) -> str:
    """Return the folder that the one line of a file names after a mark, "" for any other file."""
    text = _read_text(file).rstrip("\r\n")
    named = text[len(mark) :].strip(" \t") if text.startswith(mark) else ""
    return os.path.normpath(os.path.join(os.path.dirname(file), named)) if named and "\n" not in named else ""


def _read_text(file: str) -> str:
    if not os.path.isfile(file):
        return ""
    with open(file, "rb") as opened:
        return opened.read(_MAX_BYTES).decode("utf-8", "replace")
