"""Composition root: the only place that chooses concrete backends, reads the clock and the environment."""

import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lineage.core.times import canonical
from lineage.errors import DamagedIndex, IndexAway, WorkspaceError

if TYPE_CHECKING:
    from lineage.app.initializing import Initialized
    from lineage.app.redaction import Rules
    from lineage.config import Settings
    from lineage.harness.callers import Caller
    from lineage.pipeline.house import House
    from lineage.store import Store

STATE = ".lineage"
_VARIABLES = ("LINEAGE_WORKSPACE", "SIGNET_WORKSPACE")
_DEFAULT = "~/.agents"

Result = TypeVar("Result")


def workspace_root(option: str | None, environment: Mapping[str, str] | None = None) -> Path:
    """`--workspace`, else LINEAGE_WORKSPACE, else SIGNET_WORKSPACE, else the machine's configuration, else `~/.agents`;
    of one in a bucket the folder that stands for it. (format: Workspace)

    Raises InvalidInput for an address of no known kind.
    """
    from lineage.app.places import configured_workspace, folder_of
    from lineage.core.address import is_address

    variables = os.environ if environment is None else environment
    named = option or next((variables[name] for name in _VARIABLES if variables.get(name)), None)
    named = named or configured_workspace(variables) or _DEFAULT
    return folder_of(named, variables) if is_address(named) else Path(named).expanduser().absolute()


def now() -> str:
    """This run's time: the one place where the clock is read."""
    return canonical(datetime.now(UTC))


def caller() -> "Caller | None":
    """The harness whose agent runs this process; None for a person at a terminal. (format: Books)"""
    from lineage.harness.callers import calling

    return calling(os.environ)


def with_house(
    root: Path,
    use_case: Callable[["House"], Result],
    *,
    create: bool = False,
    writes: bool = False,
    needs_index: bool = True,
) -> Result:
    """Opens the workspace and runs a use case in it.

    `create` makes a workspace that does not exist yet; `needs_index` fills an index that is missing; a use case that
    `writes` first finishes what the spool says is unfinished. An index that turns out to be damaged on the way is begun
    anew and the use case run again: every one of them may be. Raises WorkspaceError where there is no workspace.
    """
    house = open_house(root, create=create)
    try:
        try:
            return _run(house, use_case, writes=writes, needs_index=needs_index)
        except DamagedIndex:
            house.index.reset()
            return _run(house, use_case, writes=writes, needs_index=needs_index)
    finally:
        house.close()


def _run(house: "House", use_case: Callable[["House"], Result], *, writes: bool, needs_index: bool) -> Result:
    if needs_index:
        from lineage.pipeline.upkeep.reindexing import ensure_indexed

        with suppress(IndexAway):  # whoever can't do without it is told when it asks
            ensure_indexed(house)
    if writes:
        from lineage.pipeline.upkeep.recovery import resume

        resume(house)
    return use_case(house)


def open_house(root: Path, *, create: bool = False, asks_model: bool = True) -> "House":
    """The object graph of one workspace, with this machine's language model, if it has one and may be asked. The caller
    closes it."""
    from lineage.app.indexing import databases_of
    from lineage.app.model import machine_file, model_of, read_machine_settings
    from lineage.app.places import private_at, shown, store_at
    from lineage.app.redaction import rules_of
    from lineage.canon import Canon
    from lineage.pipeline.house import House

    store = store_at(root)
    if not create and not store.is_there():
        name = shown(root)
        raise WorkspaceError(
            f"no workspace at {name}", hint=f"run `lineage init {name}`, or name another with `--workspace`"
        )
    settings = _settings(store)
    machine = read_machine_settings(machine_file(os.environ, Path.home()))
    private, moment = private_at(root), now()
    index, telemetry = databases_of(root, private)
    return House(
        canon=Canon.over(store, private),
        index=index,
        telemetry=telemetry,
        settings=settings,
        now=moment,
        new_id=lambda: uuid.uuid4().hex,
        rules=rules_of(store, settings).ruleset,
        model=model_of(machine.model, telemetry, moment[:10]) if asks_model else None,
    )


def rules_at(root: Path) -> "Rules":
    """The redaction rules of the workspace, ours where there is none."""
    from lineage.app.places import store_at
    from lineage.app.redaction import Rules, rules_of
    from lineage.core.sanitizer import BUILTIN

    store = store_at(root)
    return rules_of(store, _settings(store)) if store.is_there() else Rules(BUILTIN)


def template() -> Path:
    """The folder of the workspace template: inside the installed package, or beside it in a checkout."""
    import lineage

    package = Path(lineage.__file__).parent
    installed = package / "workspace_template"
    return installed if installed.is_dir() else package.parent / "workspace_template"


def initialize(
    root: Path, folder: str | None = None, may_replace: Callable[[str], bool] = lambda _: False
) -> "Initialized":
    """Makes a workspace out of the template in `root`, or in a folder of the vault `root`. See `app.initializing`."""
    from lineage.app.initializing import initialized

    return initialized(root, folder, may_replace)


def _settings(store: "Store") -> "Settings":
    from lineage.config import FILE, Settings, parsed
    from lineage.store import read_or_none

    blob = read_or_none(store, FILE)
    return parsed(blob.data.decode("utf-8", errors="replace")) if blob else Settings()
