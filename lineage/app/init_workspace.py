"""`lineage init`: a workspace from the template, in a folder of its own or in a folder of the user's vault.

Three sorts of files, three rules. (format: Workspace)

1. The user's files (AGENT_MEMORY.md, the settings, `.gitignore`) are made if missing, and never written again.
2. `.obsidian/` belongs to the vault's owner. In an existing vault, and for a workspace in a folder of a vault, only the
   style sheet is written: it has no effect until the user turns it on.
3. Views and templates are lineage's. An existing file with other content is a conflict; the caller decides whether it
   is replaced. The handbook, integrations and services stay in the package (`lineage help`).

MEMORY.md is written by every command: a foreign one is a conflict that must be resolved before there is a workspace.
All checks and questions come before the first write.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app.locations import STATE_FOLDER, find_template, format_location, is_bucket, open_store
from lineage.app.workspace import run_in_workspace
from lineage.core.base.book_paths import CURATED, CURATED_PATH, GLOBAL, BookRef
from lineage.core.base.naming import DEFAULT_AGENT, memory_md_path
from lineage.errors import FindingsReported, InvalidInput, WorkspaceError
from lineage.store import Blob, ExistsError, LocalStore, read_or_none, validate_key
from lineage.store.conformance import find_sequential_violation
from lineage.store.modes import SHARED_MARK, set_modes
from lineage.store.platform import make_directories, make_private_file
from lineage.workspace.book_index import index_books
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace

if TYPE_CHECKING:
    from lineage.store.objects import BucketStore

OBSIDIAN_FOLDER = ".obsidian/"
CSS_SNIPPET = ".obsidian/snippets/lineage.css"
GITIGNORE = ".gitignore"

_DEFAULT_FOLDER = "lineage"
_CONFIG_FILE = "lineage.toml"
_MEMORY_MD = memory_md_path(DEFAULT_AGENT)
_GENERATED_MARK = b"`lineage render` writes it again"
_SEPARATE_FOLDER_HINT = "keep the memory in a folder of its own: `lineage init VAULT --folder NAME`"
_PACKAGE_ONLY = frozenset({"handbook", "integrations", "services"})
USER_FILES = frozenset({CURATED_PATH, _CONFIG_FILE, GITIGNORE})
"""What `init` makes once, and nobody writes again."""
_IGNORE_LINES = frozenset({STATE_FOLDER, f"{STATE_FOLDER}/", f"/{STATE_FOLDER}", f"/{STATE_FOLDER}/"})


class TemplateFileState(Enum):
    """The state of a template file's target: the list of `InitResult` that it goes into."""

    MISSING = "made"
    UNCHANGED = "kept"
    CONFLICT = "refused"
    SKIPPED = "withheld"


@dataclass(frozen=True, slots=True)
class _TemplateFile:
    """A file of the template and its target. `path` is relative to `store`, `display_path` to the vault."""

    path: str
    data: bytes
    store: "LocalStore | BucketStore"
    display_path: str
    existing: Blob | None


@dataclass(slots=True)
class InitResult:
    """The result for each file of the template; the field names are JSON keys. Paths are relative to the vault.

    `made` and `replaced` were written. `kept` and `refused` stay, the latter with foreign content. `withheld` are
    Obsidian's settings that a user's vault does not get. `shadowing` are files of the vault that hide files of the
    workspace from its links. `is_ignored` is whether git ignores `.lineage/`.
    """

    workspace: Path
    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    shadowing: list[str] = field(default_factory=list)
    is_ignored: bool = True


def init_workspace(
    vault: Path,
    folder: str | None = None,
    may_replace: Callable[[str], bool] = lambda _: False,
    *,
    shared: bool = False,
) -> InitResult:
    """Make a workspace in `vault`, or in `folder` below it. Running it again changes nothing.

    In a vault of somebody's that is no workspace yet, the folder is `lineage` unless one is named.
    `may_replace` decides each conflict, by its path. `shared` lets the folder's group read it.

    Raises InvalidInput for an unsuitable folder, WorkspaceError for
    a missing vault and for a file in place of a folder, FindingsReported for a bucket that would lose writes.
    """
    _check_vault_path(vault)
    folder = folder or choose_folder(vault)
    workspace = vault / _validate_folder(vault, folder) if folder else vault
    check_bucket(workspace)
    is_ours = not folder and _has_only_template_files(vault)
    files = [(file, _classify(file, is_ours)) for file in _list_template_files(vault, workspace)]
    _check_memory_md(workspace, may_replace)
    replaceable = {
        file.path for file, state in files if state is TemplateFileState.CONFLICT and may_replace(file.display_path)
    }
    if shared:
        if is_bucket(workspace):
            raise InvalidInput("a bucket has no group", hint="its own policies say who may read it")
        make_directories(workspace / STATE_FOLDER, 0o700)
        make_private_file(workspace / SHARED_MARK)
    result = InitResult(workspace)
    for file, state in files:
        _apply(file, state, file.path in replaceable, result)
    if folder:  # Obsidian takes a path from the vault's root before it takes the end of a longer path
        paths = {file.path for file, _ in files if not file.path.startswith(OBSIDIAN_FOLDER)}
        result.shadowing = sorted(path for path in {_MEMORY_MD, *paths} - {GITIGNORE} if (vault / path).is_file())
    run_in_workspace(workspace, _index_curated_book, in_place=True)
    set_modes(workspace)
    ignored = read_or_none(open_store(workspace), GITIGNORE)
    lines = ignored.data.decode("utf-8", errors="replace").splitlines() if ignored else []
    result.is_ignored = any(line.strip() in _IGNORE_LINES for line in lines)
    return result


def _check_vault_path(vault: Path) -> None:
    """Raise WorkspaceError for an impossible or unreadable path."""
    try:
        vault.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise WorkspaceError(
            f"{str(vault)[:120]} can't be a workspace: {error.strerror}", hint="name another folder: `lineage init DIR`"
        ) from error


def choose_folder(vault: Path) -> str | None:
    """Return the folder for a workspace in an existing vault, None for a vault of its own."""
    is_vault = not is_bucket(vault) and (vault / OBSIDIAN_FOLDER).is_dir() and not _has_only_template_files(vault)
    return _DEFAULT_FOLDER if is_vault and not (vault / _CONFIG_FILE).is_file() else None


def check_bucket(root: Path) -> None:
    """Raise FindingsReported for a bucket without conditional writes: it would lose writes. A folder passes."""
    violation = find_sequential_violation(open_store(root)) if is_bucket(root) else None
    if violation:
        raise FindingsReported(
            f"{format_location(root)} can't keep a memory: {violation}",
            hint=f"run `lineage admin store-check {format_location(root)}`",
        )


def _validate_folder(vault: Path, folder: str) -> str:
    """Return the folder as a path below the vault, one that Obsidian shows."""
    if is_bucket(vault):
        raise InvalidInput(
            "a bucket is no vault", hint=f"give the folder in the address: {format_location(vault)}/{folder}"
        )
    if not vault.is_dir():
        raise WorkspaceError(f"no vault at {vault}", hint="name the vault's folder: `lineage init VAULT --folder NAME`")
    if (vault / _CONFIG_FILE).is_file():
        raise WorkspaceError(f"{vault} is a workspace itself", hint=f"run `lineage init {vault}`, without --folder")
    parts = folder.replace("\\", "/").strip("/").split("/")
    if any(not part.strip() or part.startswith(".") for part in parts):
        raise InvalidInput(
            f"not a folder of a vault: {folder[:120]!r}",
            hint="name one below the vault, without a dot in front: Obsidian doesn't show those",
        )
    return validate_key("/".join(parts))


def _list_template_files(vault: Path, workspace: Path) -> Iterator[_TemplateFile]:
    """Yield the template's files with their targets: in the workspace, then Obsidian's settings in the vault's root.

    Raises WorkspaceError for a target that can't be read.
    """
    locks = workspace / STATE_FOLDER / "locks"
    root = LocalStore(vault, locks=locks)
    inner = open_store(workspace) if is_bucket(workspace) else LocalStore(workspace, locks=locks)
    prefix = "" if workspace == vault else f"{workspace.relative_to(vault).as_posix()}/"
    source, has_link = find_template(), (vault / OBSIDIAN_FOLDER).is_symlink()
    paths = list_installed_files(source)
    if is_bucket(workspace):  # Obsidian opens folders
        paths = [path for path in paths if not path.startswith(OBSIDIAN_FOLDER)]
    for path in sorted(paths, key=lambda path: (path.startswith(OBSIDIAN_FOLDER), path)):
        is_setting = path.startswith(OBSIDIAN_FOLDER)
        store, display_path = (root, path) if is_setting else (inner, prefix + path)
        # a link may lead into another vault: nothing is read or written through it
        existing = None if is_setting and has_link else _read_existing(store, path)
        yield _TemplateFile(path, (source / path).read_bytes(), store, display_path, existing)


def list_installed_files(source: Path) -> list[str]:
    """Return the files of the template that a workspace gets, relative to it."""
    found = (file.relative_to(source) for file in source.rglob("*") if file.is_file())
    return [path.as_posix() for path in found if path.parts[0] not in _PACKAGE_ONLY]


def _read_existing(store: "LocalStore | BucketStore", path: str) -> Blob | None:
    if not isinstance(store, LocalStore):
        return read_or_none(store, path)
    for folder in (store.root, *(store.root / parent for parent in Path(path).parents)):
        if folder.exists() and not folder.is_dir():
            raise WorkspaceError(
                f"{folder} is a file, where a workspace has a folder",
                hint=f"give it another name, or {_SEPARATE_FOLDER_HINT}",
            )
    return read_or_none(store, path)


def _has_only_template_files(vault: Path) -> bool:
    """Return whether `.obsidian/` is missing or holds only unchanged template files, as after an interrupted run."""
    settings, ours = vault / OBSIDIAN_FOLDER, find_template() / OBSIDIAN_FOLDER
    if settings.is_symlink():
        return False
    files = (path for path in settings.rglob("*") if not path.is_dir())
    return all(_is_same(path, ours / path.relative_to(settings)) for path in files)


def _is_same(path: Path, other: Path) -> bool:
    return not path.is_symlink() and other.is_file() and path.read_bytes() == other.read_bytes()


def _classify(file: _TemplateFile, owns_settings: bool) -> TemplateFileState:
    if file.path.startswith(OBSIDIAN_FOLDER) and not owns_settings:
        has_link = isinstance(file.store, LocalStore) and (file.store.root / OBSIDIAN_FOLDER).is_symlink()
        if has_link or file.path != CSS_SNIPPET:
            return TemplateFileState.UNCHANGED if file.existing else TemplateFileState.SKIPPED
    if file.existing is None:
        return TemplateFileState.MISSING
    is_same = file.existing.data == file.data or file.path in USER_FILES
    return TemplateFileState.UNCHANGED if is_same else TemplateFileState.CONFLICT


def _check_memory_md(workspace: Path, may_replace: Callable[[str], bool]) -> None:
    """Raise WorkspaceError for a foreign MEMORY.md that must not be replaced."""
    blob = read_or_none(open_store(workspace), _MEMORY_MD)
    if blob and _GENERATED_MARK not in blob.data and not may_replace(_MEMORY_MD):
        raise WorkspaceError(
            f"{format_location(workspace)}/{_MEMORY_MD} isn't lineage's, and would be written over",
            hint=f"give it another name, or {_SEPARATE_FOLDER_HINT}",
        )


def _apply(file: _TemplateFile, state: TemplateFileState, may_overwrite: bool, result: InitResult) -> None:
    """Write the file if it is missing or may be replaced, and record the outcome.

    A file created since the check stays. Raises ConflictError for one that changed since its question.
    """
    if state is TemplateFileState.MISSING:
        try:  # another `init` may run at the same time
            file.store.create(file.path, file.data)
            result.made.append(file.display_path)
        except ExistsError:
            result.kept.append(file.display_path)
    elif state is TemplateFileState.CONFLICT and may_overwrite and file.existing:
        file.store.replace(file.path, file.data, file.existing.version)
        result.replaced.append(file.display_path)
    else:
        getattr(result, state.value).append(file.display_path)


def _index_curated_book(ws: Workspace) -> None:
    """Index the curated book, and write the first MEMORY.md."""
    index_books(ws, [BookRef(GLOBAL, CURATED)])
    if read_or_none(ws.documents.store, _MEMORY_MD) is None:
        publish_all(ws)
