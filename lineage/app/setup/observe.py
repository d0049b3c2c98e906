"""What a set-up finds on this machine: a place for the memory, harnesses with their hooks, and their histories."""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from lineage.app import clock, hooks
from lineage.app.doctor import find_expiry
from lineage.app.documents import detect_machine
from lineage.app.history_import import ALL, build_import_request
from lineage.app.init_workspace import USER_FILES, choose_folder
from lineage.app.locations import (
    STATE_FOLDER,
    is_bucket,
    is_workspace,
    load_machine_settings,
    open_store,
    resolve_workspace_root,
)
from lineage.app.setup.plan import HarnessState, HistoryState, PlaceState, SetupState
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.base.times import from_epoch
from lineage.errors import LineageError, WorkspaceError
from lineage.harness.registry import HARNESSES
from lineage.installing import HookStatus
from lineage.installing.status import INSTALLED
from lineage.pipeline.ingest.locate_transcript import HarnessHistories

_VARIABLES = ("LINEAGE_WORKSPACE", "SIGNET_WORKSPACE")
_OLD_PLACE = ".agents"
_PLACES = ("lineage", "lineage-memory")


def observe_machine(option: str | None, harnesses: Collection[str] = ()) -> SetupState:
    """Return the state of this machine; `option` names the memory's place, else one is proposed.

    Raise WorkspaceError if there is no home folder, InvalidInput for an unknown harness.
    """
    home, environment = find_home(), os.environ
    settings = load_machine_settings(environment)
    statuses = [one for one in hooks.read_statuses(home, "default", sorted(harnesses)) if one.present or harnesses]
    folder = (
        resolve_workspace_root(option) if option else _propose_root(home, environment, settings.workspace, statuses)
    )
    root = find_root(folder)
    variable = find_variable(environment)
    return SetupState(
        folder=folder,
        root=root,
        place=read_place(root),
        default=str(resolve_workspace_root(settings.workspace)) if settings.workspace else "",
        variable=variable if variable and resolve_workspace_root(environment[variable]) != root else "",
        harnesses=tuple(HarnessState(one.harness, one.workspace or "", one.state == INSTALLED) for one in statuses),
        history=tuple(_read_histories(detect_machine(), clock.now())),
    )


def find_variable(environment: Mapping[str, str]) -> str:
    """Return the variable of the environment that names a workspace, "" without one."""
    return next((name for name in _VARIABLES if environment.get(name)), "")


def find_home() -> Path:
    """Return this user's home folder. Raise WorkspaceError without one."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise WorkspaceError(
            "this user has no home folder", hint="set HOME to a folder, then run `lineage setup` again"
        ) from error
    if not home.is_dir():
        raise WorkspaceError(
            f"the home folder {home} is missing", hint="set HOME to a folder, then run `lineage setup` again"
        )
    return home


def find_root(folder: Path) -> Path:
    """Return where the memory lies: the folder, or one of it if it is somebody's vault."""
    return folder / (choose_folder(folder) or "")


def read_place(root: Path) -> PlaceState:
    """Return what stands at a memory's place.

    Raise WorkspaceError for a file, a folder that can't be read, and a path that no configuration could name.
    """
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        raise WorkspaceError(
            f"{root} can't be a workspace: its path is not UTF-8", hint="name another folder: `lineage -w DIR setup`"
        ) from error
    if is_workspace(root, open_store(root)):
        is_whole = is_bucket(root) or all((root / name).exists() for name in USER_FILES)
        return PlaceState.MEMORY if is_whole else PlaceState.UNFINISHED
    if is_bucket(root):
        return PlaceState.FREE
    try:
        is_taken = any(root.iterdir())
    except FileNotFoundError:
        return PlaceState.FREE
    except OSError as error:
        raise WorkspaceError(
            f"{root} can't be a workspace: {error.strerror}", hint="name another folder: `lineage -w DIR setup`"
        ) from error
    return PlaceState.TAKEN if is_taken else PlaceState.FREE


def require_writable(root: Path) -> None:
    """Raise WorkspaceError unless a memory's folder can be made and written. Nothing of the attempt stays."""
    if is_bucket(root):
        return
    verb = "write into" if os.path.lexists(root) else "make"
    missing = [folder for folder in (root, *root.parents) if not os.path.lexists(folder)]
    made = list[Path]()
    try:
        for folder in reversed(missing):
            folder.mkdir(0o700)
            made.append(folder)
        for folder in (root, root / STATE_FOLDER):
            if folder == root or folder.is_dir():
                TemporaryFile(dir=folder).close()
    except OSError as error:
        raise WorkspaceError(
            f"can't {verb} {root}: {error.strerror or error}; nothing was changed",
            hint="name another folder: `lineage -w DIR setup`",
        ) from error
    finally:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def _propose_root(home: Path, environment: Mapping[str, str], default: str, statuses: Collection[HookStatus]) -> Path:
    """Return the memory in use, else a free place below the home: hooks that capture into one place stay with it."""
    named = environment.get(find_variable(environment)) or default
    named = named or next((one.workspace for one in statuses if one.workspace), "")
    if named:
        return resolve_workspace_root(named)
    places = [home / name for name in (*_PLACES, _OLD_PLACE)]
    states = [(place, _read_place_or_taken(place)) for place in places]
    for wanted in (PlaceState.MEMORY, PlaceState.UNFINISHED, PlaceState.FREE):
        if found := next((place for place, state in states if state is wanted), None):
            return found
    return places[0]


def _read_place_or_taken(place: Path) -> PlaceState:
    try:
        return read_place(place)
    except LineageError:
        return PlaceState.TAKEN


def _read_histories(machine: HarnessHistories, now: str) -> list[HistoryState]:
    """Count the sessions that harnesses keep, without reading them. A sub-agent is part of its parent."""
    histories = []
    request = build_import_request(ALL, [], agent_id=DEFAULT_AGENT, jobs=1)
    for harness in request.harnesses:
        paths = [location.path for location in machine.list_sessions(harness) if not location.parent]
        expiry = find_expiry(HARNESSES[harness], machine, now)
        expiring = sum(_is_older(path, expiry) for path in paths) if expiry else 0
        if paths:
            histories.append(HistoryState(harness, len(paths), expiring))
    return histories


def _is_older(path: Path, expiry: str) -> bool:
    try:
        return from_epoch(path.stat().st_mtime) <= expiry
    except (OSError, ValueError, OverflowError, LineageError):  # deleted just now, or a time that can't be
        return False
