"""The projects of a workspace: the sessions of a folder, a name or a remote (usefulness: Which project)."""

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from lineage.core.base.links import to_one_line
from lineage.core.base.project import (
    build_project_key,
    has_project,
    is_absolute,
    is_repository,
    join_projects,
    label_projects,
    normalize_subfolder,
)
from lineage.index import SessionFilter, SessionRow
from lineage.index.rows import format_folders
from lineage.projects import find_subfolder, identify_folder
from lineage.workspace.folder_names import get_own_name
from lineage.workspace.paths import expand_home
from lineage.workspace.workspace import Workspace


def identify(ws: Workspace, folder: str | None) -> tuple[str | None, str | None]:
    """Return the project of a folder and its remote; no remote that looks like a credential."""
    project, repository = identify_folder(folder)
    is_clean = repository is None or ws.build_sanitizer().sanitize(repository) == repository
    return project, repository if is_clean else None


def find_key(ws: Workspace, folder: str | None) -> str:
    """Return the key of a folder's project, "" for none; a key or a name stands for itself."""
    return build_key(*identify(ws, folder))


def build_key(project: str | None, repository: str | None = None) -> str:
    """Return the key of a project on this machine, "~" for its home directory, wherever that is."""
    is_home = repository is None and project == str(expand_home("~").resolve())
    return "~" if is_home else build_project_key(to_one_line(project or ""), repository)


class KnownProjects:
    """The projects of sessions, given as pairs of key and path, and that of `folder` on this machine."""

    def __init__(self, ws: Workspace, known: Iterable[tuple[str, str]], folder: str | None = None) -> None:
        project, repository = identify(ws, folder)
        pairs = [*known, *([(build_project_key(repository), project)] if repository and project else [])]
        self._joined = join_projects(pairs)
        self._by_path: dict[str, set[str]] = {}
        for key, path in pairs:
            self._by_path.setdefault(path, set()).add(self.join(key))

    def join(self, key: str) -> str:
        """Return the key of the project that a key belongs to: a path's repository if it got a remote later."""
        return self._joined.get(key, key)

    def list_equal(self, key: str) -> set[str]:
        """Return all keys of a key's project."""
        own = self.join(key)
        return {key, own, *(other for other, joined in self._joined.items() if joined == own)}

    def find_by_path(self, path: str) -> str:
        """Return the key of the sessions with this path; the path itself if they have none or several."""
        keys = self._by_path.get(path, set())
        return next(iter(keys)) if len(keys) == 1 and all(map(has_project, keys)) else path

    def label_paths(self) -> dict[str, str]:
        """Return a short name for each path, `owner/name` if two projects share one."""
        labels = label_projects(list(map(self.find_by_path, self._by_path)))
        return {path: labels[self.find_by_path(path)] for path in self._by_path}

    def match(self, text: str) -> set[str]:
        """Return the keys of all projects with a key or path that is a text or ends with it, in any case.

        A project is also called by the name of its books' folder that nobody else can have.
        """
        end = text.lower()
        found = [
            key for key in self._joined if f"/{key}".lower().endswith(f"/{end}") or end == get_own_name(key).lower()
        ]
        return self.list_equal(text).union(*map(self.list_equal, found))


def match_projects(ws: Workspace, project: str) -> list[str]:
    """Return the keys of the projects that a filter means: a folder, a name, `owner/name` or the end of a path."""
    return sorted(KnownProjects(ws, ws.index.list_projects(), project).match(find_key(ws, project)))


def locate(ws: Workspace, project: str | None, path: str | None) -> tuple[str | None, str]:
    """Return the project and the path below its root that two filters mean.

    Either may be a folder: one below the root stands for the project and the path. Another `path` is one below the root
    of any project.
    """
    if not path or not is_absolute(path):
        root, subfolder = _split_folder(ws, project)
        return root, normalize_subfolder(f"{subfolder}/{path or ''}")
    root, subfolder = _split_folder(ws, path)
    return project or root, subfolder


def _split_folder(ws: Workspace, folder: str | None) -> tuple[str | None, str]:
    """Return the project of a folder and the path below its root; for one that is gone by the known projects."""
    root, subfolder = identify_folder(folder)[0], find_subfolder(folder)
    if root == folder and folder and is_absolute(folder) and not Path(folder).exists():
        known = [path for _, path in ws.index.list_projects() if folder.startswith(f"{path}/")]
        root = max((path for path in known if has_project(build_project_key(path))), key=len, default=folder)
        subfolder = normalize_subfolder(folder[len(root) :])
    return root if subfolder else folder, subfolder


def list_sessions(
    ws: Workspace, agent_id: str | None, *, limit: int, wanted: SessionFilter, reference: str | None = None
) -> list[SessionRow]:
    """Return sessions, newest first, as the index does; see `locate_filter`."""
    return ws.index.list_sessions(agent_id, limit=limit, wanted=locate_filter(ws, wanted), reference=reference)


def count_sessions(ws: Workspace, agent_id: str | None, wanted: SessionFilter) -> int:
    """Return how many sessions `list_sessions` would list without a limit."""
    return sum(count for _, _, count in ws.index.count_sessions(agent_id, locate_filter(ws, wanted)))


def locate_filter(ws: Workspace, wanted: SessionFilter) -> SessionFilter:
    """Return the filter with the projects that it means.

    Its `project` is a folder, a name or the end of either, its `path` a folder or a path below a project's root: that
    of sessions that ran there or had files there in calls.
    """
    project, path = locate(ws, wanted.project, wanted.path)
    return replace(wanted, project=project, path=path, project_keys=match_projects(ws, project) if project else ())


def find_hashed_folder(ws: Workspace, digest: str | None) -> str | None:
    """Return the folder with this SHA-256, of all that sessions of this machine know, and the home directory."""
    if digest is None:
        return None
    known = [path for _, path in ws.index.list_projects()]
    known += [seen.cwd for seen in ws.telemetry.list_seen_sessions() if seen.cwd]
    folders = (*known, str(expand_home("~")))
    return next((one for one in folders if sha256(one.encode("utf-8", "replace")).hexdigest() == digest), None)


def resolve_known_projects(ws: Workspace) -> None:
    """Give the rows of sessions the repository that their folder has now, and the subfolder that they were seen in."""
    for key, path in ws.index.list_projects():
        if not is_repository(key) and (repository := identify(ws, path)[1]):
            ws.index.assign_project(path, key, build_project_key(path, repository))
    seen_sessions = ws.telemetry.list_seen_sessions()
    subfolders = {cwd: find_subfolder(cwd) for cwd in {seen.cwd for seen in seen_sessions}}
    for seen in seen_sessions:
        if subfolder := subfolders[seen.cwd]:
            ws.index.add_folder(seen.session_token, format_folders(ws.build_sanitizer().sanitize(subfolder)))
