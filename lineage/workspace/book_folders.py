"""The folder of a project's books, `books/project/<name>` (format: Identity; usefulness: Which project).

It has the project's base name, `owner-name` where another repository has that, else the name with a short hash. The
first project of a name claims the folder by a note in it, which is synced with the books. Another project of that name
finds the claim and takes the next name. So a folder never changes hands or names, and nobody keeps a list of projects.
A deleted note can be claimed again; an unreadable one belongs to another project.

The note names the repository, and that decides. A path's folder goes over to the repository that is there later. A bare
name means the project with that folder.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from lineage.core.base.book_paths import BOOKS
from lineage.core.base.file_names import escape_name, unescape_name
from lineage.core.base.project import build_project_key, has_project, is_repository
from lineage.core.format import frontmatter
from lineage.errors import FormatError
from lineage.store import map_concurrently, read_or_none, update
from lineage.workspace.folder_names import get_own_name, hash_key, list_names
from lineage.workspace.projects import build_key, identify
from lineage.workspace.workspace import Workspace

CLAIM_NOTE = "About this folder.md"
"""The name of the note; book files have no spaces."""

_PROJECTS = f"{BOOKS}project/"
_ABOUT = """The books in this folder are those of one project. Another project of the same name has a folder of its own,
named with its owner or a short hash.
"""

Note = Mapping[str, Any]
"""The frontmatter of a claim; empty for an unreadable one."""


class BookFolders:
    """The folders of projects' books; the notes of all are read at most once."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._all: dict[str, Note] | None = None

    def resolve(self, project: str | None, repository: str | None = None, *, claim: bool = False) -> str | None:
        """Return a project's `<name>` by name or path, None without one; `claim` takes a free folder first."""
        if repository is None:
            project, repository = identify(self._ws, project)
        path, key = build_key(project), build_key(project, repository)
        if not has_project(key):
            return None
        names = list(list_names(key))
        if names[0] == key:  # a bare name
            return key
        own, notes = None, dict[str, Note | None]()
        for name in (*names[:-1], *(list_names(path) if path != key and has_project(path) else ())):
            note = notes[name] = self._read_note(name)
            if note is not None and _owns(note, key, path):
                own = name
            if own or (note is None and not is_repository(key)):
                break
        own = own or (self._find_joined(key, path) if is_repository(key) else None)
        name = own or next((one for one in names[:-1] if notes[one] is None), names[-1])
        note = notes.get(name) or (self._all or {}).get(name) or {}
        if not claim or (own and (not repository or "repository" in note)):
            return name
        return self._claim(name, key, path, repository) or self.resolve(project, repository, claim=True)

    def _find_joined(self, key: str, path: str) -> str | None:
        """Return the folder that names this repository, else the one that the path has without a note."""
        if self._all is None:
            entries = self._ws.documents.store.list(_PROJECTS)
            folders = {entry.key.removeprefix(_PROJECTS).partition("/")[0] for entry in entries}
            names = sorted(unescape_name(folder) for folder in folders)
            notes = map_concurrently(self._ws.documents.store, self._read_note, names)
            self._all = {name: note or {} for name, note in zip(names, notes, strict=True)}
        named = (name for name, note in self._all.items() if note and _owns(note, key, ""))
        hashed = get_own_name(path) if has_project(path) else ""
        return next(named, hashed if hashed in self._all and not self._all[hashed] else None)

    def _read_note(self, name: str) -> Note | None:
        blob = read_or_none(self._ws.documents.store, f"{_PROJECTS}{escape_name(name)}/{CLAIM_NOTE}")
        return _parse_note(blob.data) if blob else None

    def _claim(self, name: str, key: str, path: str, repository: str | None) -> str | None:
        """Write the project into the folder's note. Return the name, None if another process was there first."""

        def change(data: bytes | None) -> bytes | None:
            note = {"kind": "project", "project": name, "key": hash_key(key)} if data is None else _parse_note(data)
            if not _owns(note, key, path):
                return None
            named = {"repository": build_project_key(repository)} if repository else {}
            return frontmatter.dump(frontmatter.build_post({**note, **named}, _ABOUT)).encode()

        if name != get_own_name(key):  # nobody else can have a name with its hash
            update(self._ws.documents.store, f"{_PROJECTS}{escape_name(name)}/{CLAIM_NOTE}", change)
            note = self._read_note(name)
            return name if note is None or _owns(note, key, path) else None
        return name


def resolve_project_folder(
    ws: Workspace, project: str | None, repository: str | None = None, *, claim: bool = False
) -> str | None:
    """Return a project's `<name>`, as `BookFolders.resolve` does."""
    return BookFolders(ws).resolve(project, repository, claim=claim)


def label_scopes(pairs: Iterable[tuple[str, str]], labels: Mapping[str, str]) -> dict[str, str]:
    """Return what people call the scope of each project whose folder has a hash in its name.

    `pairs` are keys and paths of projects, `labels` the names of paths.
    """
    return {f"project/{get_own_name(key)}": f"project/{labels.get(path, path)}" for key, path in pairs}


def locate_scopes(ws: Workspace) -> dict[str, str]:
    """Return the repository of the scope of each project that has sessions, without one its first folder."""
    folders = BookFolders(ws)
    found = dict[str, str]()
    for key, path in sorted(ws.index.list_projects()):
        name = folders.resolve(path, key if is_repository(key) else None)
        if name:
            found.setdefault(f"project/{name}", key if is_repository(key) else path)
    return found


def find_unused_claim(ws: Workspace, project: str | None, repository: str | None, token: str) -> str | None:
    """Return the note that claims a project's folder, if there is no book in it and no session but that of `token`."""
    name = resolve_project_folder(ws, project, repository)
    if not (name and project):
        return None
    folder = f"{_PROJECTS}{escape_name(name)}/"
    is_alone = [entry.key for entry in ws.documents.base.list(folder)] == [f"{folder}{CLAIM_NOTE}"]
    is_last = ws.index.find_tokens(None, project, [build_key(project, repository)]) <= {token}
    return f"{folder}{CLAIM_NOTE}" if is_alone and is_last else None


def list_unused_claims(ws: Workspace) -> list[str]:
    """Return the notes that claim folders in which there is no book, for projects without a session in the index."""
    files: dict[str, list[str]] = {}
    for entry in ws.documents.base.list(_PROJECTS):
        folder, _, name = entry.key.rpartition("/")
        files.setdefault(folder, []).append(name)
    alone = [folder for folder, names in files.items() if names == [CLAIM_NOTE]]
    if not alone:
        return []
    folders = BookFolders(ws)
    used = {folders.resolve(path, key if is_repository(key) else None) for key, path in ws.index.list_projects()}
    return [f"{folder}/{CLAIM_NOTE}" for folder in alone if unescape_name(folder.removeprefix(_PROJECTS)) not in used]


def _parse_note(data: bytes) -> Note:
    try:
        return frontmatter.load(data.decode("utf-8")).metadata
    except (FormatError, UnicodeDecodeError):  # in doubt, the folder is another project's
        return {}


def _owns(note: Note, key: str, path: str) -> bool:
    """Return whether a note is that of a project: by its repository, without one by its path."""
    named = note.get("repository")
    if isinstance(named, str) and is_repository(key):
        return f"/{named}".endswith(f"/{key}")
    return named == key or note.get("key") in (hash_key(key), hash_key(path))
