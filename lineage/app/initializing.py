"""`lineage init`: a workspace out of the template, in a folder of its own or under one folder of somebody's vault.

Three sorts of files, three rules. (format: Workspace)

1. What is the user's from the first moment on (AGENT_MEMORY.md, the settings, `.gitignore`) is made where it is
   missing, and never written again.
2. `.obsidian/` belongs to whom the vault belongs to. Where it is somebody's already, or the workspace is only a folder
   of the vault, nothing of it is written but the style sheet, which does nothing until it is turned on.
3. All else is lineage's: the handbook, views, integrations. A file that is there with other content is a conflict, and
   replaced only where the caller says so.

MEMORY.md is written by every command: one that is somebody else's is a conflict, and there is no workspace without an
answer. What is there is looked at, and asked about, before anything is written.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import STATE, template, with_house
from lineage.app.places import is_bucket, shown, store_at
from lineage.core.book_paths import CURATED, CURATED_PATH, GLOBAL, BookRef
from lineage.core.identity import DEFAULT_AGENT
from lineage.core.naming import memory_md_path
from lineage.errors import InvalidInput, Problems, WorkspaceError
from lineage.pipeline.house import House
from lineage.store import Blob, ExistsError, LocalStore, checked_key, read_or_none

if TYPE_CHECKING:
    from lineage.store.objects import Bucket

SETTINGS = ".obsidian/"
SNIPPET = ".obsidian/snippets/lineage.css"
GITIGNORE = ".gitignore"

_CONFIGURATION = "lineage.toml"
_LEDGER = memory_md_path(DEFAULT_AGENT)
_LEDGER_MARK = b"`lineage render` writes it again"
_ELSEWHERE = "keep the memory in a folder of its own: lineage init VAULT --folder NAME"
_YOURS = frozenset({CURATED_PATH, _CONFIGURATION, GITIGNORE})
_STATE_IGNORED = frozenset({STATE, f"{STATE}/", f"/{STATE}", f"/{STATE}/"})


class State(Enum):
    """What is at a place where a file of the template belongs."""

    MISSING = "missing"
    KEPT = "kept"
    CONFLICT = "conflict"
    WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the template, its place, and what is there: `path` is relative to `store`, `shown` to the vault."""

    path: str
    data: bytes
    store: "LocalStore | Bucket"
    shown: str
    there: Blob | None


@dataclass(slots=True)
class Initialized:
    """What became of each file of the template. Paths are relative to the folder that was named, the vault's root.

    `made` and `replaced` were written; `kept` and `refused` were there and stay, the latter with other content than
    lineage's; `withheld` are settings of Obsidian that a vault of somebody's lacks and doesn't get. `shadowing` are
    files of the vault that links of this workspace would lead to instead; `is_ignored` tells whether git leaves
    `.lineage/` out.
    """

    workspace: Path
    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    shadowing: list[str] = field(default_factory=list)
    is_ignored: bool = True


def initialized(vault: Path, folder: str | None, may_replace: Callable[[str], bool]) -> Initialized:
    """Makes a workspace in `vault`, or in `folder` below it. Doing it again changes nothing.

    `may_replace` is asked about each conflict, by its path. Raises InvalidInput for a folder that can't be one,
    WorkspaceError where there is no vault to put it in, or a file is in the way of a folder, and Problems for a bucket
    that would lose writes.
    """
    _check_place(vault)
    workspace = vault / _checked_folder(vault, folder) if folder else vault
    if is_bucket(workspace):
        _check_promises(workspace)
    is_ours = not folder and _has_only_ours(vault)
    files = [(file, _state(file, is_ours)) for file in _files(vault, workspace)]
    _claim_ledger(workspace, may_replace)
    agreed = {file.path for file, state in files if state is State.CONFLICT and may_replace(file.shown)}
    result = Initialized(workspace)
    for file, state in files:
        _place(file, state, file.path in agreed, result)
    result.shadowing = _shadowing(vault, [file.path for file, _ in files]) if folder else []
    with_house(workspace, _settle)
    result.is_ignored = _is_ignored(workspace)
    return result


def _check_place(vault: Path) -> None:
    """Raises WorkspaceError for a path that there can't be, or that can't be looked at."""
    try:
        vault.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise WorkspaceError(
            f"{str(vault)[:120]} can't be a workspace: {error.strerror}", hint="name another folder: lineage init DIR"
        ) from error


def _check_promises(workspace: Path) -> None:
    """Raises Problems for a bucket without conditional writes, before anything is trusted to it."""
    from lineage.store.probing import broken_alone

    broken = broken_alone(store_at(workspace))
    if broken:
        raise Problems(
            f"{shown(workspace)} can't keep a memory: {broken}", hint=f"run `lineage store check {shown(workspace)}`"
        )


def _checked_folder(vault: Path, folder: str) -> str:
    """The folder, as a path below the vault that Obsidian shows."""
    if is_bucket(vault):
        raise InvalidInput("a bucket is no vault", hint=f"give the folder in the address: {shown(vault)}/{folder}")
    if not vault.is_dir():
        raise WorkspaceError(f"no vault at {vault}", hint="name the vault's folder: lineage init VAULT --folder NAME")
    if (vault / _CONFIGURATION).is_file():
        raise WorkspaceError(f"{vault} is a workspace itself", hint=f"run `lineage init {vault}`, without --folder")
    parts = folder.replace("\\", "/").strip("/").split("/")
    if any(not part.strip() or part.startswith(".") for part in parts):
        raise InvalidInput(
            f"not a folder of a vault: {folder[:120]!r}",
            hint="name one below the vault, without a dot in front: Obsidian doesn't show those",
        )
    return checked_key("/".join(parts))


def _files(vault: Path, workspace: Path) -> Iterator[_File]:
    """The template's files, each with its place: Obsidian's at the vault's root and last, all else in the workspace.
    Raises WorkspaceError where what is there can't be read."""
    locks = workspace / STATE / "locks"
    root, inner = LocalStore(vault, locks=locks), _inner(workspace, locks)
    prefix = "" if workspace == vault else f"{workspace.relative_to(vault).as_posix()}/"
    source, has_link = template(), (vault / SETTINGS).is_symlink()
    paths = [found.relative_to(source).as_posix() for found in source.rglob("*") if found.is_file()]
    if is_bucket(workspace):  # Obsidian opens folders
        paths = [path for path in paths if not path.startswith(SETTINGS)]
    for path in sorted(paths, key=lambda path: (path.startswith(SETTINGS), path)):
        is_setting = path.startswith(SETTINGS)
        store, shown = (root, path) if is_setting else (inner, prefix + path)
        there = None if is_setting and has_link else _there(store, path)
        yield _File(path, (source / path).read_bytes(), store, shown, there)


def _inner(workspace: Path, locks: Path) -> "LocalStore | Bucket":
    return store_at(workspace) if is_bucket(workspace) else LocalStore(workspace, locks=locks)


def _there(store: "LocalStore | Bucket", path: str) -> Blob | None:
    if not isinstance(store, LocalStore):
        return read_or_none(store, path)
    for folder in (store.root, *(store.root / parent for parent in Path(path).parents)):
        if folder.exists() and not folder.is_dir():
            raise WorkspaceError(
                f"{folder} is a file, where a workspace has a folder",
                hint=f"give it another name, or {_ELSEWHERE}",
            )
    return read_or_none(store, path)


def _has_only_ours(vault: Path) -> bool:
    """Whether `.obsidian/` holds nothing but files of the template, as they are there: it is missing, or lineage's, be
    it that a run was cut off. One that is a link is never ours."""
    settings, ours = vault / SETTINGS, template() / SETTINGS
    if settings.is_symlink():
        return False
    there = (path for path in settings.rglob("*") if not path.is_dir())
    return all(_is_same(path, ours / path.relative_to(settings)) for path in there)


def _is_same(path: Path, other: Path) -> bool:
    return not path.is_symlink() and other.is_file() and path.read_bytes() == other.read_bytes()


def _state(file: _File, settings_are_ours: bool) -> State:
    if file.path.startswith(SETTINGS) and not settings_are_ours:
        has_link = isinstance(file.store, LocalStore) and (file.store.root / SETTINGS).is_symlink()
        if has_link or file.path != SNIPPET:
            return State.KEPT if file.there else State.WITHHELD
    if file.there is None:
        return State.MISSING
    return State.KEPT if file.there.data == file.data or file.path in _YOURS else State.CONFLICT


def _claim_ledger(workspace: Path, may_replace: Callable[[str], bool]) -> None:
    """Raises WorkspaceError where MEMORY.md is somebody's own, and may not be written over."""
    blob = read_or_none(store_at(workspace), _LEDGER)
    if blob and _LEDGER_MARK not in blob.data and not may_replace(_LEDGER):
        raise WorkspaceError(
            f"{shown(workspace)}/{_LEDGER} isn't lineage's, and would be written over",
            hint=f"give it another name, or {_ELSEWHERE}",
        )


def _place(file: _File, state: State, is_agreed: bool, result: Initialized) -> None:
    """Writes the file where it is missing, or where that was agreed to; what came in between stays. Raises
    ConflictError where what was asked about has changed since."""
    if state is State.MISSING:
        try:
            file.store.create(file.path, file.data)
            result.made.append(file.shown)
        except ExistsError:
            result.kept.append(file.shown)
    elif state is State.CONFLICT and is_agreed and file.there:
        file.store.replace(file.path, file.data, file.there.version)
        result.replaced.append(file.shown)
    else:
        lists = {State.KEPT: result.kept, State.CONFLICT: result.refused, State.WITHHELD: result.withheld}
        lists[state].append(file.shown)


def _settle(house: House) -> None:
    """The curated book gets its rows, and MEMORY.md is there from the beginning."""
    from lineage.pipeline.knowledge.shelving import shelve
    from lineage.pipeline.publishing import publish_all

    shelve(house, [BookRef(GLOBAL, CURATED)])
    if read_or_none(house.canon.store, _LEDGER) is None:
        publish_all(house)


def _shadowing(vault: Path, paths: Iterable[str]) -> list[str]:
    """The vault's own files that have, from its root, the path that a link of the workspace names: Obsidian takes the
    path from the root before it takes the end of a longer one."""
    linked = {_LEDGER, *(path for path in paths if not path.startswith(SETTINGS) and path != GITIGNORE)}
    return sorted(path for path in linked if (vault / path).is_file())


def _is_ignored(workspace: Path) -> bool:
    blob = read_or_none(store_at(workspace), GITIGNORE)
    lines = blob.data.decode("utf-8", errors="replace").splitlines() if blob else []
    return any(line.strip() in _STATE_IGNORED for line in lines)
