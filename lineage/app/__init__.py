"""Composition root: the only place that chooses concrete backends, reads the clock and the environment."""

import os
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
    from lineage.config.embedding import EmbeddingSettings
    from lineage.config.machine import MachineSettings, ModelSettings
    from lineage.core.sanitizer import Ruleset
    from lineage.extract.model.port import Model
    from lineage.harness.callers import Caller
    from lineage.pipeline.embedding import Embedding
    from lineage.pipeline.house import House
    from lineage.store import Store
    from lineage.telemetry import Telemetry

STATE = ".lineage"
_VARIABLES = ("LINEAGE_WORKSPACE", "SIGNET_WORKSPACE")
_DEFAULT = "~/.agents"

Result = TypeVar("Result")


def workspace_root(option: str | None, environment: Mapping[str, str] | None = None) -> Path:
    """`--workspace`, else LINEAGE_WORKSPACE, else SIGNET_WORKSPACE, else the machine's configuration, else `~/.agents`;
    of one in a bucket the folder that stands for it. (format: Workspace)

    Raises InvalidInput for an address of no known kind, WorkspaceError for the home folder of somebody who is not
    there.
    """
    from lineage.core.address import is_address

    variables = os.environ if environment is None else environment
    named = option or next((variables[name] for name in _VARIABLES if variables.get(name)), None)
    if not named:
        machine = machine_settings(variables)
        named = machine.workspace if machine and machine.workspace else _DEFAULT
    if is_address(named):
        from lineage.app.places import folder_of

        return folder_of(named, variables)
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError as error:
        raise WorkspaceError(f"there is no home folder for {named!r}", hint="name the folder itself") from error


def machine_file(environment: Mapping[str, str], home: Path) -> Path:
    """`$XDG_CONFIG_HOME/lineage/config.toml`, `~/.config/lineage/config.toml` where that is not set or not absolute."""
    named = Path(environment.get("XDG_CONFIG_HOME") or "")
    return (named if named.is_absolute() else home / ".config") / "lineage" / "config.toml"


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
        with suppress(IndexAway):  # whoever can't do without it is told when it asks
            _ensure_indexed(house)
    if writes:
        from lineage.pipeline.upkeep.resuming import resume

        resume(house)
    return use_case(house)


def _ensure_indexed(house: "House") -> None:
    """Rows that are there, and none of a session that another machine removed. Imports what has something to do."""
    if house.index.is_new or house.index.is_remote:
        from lineage.pipeline.upkeep.reindexing import ensure_indexed

        ensure_indexed(house)
    if removed := house.canon.tombstones.tokens():
        from lineage.pipeline.upkeep.forgetting import finish_scrub, forget_removed

        forget_removed(house, removed)
        finish_scrub(house)


def open_house(root: Path, *, create: bool = False, asks_model: bool = True) -> "House":
    """The object graph of one workspace, with this machine's language model, if it has one and may be asked. The caller
    closes it."""
    from lineage.app.indexing import databases_of
    from lineage.app.places import private_at, shown, store_at
    from lineage.canon import Canon
    from lineage.pipeline.house import House

    store = store_at(root)
    if not create and not store.is_there():
        name = shown(root)
        raise WorkspaceError(
            f"no workspace at {name}", hint=f"run `lineage init {name}`, or name another with `--workspace`"
        )
    settings = _settings(store)
    machine = machine_settings(os.environ)
    private, moment = private_at(root), now()
    index, telemetry = databases_of(root, private)
    embedding = _embedding(machine.embedding) if machine else None
    vector_file = root / STATE / "vectors.db"
    return House(
        canon=Canon(store, private),
        index=index,
        telemetry=telemetry,
        settings=settings,
        now=moment,
        new_id=lambda: os.urandom(16).hex(),
        own_rules=_own_rules(store, settings),
        model=_model(machine.model, telemetry, moment[:10]) if machine and asks_model else None,
        vector_file=vector_file if embedding or index.is_remote or vector_file.exists() else None,
        embedding=embedding,
        scratch=root / STATE,
    )


def _own_rules(store: "Store", settings: "Settings") -> "Ruleset | None":
    """The redaction rules that the workspace chose, None where it has ours: those are imported by who needs them."""
    if not (settings.sanitizer.rules_path or settings.sanitizer.personal):
        return None
    from lineage.app.redaction import rules_of

    return rules_of(store, settings).ruleset


def machine_settings(environment: Mapping[str, str]) -> "MachineSettings | None":
    """The settings of this machine, None where it has no file of them: most machines have none."""
    path = machine_file(environment, Path.home())
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # what keeps it from being seen is said by who reads it
        pass
    from lineage.app.model import read_machine_settings

    return read_machine_settings(path)


def _model(settings: "ModelSettings", telemetry: "Telemetry", day: str) -> "Model | None":
    from lineage.app.model import model_of

    return model_of(settings, telemetry, day)


def _embedding(settings: "EmbeddingSettings") -> "Embedding | None":
    """The model that makes vectors; nothing of it is imported where none is configured."""
    from lineage.config.embedding import NONE

    if settings.provider == NONE:
        return None
    from lineage.app.embedding import embedding_of

    return embedding_of(settings)


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
