"""Composition root: the only place that chooses concrete backends, reads the clock and the environment."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lineage.core.base.times import format_time
from lineage.errors import DatabaseDamaged, IndexUnavailable, WorkspaceError

if TYPE_CHECKING:
    from lineage.app.init_workspace import InitResult
    from lineage.app.redaction import RedactionRules
    from lineage.config import Settings
    from lineage.config.embedding import EmbeddingSettings
    from lineage.config.machine import MachineSettings, ModelSettings
    from lineage.core.sanitizer import Ruleset
    from lineage.extraction.embedding.port import EmbeddingModel
    from lineage.extraction.model.port import Model
    from lineage.harness.detect_caller import Caller
    from lineage.store import Store
    from lineage.telemetry import Telemetry
    from lineage.workspace.workspace import Workspace

STATE_FOLDER = ".lineage"
_VARIABLES = ("LINEAGE_WORKSPACE", "SIGNET_WORKSPACE")
_DEFAULT_ROOT = "~/.agents"

Result = TypeVar("Result")


def resolve_workspace_root(option: str | None, environment: Mapping[str, str] | None = None) -> Path:
    """`--workspace`, else LINEAGE_WORKSPACE, else SIGNET_WORKSPACE, else the machine's configuration, else `~/.agents`;
    of one in a bucket the folder that stands for it. (format: Workspace)

    Raises InvalidInput for an address of no known kind, WorkspaceError for the home folder of somebody who is not
    there.
    """
    from lineage.core.base.address import is_address

    variables = os.environ if environment is None else environment
    named = option or next((variables[name] for name in _VARIABLES if variables.get(name)), None)
    if not named:
        machine = load_machine_settings(variables)
        named = machine.workspace if machine and machine.workspace else _DEFAULT_ROOT
    if is_address(named):
        from lineage.app.locations import resolve_bucket_folder

        return resolve_bucket_folder(named, variables)
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError as error:
        raise WorkspaceError(f"there is no home folder for {named!r}", hint="name the folder itself") from error


def machine_config_path(environment: Mapping[str, str], home: Path) -> Path:
    """`$XDG_CONFIG_HOME/lineage/config.toml`, `~/.config/lineage/config.toml` where that is not set or not absolute."""
    named = Path(environment.get("XDG_CONFIG_HOME") or "")
    return (named if named.is_absolute() else home / ".config") / "lineage" / "config.toml"


def now() -> str:
    """This run's time: the one place where the clock is read."""
    return format_time(datetime.now(UTC))


def detect_caller() -> "Caller | None":
    """The harness whose agent runs this process; None for a person at a terminal. (format: Books)"""
    from lineage.harness.detect_caller import detect_caller

    return detect_caller(os.environ)


def run_in_workspace(
    root: Path,
    use_case: Callable[["Workspace"], Result],
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
    ws = open_workspace(root, create=create)
    try:
        try:
            return _run(ws, use_case, writes=writes, needs_index=needs_index)
        except DatabaseDamaged:
            ws.index.reset()
            return _run(ws, use_case, writes=writes, needs_index=needs_index)
    finally:
        ws.close()


def _run(ws: "Workspace", use_case: Callable[["Workspace"], Result], *, writes: bool, needs_index: bool) -> Result:
    if needs_index:
        with suppress(IndexUnavailable):  # whoever can't do without it is told when it asks
            _ensure_indexed(ws)
    if writes:
        from lineage.pipeline.maintenance.finish_pending import finish_pending

        finish_pending(ws)
    return use_case(ws)


def _ensure_indexed(ws: "Workspace") -> None:
    """Rows that are there, and none of a session that another machine removed. Imports what has something to do."""
    if ws.index.needs_reindex or ws.index.is_remote:
        from lineage.pipeline.maintenance.reindex import ensure_indexed

        ensure_indexed(ws)
    if removed := ws.documents.tombstones.list_tokens():
        from lineage.workspace.removed_sessions import drop_removed_sessions, finish_scrub

        drop_removed_sessions(ws, removed)
        finish_scrub(ws)


def open_workspace(root: Path, *, create: bool = False, use_model: bool = True) -> "Workspace":
    """The object graph of one workspace, with this machine's language model, if it has one and may be asked. The caller
    closes it."""
    from lineage.app.databases import open_databases
    from lineage.app.locations import format_location, open_private_store, open_store
    from lineage.documents import Documents
    from lineage.workspace.workspace import Workspace

    store = open_store(root)
    if not create and not store.exists():
        name = format_location(root)
        raise WorkspaceError(
            f"no workspace at {name}", hint=f"run `lineage init {name}`, or name another with `--workspace`"
        )
    settings = _load_settings(store)
    machine = load_machine_settings(os.environ)
    private, moment = open_private_store(root), now()
    index, telemetry = open_databases(root, private)
    embedding = _build_embedding(machine.embedding) if machine else None
    vector_file = root / STATE_FOLDER / "vectors.db"
    return Workspace(
        documents=Documents(store, private),
        index=index,
        telemetry=telemetry,
        settings=settings,
        now=moment,
        new_id=lambda: os.urandom(16).hex(),
        custom_rules=_load_custom_rules(store, settings),
        model=_build_model(machine.model, telemetry, moment[:10]) if machine and use_model else None,
        vector_file=vector_file if embedding or index.is_remote or vector_file.exists() else None,
        embedding=embedding,
        scratch=root / STATE_FOLDER,
    )


def _load_custom_rules(store: "Store", settings: "Settings") -> "Ruleset | None":
    """The redaction rules that the workspace chose, None where it has ours: those are imported by who needs them."""
    if not (settings.sanitizer.rules_path or settings.sanitizer.personal_data_modes):
        return None
    from lineage.app.redaction import load_rules

    return load_rules(store, settings).ruleset


def load_machine_settings(environment: Mapping[str, str]) -> "MachineSettings | None":
    """The settings of this machine, None where it has no file of them: most machines have none."""
    path = machine_config_path(environment, Path.home())
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # what keeps it from being seen is said by who reads it
        pass
    from lineage.app.model import read_machine_settings

    return read_machine_settings(path)


def _build_model(settings: "ModelSettings", telemetry: "Telemetry", day: str) -> "Model | None":
    from lineage.app.model import build_model

    return build_model(settings, telemetry, day)


def _build_embedding(settings: "EmbeddingSettings") -> "EmbeddingModel | None":
    """The model that makes vectors; nothing of it is imported where none is configured."""
    from lineage.config.embedding import NONE

    if settings.provider == NONE:
        return None
    from lineage.app.embedding import build_embedding

    return build_embedding(settings)


def load_workspace_rules(root: Path) -> "RedactionRules":
    """The redaction rules of the workspace, ours where there is none."""
    from lineage.app.locations import open_store
    from lineage.app.redaction import RedactionRules, load_rules
    from lineage.core.sanitizer import BUILTIN

    store = open_store(root)
    return load_rules(store, _load_settings(store)) if store.exists() else RedactionRules(BUILTIN)


def find_template() -> Path:
    """The folder of the workspace template: inside the installed package, or beside it in a checkout."""
    import lineage

    package = Path(lineage.__file__).parent
    installed = package / "workspace_template"
    return installed if installed.is_dir() else package.parent / "workspace_template"


def initialize(
    root: Path, folder: str | None = None, may_replace: Callable[[str], bool] = lambda _: False
) -> "InitResult":
    """Makes a workspace out of the template in `root`, or in a folder of the vault `root`. See `app.initializing`."""
    from lineage.app.init_workspace import init_workspace

    return init_workspace(root, folder, may_replace)


def _load_settings(store: "Store") -> "Settings":
    from lineage.config import SETTINGS_FILE, Settings, parse_settings
    from lineage.store import read_or_none

    blob = read_or_none(store, SETTINGS_FILE)
    return parse_settings(blob.data.decode("utf-8", errors="replace")) if blob else Settings()
