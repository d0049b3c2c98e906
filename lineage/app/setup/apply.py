"""Apply the plan of a set-up: memory, default workspace, hooks, history. The journal knows each change first."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lineage.app import history_import, hooks
from lineage.app.hooks import HookOutcome, detect_machine
from lineage.app.init_workspace import CSS_SNIPPET, init_workspace
from lineage.app.locations import format_location, is_bucket, machine_config_path
from lineage.app.setup.journal import (
    SetupJournal,
    forget_made,
    lock_setup,
    read_journal,
    read_made,
    write_journal,
)
from lineage.app.setup.observe import require_writable
from lineage.app.setup.plan import SetupPlan
from lineage.app.workspace import run_in_workspace
from lineage.config.edit_toml import set_value
from lineage.config.machine import parse_machine_settings
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.base.progress import StageProgress
from lineage.installing import HostMachine, config_files
from lineage.installing.config_files import compute_digest
from lineage.pipeline.ingest.history_import import HistoryImport
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.workspace.workspace import Workspace

_MAX_ROWS = 200  # of the newest sessions, to find one with a project


@dataclass(frozen=True, slots=True)
class SetupResult:
    """What a set-up did. `config` is the changed file of this machine's configuration, "" for none.

    `project` is the newest session's, "" without one, and `tokens` what a new session there is told.
    """

    workspace: str
    config: str = ""
    connected: tuple[HookOutcome, ...] = ()
    imports: tuple[HistoryImport, ...] = ()
    project: str = ""
    tokens: int = 0


def apply_setup(plan: SetupPlan, report: Callable[[str], None], progress: StageProgress) -> SetupResult:
    """Carry out the steps. `report` is told each change as it is made.

    Raise WorkspaceError if the memory's folder can't be made or written: then nothing is changed. Raise it if another
    set-up runs, or if a file can't be written: what was done stays in the journal, with what earlier set-ups did, and
    the next run goes on. An error of one harness does not stop the others.
    """
    require_writable(plan.root)
    machine = detect_machine()
    with lock_setup(machine) as folders:
        journal = read_journal(machine) or SetupJournal(format_location(plan.root))
        journal = replace(journal, folders=(*folders, *(one for one in journal.folders if one not in folders)))
        journal = _make_memory(machine, journal, plan, report)
        config = _set_default(machine, journal, plan, report)
        connected = [_connect(machine, plan.root, name, report) for name in plan.connects]
    imports = _import_history(plan, progress)
    project, tokens = run_in_workspace(plan.root, _measure_context)
    return SetupResult(format_location(plan.root), config, tuple(connected), imports, project, tokens)


def _make_memory(
    machine: HostMachine, journal: SetupJournal, plan: SetupPlan, report: Callable[[str], None]
) -> SetupJournal:
    """Make the workspace, or what is missing of it."""
    places = [*reversed(plan.root.parents), plan.root]
    if plan.folder != plan.root:  # a vault gets the style sheet, which does nothing until it is turned on
        sheet = plan.folder / CSS_SNIPPET
        places += [sheet.parent, sheet]
    is_made = plan.is_new and not is_bucket(plan.root)
    made = tuple(str(place) for place in places if not place.exists()) if is_made else None
    if not plan.makes_memory:  # a whole memory, and maybe one that a set-up before the last undo made
        made = read_made(plan.root)
    location = format_location(plan.root)
    is_recorded = plan.is_default or journal.workspace == location  # a trial leaves another set-up's journal as it is
    if is_recorded and made is not None:
        journal = journal.with_made(location, made)
        write_journal(machine, journal)
    if is_recorded or plan.makes_memory:  # of half a memory nobody knows what else has come into its folder
        forget_made(plan.root)
    if plan.makes_memory:
        init_workspace(plan.folder)
        report(f"created the memory {location}")
    if is_recorded:  # only now: until there is a memory, an undo is of the set-up before
        journal = journal.with_workspace(location)
        write_journal(machine, journal)
    return journal


def _set_default(machine: HostMachine, journal: SetupJournal, plan: SetupPlan, report: Callable[[str], None]) -> str:
    """Write the workspace into this machine's configuration, so that every command finds it."""
    if not plan.sets_default:
        return ""
    path = config_files.resolve_target(machine_config_path(machine.environment, machine.home))
    before = config_files.read(path)
    name, location = str(path), format_location(plan.root)
    text = set_value(config_files.decode_text(before or b"", name), name, ["workspace"], location)
    parse_machine_settings(text, name)
    after = text.encode()
    if after == before:
        return ""
    journal = replace(journal.with_file(path, before, after), config=str(path))
    write_journal(machine, journal)
    config_files.make_folders(path)
    digest = None if before is None else compute_digest(before)  # the journal holds it: no backup
    config_files.replace(path, before, after, last_digest=digest)
    report(f"set workspace = {location!r} in {path}")
    return str(path)


def _connect(machine: HostMachine, root: Path, name: str, report: Callable[[str], None]) -> HookOutcome:
    """Install a harness's hooks, MCP server and skill."""
    (status,) = hooks.read_statuses(root, DEFAULT_AGENT, [name])
    agent, left_out = status.agent or DEFAULT_AGENT, status.left_out
    (planned,) = hooks.install(root, agent, [name], dry_run=True, left_out=left_out)
    journal = read_journal(machine)
    if planned.error or journal is None or not planned.changes:
        return planned
    for change in planned.changes:
        journal = journal.with_file(change.path, change.before, change.after)
    journal = replace(journal, harnesses={name: status.command, **journal.harnesses})
    write_journal(machine, journal)
    (done,) = hooks.install(root, agent, [name], dry_run=False, left_out=left_out)
    for change in done.changes:
        report(f"{name}: {change.path}")
    return done


def _import_history(plan: SetupPlan, progress: StageProgress) -> tuple[HistoryImport, ...]:
    if not plan.imports:
        return ()
    request = history_import.build_import_request(
        history_import.ALL, [], agent_id=DEFAULT_AGENT, jobs=None, newest=plan.newest
    )
    return history_import.import_history(plan.root, replace(request, harnesses=plan.imports), progress)


def _measure_context(ws: Workspace) -> tuple[str, int]:
    """Return the newest session's project, and the tokens that a new session there is told.

    No temporary folder: memory shows no session of one.
    """
    rows = ws.index.list_sessions(None, limit=_MAX_ROWS)
    project = next((row.project for row in rows if row.project and not row.is_trial), "") or ""
    return project, build_context(ws, ContextRequest(project=project or None)).tokens
