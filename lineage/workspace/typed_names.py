"""What people type for a project, a scope or a kind, and what it means in every command (usefulness: Which project).

A project is typed as lists print it: a folder, a name, or `owner/name`. A name that several projects have means the one
whose books are in the folder of that name. A scope of a project is `project/` and any of these, or one of them alone.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from lineage.core.base.book_paths import GLOBAL, KINDS, OTHER_NAMES, SCOPES, BookRef, parse_book_path
from lineage.core.base.project import is_absolute, is_repository
from lineage.errors import InvalidInput
from lineage.workspace.book_folders import BookFolders, resolve_project_folder
from lineage.workspace.projects import KnownProjects, match_projects
from lineage.workspace.workspace import Workspace

_PREFIX = "project/"
_HINT = "a scope is global, a project as `lineage list` names it, agent/ID, peer/ID or session/TOKEN"
_MAX_NAMED = 6


@dataclass(frozen=True, slots=True)
class NamedProject:
    """The project that a name means. `project` is its folder or repository, the name itself where it means none.

    `others` are the projects that are called so, too, as they can be typed; `likely` is a name that may be meant where
    no project is called so.
    """

    name: str
    project: str
    is_known: bool
    others: tuple[str, ...] = ()
    likely: str = ""

    def describe_others(self) -> str:
        """Return what else is called so, and how it is named; "" for nothing else."""
        if not self.others:
            return ""
        taken = f"this is {self.project}" if self.is_known else f"none has its books in project/{self.name}"
        total = len(self.others) + self.is_known
        counted = f"{total} {'projects are' if total > 1 else 'project is'} called {self.name}"
        return f"{counted}, {taken}; name another: {_join_names(self.others)}"

    def describe_unknown(self) -> str:
        """Return that no session is of such a project, and which name may be meant; "" for one that has sessions."""
        if self.is_known or self.others:
            return ""
        likely = f" (did you mean {self.likely}?)" if self.likely else ""
        return f"no session of a project called {self.name} is saved{likely}; `lineage list` names the projects"


@dataclass(frozen=True, slots=True)
class NamedScope:
    """The scope that a text means, and the project if it is one's; `note` is what else it may mean, "" for nothing."""

    scope: str
    project: NamedProject | None = None
    note: str = ""


class _Called:
    """The projects with sessions that are called by a name."""

    def __init__(self, ws: Workspace, name: str) -> None:
        self.pairs = sorted((key, path) for key, path in ws.index.list_projects() if path)
        self._known = KnownProjects(ws, self.pairs)
        keys = self._known.match(name)
        self.paths = {self._known.join(key): path for key, path in reversed(self.pairs) if key in keys}

    def find_owner(self, ws: Workspace, name: str) -> tuple[str, str] | None:
        """Return the key and the path of the project whose books are in the folder of a name."""
        folders = BookFolders(ws)
        # those that are called so first: the notes of all are far away in a bucket
        for key, path in sorted(self.pairs, key=lambda pair: self._known.join(pair[0]) not in self.paths):
            if folders.resolve(path, key if is_repository(key) else None) == name:
                joined = self._known.join(key)
                return joined, self.paths.get(joined, path)
        return None

    def name_all(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the names that lists print for the projects of these keys."""
        labels = self._known.label_paths()
        return tuple(sorted({labels[self.paths[key]] for key in keys}))

    def find_likely(self, name: str) -> str:
        """Return the name of a project that is nearly this one, "" for none, and where one is called exactly so."""
        if self.paths:
            return ""
        depth = name.count("/") + 1
        ends = ("/".join(place.split("/")[-depth:]) for pair in self.pairs for place in pair)
        names = {*self._known.label_paths().values(), *ends}
        return next(iter(get_close_matches(name, sorted(names), 1)), "")


def find_named(ws: Workspace, name: str) -> NamedProject:
    """Return the project that a person calls by a folder, a name, `owner/name` or the end of a path.

    Raises InvalidInput if several projects are called `owner/name`.
    """
    if is_absolute(name):
        return NamedProject(name, name, is_known=False)
    called = _Called(ws, name)
    if "/" in name and len(called.paths) > 1:
        what = f"{len(called.paths)} projects end with {name[:80]!r}"
        raise InvalidInput(what, hint=f"name one by its folder: {', '.join(sorted(called.paths.values())[:3])}")
    chosen = called.find_owner(ws, name) if "/" not in name else None
    if chosen is None and len(called.paths) == 1 and ("/" in name or not _has_book(ws, f"{_PREFIX}{name}")):
        chosen = next(iter(called.paths.items()))
    if chosen is None:
        return NamedProject(name, name, False, called.name_all(called.paths), called.find_likely(name))
    others = called.name_all(key for key in called.paths if key != chosen[0])
    return NamedProject(name, _choose_place(*chosen), True, others)


def describe_filter(ws: Workspace, name: str | None) -> str:
    """Return that a filter takes the sessions of several projects, and how one is named; "" where it takes one's."""
    if not name or is_absolute(name):
        return ""
    called = _Called(ws, name)
    if len(called.paths) < 2:
        return ""
    names = _join_names(called.name_all(called.paths))
    return f"{len(called.paths)} projects are called {name}, these are of all of them; name one: {names}"


def suggest_project(ws: Workspace, name: str | None) -> str:
    """Return the name of a project that is nearly this one, "" for none, and where a project is called exactly so."""
    return "" if not name or is_absolute(name) else _Called(ws, name).find_likely(name)


def suggest_kind(name: str, *more: str) -> str:
    """Return the kind that a name of a person's own is nearly, "" for one of lineage's and for any other.

    `more` are kinds beside those of books.

    >>> suggest_kind("ruel"), suggest_kind("decisions"), suggest_kind("recipe"), suggest_kind("sumary", "summary")
    ('rule', '', '', 'summary')
    """
    known = (*KINDS, *OTHER_NAMES, *more)
    is_own = name.lower() not in known and not name.startswith("daily/")
    return next(iter(get_close_matches(name.lower(), known, 1, 0.7)), "") if is_own else ""


def find_scope(ws: Workspace, text: str, *, claim: bool = False) -> NamedScope:
    """Return the scope that a person names. `claim` takes a project's free folder.

    A scope in which there is a book under exactly that name comes first. Raises InvalidInput for a text that names
    nothing, and if several projects are called `owner/name`.
    """
    if not is_named_project(text):
        return NamedScope(text)
    name = text.removeprefix(_PREFIX)
    if text != name and _has_book(ws, text):
        return NamedScope(text, None, _describe_exact(ws, text, name))
    found = find_project_scope(ws, name)
    is_sure = text != name or is_absolute(name) or (found.project and found.project.is_known)
    if not (is_sure or _has_book(ws, found.scope)):
        likely = found.project.likely if found.project else ""
        hint = f"did you mean {likely}? " if likely else ""
        raise InvalidInput(f"not a scope: {text[:80]!r}", hint=f"{hint}{_HINT}")
    if claim and found.project:
        folder = resolve_project_folder(ws, found.project.project, claim=True)
        return replace(found, scope=f"{_PREFIX}{folder}" if folder else found.scope)
    return found


def find_project_scope(ws: Workspace, name: str) -> NamedScope:
    """Return the scope of the project that a person names. Raises InvalidInput as `find_named` does."""
    project = find_named(ws, name)
    folder = resolve_project_folder(ws, project.project)
    if folder is None:  # the home directory and the root are no projects
        return NamedScope(f"{_PREFIX}{name}")
    return NamedScope(f"{_PREFIX}{folder}", project, project.describe_others() or describe_unsaved(project))


def describe_unsaved(project: NamedProject) -> str:
    """Return that no session of a project is saved; "" for a folder, which needs none."""
    return "" if is_absolute(project.name) else project.describe_unknown()


def describe_missing(ws: Workspace, project: NamedProject) -> str:
    """Return that no session of a project is saved, of a folder if no book is its own either; "" for a known one."""
    if not is_absolute(project.name):
        return project.describe_unknown()
    folder = resolve_project_folder(ws, project.project)
    if folder is None or _has_book(ws, f"{_PREFIX}{folder}"):
        return ""
    is_saved = ws.index.find_tokens(None, project.project, match_projects(ws, project.project))
    return "" if is_saved else f"no session of {project.name} is saved yet, and nothing is remembered of it"


def is_named_project(text: str) -> bool:
    """Return whether a scope is one of a project's, by `project/` or a name alone; others are typed as they are.

    >>> [is_named_project(text) for text in ("project/demo", "ada/demo", "global", "agent/ann")]
    [True, True, False, False]
    """
    sort, slash, name = text.partition("/")
    if sort == "project":
        return bool(name) or not slash
    return bool(text) and text != GLOBAL and not (name and sort in SCOPES)


def _describe_exact(ws: Workspace, scope: str, name: str) -> str:
    """Return what a scope may mean besides the book of that very name."""
    try:
        project = find_named(ws, name)
    except InvalidInput:  # several are called so: none of them is taken
        return ""
    folder = resolve_project_folder(ws, project.project) if project.is_known else None
    own = f"{_PREFIX}{folder}"
    if folder and own != scope:
        named = f"{scope} is a scope of that very name; the project {name} ({project.project}) has its books in {own}"
        return f"{named}: `lineage memory move` takes an entry there"
    return project.describe_others()


def _choose_place(key: str, path: str) -> str:
    """Return the folder of a project, the repository where that folder is not on this machine."""
    return key if is_repository(key) and not os.path.isdir(path) else path  # noqa: PTH112  (never raises)


def _join_names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")


def _has_book(ws: Workspace, scope: str) -> bool:
    """Return whether any book has exactly this scope, on any shelf."""
    try:
        shelves = [BookRef(scope, "note", shelf).path.rpartition("/")[0] for shelf in ("", "pending")]
    except InvalidInput:
        return False
    return any(parse_book_path(entry.key) for shelf in shelves for entry in ws.documents.store.list(f"{shelf}/"))
