"""The machine's configuration, harnesses and extras, and the places of workspaces on it.

A workspace is a folder, or a bucket together with the folder of this machine that stands for it. This is the one place
that knows the difference. Files of this machine only lie below `.lineage/` of that folder either way.
"""

import os
import shlex
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import lineage
from lineage.config import SETTINGS_FILE, Settings, parse_settings
from lineage.config.machine import MachineSettings, parse_machine_settings
from lineage.core.base.address import SCHEMES, address_to_folder, folder_to_address, is_address, normalize_address
from lineage.errors import ExtraMissing, InvalidInput, SettingsError, WorkspaceError
from lineage.harness import detect_caller as callers
from lineage.harness.registry import HARNESSES
from lineage.store import LocalStore, Store, read_or_none
from lineage.workspace.paths import expand_home

if TYPE_CHECKING:  # needs obstore, an optional extra
    from lineage.store.objects import BucketStore
from importlib.util import find_spec

STATE_FOLDER = ".lineage"
"""The folder of a workspace for files of this machine only: spool, locks, index, counters."""

SUPPRESS_VARIABLE = "LINEAGE_SUPPRESS"
"""Silences `lineage hook` in a process and all that it starts."""

PARENT_VARIABLES = tuple(name for spec in HARNESSES.values() for name in spec.inherited_variables)
"""Harnesses set these for the commands that they run; an agent that inherits them joins the outer session."""

_MARKS = (STATE_FOLDER, SETTINGS_FILE, "memory", "books", "MEMORY.md", "AGENT_MEMORY.md")
_VARIABLES = ("LINEAGE_WORKSPACE", "SIGNET_WORKSPACE")
_DEFAULT_ROOT = "~/.agents"
_MAX_SIBLINGS = 10_000
_OTHERS_WRITE = 0o002
_OTHERS_SEE = 0o077


def resolve_workspace_root(option: str | None, environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the workspace that the option, the environment or the machine's configuration names.

    In this order: `--workspace`, LINEAGE_WORKSPACE, SIGNET_WORKSPACE, `workspace` of the configuration, `~/.agents`.
    For a bucket it is the folder that stands for it. (format: Workspace) Raises InvalidInput for an address of an
    unknown kind, WorkspaceError for the home folder of an unknown user.
    """
    variables = os.environ if environment is None else environment
    name = option or next((variables[name] for name in _VARIABLES if variables.get(name)), None)
    name = name or load_machine_settings(variables).workspace or _DEFAULT_ROOT
    if is_address(name):
        return resolve_bucket_folder(name, variables)
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError as error:
        raise WorkspaceError(
            f"there is no home folder for {name!r}", hint="name the folder itself: `lineage -w DIR status`"
        ) from error


def resolve_bucket_folder(address: str, environment: Mapping[str, str]) -> Path:
    """Return the folder of this machine that stands for a bucket. Raises InvalidInput for an unknown address."""
    normal = normalize_address(address)
    name = address_to_folder(normal) if normal else None
    if name is None:
        kinds = ", ".join(f"{scheme}://BUCKET/PREFIX" for scheme in SCHEMES)
        raise InvalidInput(f"not an address of a workspace: {address[:120]!r}", hint=f"one of {kinds}, or a folder")
    state_home = Path(environment.get("XDG_STATE_HOME") or "")
    return (state_home if state_home.is_absolute() else Path.home() / ".local" / "state") / "lineage" / name


def is_bucket(root: Path) -> bool:
    """Return whether the workspace lies in a bucket: then its folder holds none of its files."""
    return folder_to_address(root.name) is not None


def format_location(root: Path) -> str:
    """Return the workspace's address or path, as a user writes it."""
    return folder_to_address(root.name) or str(root)


def is_writable(root: Path) -> bool:
    """Return whether lineage can write there, as far as modes and the mount tell; a missing folder counts."""
    place = next((place for place in (root / STATE_FOLDER, root) if os.path.lexists(place)), None)
    return is_bucket(root) or place is None or os.access(place, os.W_OK)


def describe_unwritable(root: Path, error: WorkspaceError) -> WorkspaceError:
    """Return the error of a workspace that this user may not write, with what to look at."""
    place = format_location(root)
    hint = f"run `ls -ld {shlex.quote(place)}` to see its owner and mode, or name another: `lineage -w DIR …`"
    return WorkspaceError(f"{place} can't be written: {error.message}", hint=hint)


def is_workspace(root: Path, store: "LocalStore | BucketStore") -> bool:
    """Return whether a workspace was made there, by `init` or a hook, or was copied there; any other folder is none.

    An unreadable one counts: the next step says why it fails. Raises WorkspaceError if the system cannot tell.
    """
    is_unknown = is_bucket(root) or not os.access(root, os.X_OK)
    return store.exists() and (is_unknown or any(os.path.lexists(root / mark) for mark in _MARKS))


def require_workspace(root: Path, store: "LocalStore | BucketStore") -> None:
    """Raise WorkspaceError for a missing workspace."""
    if not is_workspace(root, store):
        name, near = format_location(root), find_nearest_workspace(root)
        is_default = name == str(expand_home(_DEFAULT_ROOT))
        makes = "lineage setup" if is_default else f"lineage init {shlex.quote(name)}"
        hint = f"run `{makes}`, or name another with `--workspace`"
        if is_default and not _names_workspace():
            read = f"; `lineage -w {shlex.quote(str(near))} list` reads the one that is there" if near else ""
            raise WorkspaceError("no memory is set up yet", hint=f"run `lineage setup`{read}")
        if near:
            meant = f"did you mean `lineage -w {shlex.quote(str(near))}`?"
            is_free = is_default or not os.path.lexists(root)
            hint = f"{meant} To make one, run `{makes if is_free else 'lineage init DIR'}`"
        raise WorkspaceError(f"no workspace at {name}", hint=hint)


def _names_workspace() -> bool:
    """Return whether the environment or this machine's configuration names a workspace."""
    return any(map(os.environ.get, _VARIABLES)) or bool(load_machine_settings(os.environ).workspace)


def find_nearest_workspace(root: Path) -> Path | None:
    """Return the workspace that a wrong folder most likely means, None for a bucket's folder or without one.

    In this order: the workspace in this vault, one beside it with a name like it, one that the folder lies in, then
    those that this machine uses.
    """
    if is_bucket(root):
        return None
    machine = load_machine_settings(os.environ).workspace or ""
    known = [Path(name) for name in (machine, "~/lineage", _DEFAULT_ROOT) if name and not is_address(name)]
    near = (root / "lineage", *_list_namesakes(root), *root.parents)
    candidates = (*near, *(expand_home(str(place)).absolute() for place in known))
    # a folder `memory` or `books` of anybody's is no proposal; where there is no right to look, nothing is found
    return next((place for place in candidates if place != root and any(map(os.path.lexists, _own_marks(place)))), None)


def _own_marks(root: Path) -> tuple[Path, ...]:
    return root / STATE_FOLDER, root / SETTINGS_FILE


def _list_namesakes(root: Path) -> list[Path]:
    """Return the folders beside one whose names are like its, the most alike first."""
    try:
        names = [entry.name for entry in islice(os.scandir(root.parent), _MAX_SIBLINGS)]
    except OSError:  # there is nothing to look into, or no right to
        return []
    return [root.parent / name for name in get_close_matches(root.name, sorted(names))]


def open_store(root: Path) -> "LocalStore | BucketStore":
    """Return the store of a workspace. Raises ExtraMissing for a bucket without its extra."""
    address = folder_to_address(root.name)
    if address is None:
        return LocalStore(root)
    try:
        from lineage.store.objects import BucketStore  # obstore is an optional extra
    except ImportError as error:
        raise ExtraMissing("bucket", ["obstore"]) from error
    return BucketStore(address, load_machine_settings(os.environ).bucket, root / STATE_FOLDER / "locks")


def open_named_store(name: str) -> "LocalStore | BucketStore":
    """Return the store at a path or address, with or without a workspace in it."""
    if not is_address(name):
        return LocalStore(expand_home(name).absolute())
    return open_store(resolve_bucket_folder(name, os.environ))


def open_private_store(root: Path) -> LocalStore:
    """Return the store of the workspace's files on this machine only: spool, hook queue, checkpoints, context cache."""
    return LocalStore(root / STATE_FOLDER, locks=root / STATE_FOLDER / "locks", private=True)


def find_template() -> Path:
    """Return the folder of the workspace's template: in the installed package, or beside it in a checkout."""
    package = Path(lineage.__file__).parent
    installed = package / "workspace_template"
    return installed if installed.is_dir() else package.parent / "workspace_template"


def load_settings(store: Store) -> Settings:
    """Return the settings in a workspace's lineage.toml, the defaults without one. Raises InvalidInput."""
    blob = read_or_none(store, SETTINGS_FILE)
    return parse_settings(blob.data.decode("utf-8", errors="replace")) if blob else Settings()


def machine_config_path(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_CONFIG_HOME/lineage/config.toml`; `~/.config` replaces a variable that is unset or relative."""
    base = Path(environment.get("XDG_CONFIG_HOME") or "")
    return (base if base.is_absolute() else home / ".config") / "lineage" / "config.toml"


def load_machine_settings(environment: Mapping[str, str]) -> MachineSettings:
    """Return this machine's settings, the defaults without a file. Raises as `read_machine_settings` does."""
    return read_machine_settings(machine_config_path(environment, Path.home()))


def read_machine_settings(path: Path) -> MachineSettings:
    """Return the settings in a file, the defaults without one (format: Workspace).

    Raises InvalidInput for a file that is wrong or unreadable, that every user may change, or that holds a key and is
    readable by others.
    """
    try:
        status = path.stat()
        text = path.read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):  # the normal case: most machines have no such file
        return MachineSettings()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}", hint="mend it, or move it away") from error
    # The file names programs to run: whoever may write it runs code as this user.
    if os.name != "nt" and status.st_mode & _OTHERS_WRITE:
        raise InvalidInput(f"{path} may be changed by anybody", hint=f"run `chmod o-w {path}`")
    settings = parse_machine_settings(text, str(path))
    if os.name != "nt" and settings.embedding.key and status.st_mode & _OTHERS_SEE:
        raise InvalidInput(f"{path} holds a key and may be read by others", hint=f"run `chmod 600 {path}`")
    return settings


def suppress_hooks() -> None:
    """Keep hooks silent in every process that this one starts: its work is no session."""
    os.environ[SUPPRESS_VARIABLE] = "1"


def detect_caller() -> callers.Caller | None:
    """Return the harness that runs this process for its agent; None for a person (format: Books)."""
    return callers.detect_caller(os.environ)


def require_extra(extra: str, *modules: str) -> None:
    """Raise ExtraMissing if a module of the extra isn't installed. None of them is imported."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ExtraMissing(extra, missing)
