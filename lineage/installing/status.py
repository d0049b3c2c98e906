"""The state of the hooks on this machine as data: for `lineage hooks status` and `lineage doctor`."""

from dataclasses import dataclass, replace

from lineage.errors import InvalidInput, LineageError
from lineage.installing import config_files
from lineage.installing.checks import OUTDATED, UNREADABLE, HookFinding, InstalledEntries, find_problems
from lineage.installing.commands import HookCommand, get_option
from lineage.installing.installation import plan_install, read_record
from lineage.installing.layouts import HostMachine, get_layout

INSTALLED, NOT_INSTALLED = "installed", "not installed"


@dataclass(frozen=True, slots=True)
class HookStatus:
    """The state of one harness's hooks, with the files, events and command of lineage's entries.

    `present` says whether the harness's own folder exists. `outdated` hooks are those that installing again changes.
    """

    harness: str
    present: bool
    state: str
    files: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    workspace: str | None = None
    agent: str | None = None
    findings: tuple[HookFinding, ...] = ()


def read_status(machine: HostMachine, command: HookCommand) -> HookStatus:
    """Return the status of `command.harness`. Raise InvalidInput for a harness without hooks.

    The installed hooks may name another workspace.
    """
    present = get_layout(command.harness).folder(machine).is_dir()
    try:
        installed = _find_installed(machine, command)
        is_outdated = bool(installed) and _is_outdated(machine, command, installed)
    except LineageError as error:
        finding = HookFinding(UNREADABLE, error.message, error.hint)
        return HookStatus(command.harness, present, UNREADABLE, findings=(finding,))
    findings = find_problems(machine, command.harness, installed)
    if is_outdated:
        what = "the entries are not those that this version of lineage makes"
        findings.insert(0, HookFinding(OUTDATED, what, f"run `lineage hooks install {command.harness}`"))
    argv = installed[0][1].argv if installed else ()
    return HookStatus(
        command.harness,
        present,
        (OUTDATED if is_outdated else INSTALLED) if installed else NOT_INSTALLED,
        files=tuple(dict.fromkeys(str(path) for path, _ in installed)),
        events=tuple(dict.fromkeys(entry.event for _, entry in installed)),
        command=argv,
        workspace=get_option(argv, "--workspace"),
        agent=get_option(argv, "--agent"),
        findings=tuple(findings),
    )


def _find_installed(machine: HostMachine, command: HookCommand) -> InstalledEntries:
    entries = []
    for file in get_layout(command.harness).files(machine, command):
        data, name = config_files.read(file.path), str(file.path)
        if data is not None:
            text = config_files.decode_text(data, name)
            entries += [(file.path, entry) for entry in file.file_format.find_entries(text, name)]
    return entries


def _is_outdated(machine: HostMachine, command: HookCommand, installed: InstalledEntries) -> bool:
    """Return whether installing again, for the installed workspace and agent, would change a file."""
    argv = installed[0][1].argv
    workspace, agent = get_option(argv, "--workspace"), get_option(argv, "--agent")
    try:
        current = replace(command, workspace=workspace or command.workspace, agent=agent or command.agent)
    except InvalidInput:
        return True
    return any(change.before != change.after for change in plan_install(machine, current, read_record(machine)))
