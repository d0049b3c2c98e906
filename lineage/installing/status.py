"""What is installed on this machine, as data: for `lineage hooks status` and `lineage doctor`."""

from dataclasses import dataclass, replace

from lineage.errors import InvalidInput, LineageError
from lineage.installing import config_files as files
from lineage.installing.checks import OUTDATED, UNREADABLE, HookFinding, InstalledEntries, find_problems
from lineage.installing.commands import HookCommand, get_option
from lineage.installing.installation import plan_install, read_record
from lineage.installing.layouts import HostMachine, get_layout

INSTALLED, NOT_INSTALLED = "installed", "not installed"


@dataclass(frozen=True, slots=True)
class HookStatus:
    """One harness.

    present    whether its own folder exists on this machine
    state      `installed`, `outdated` (installing again changes something), `not installed`, or `unreadable`
    files      those that hold lineage's entries; `events`: what they are registered for
    command    what the harness runs; `workspace` and `agent`: what that names
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
    """The status of `command.harness`; what is installed may name another workspace. Raises InvalidInput for a harness
    without hooks."""
    present = get_layout(command.harness).folder(machine).is_dir()
    try:
        installed = _find_installed(machine, command)
        outdated = bool(installed) and _is_outdated(machine, command, installed)
    except LineageError as error:
        return HookStatus(
            command.harness, present, UNREADABLE, findings=(HookFinding(UNREADABLE, error.message, error.hint),)
        )
    found = find_problems(machine, command.harness, installed)
    if outdated:
        what = "the entries are not those that this version of lineage makes"
        found.insert(0, HookFinding(OUTDATED, what, f"run `lineage hooks install {command.harness}`"))
    words = installed[0][1].argv if installed else ()
    return HookStatus(
        command.harness,
        present,
        (OUTDATED if outdated else INSTALLED) if installed else NOT_INSTALLED,
        files=tuple(dict.fromkeys(str(path) for path, _ in installed)),
        events=tuple(dict.fromkeys(entry.event for _, entry in installed)),
        command=words,
        workspace=get_option(words, "--workspace"),
        agent=get_option(words, "--agent"),
        findings=tuple(found),
    )


def _find_installed(machine: HostMachine, command: HookCommand) -> InstalledEntries:
    found = []
    for part in get_layout(command.harness).files(machine, command):
        data = files.read(part.path)
        name = str(part.path)
        ours = part.file_format.find_entries(files.decode_text(data, name), name) if data is not None else []
        found += [(part.path, entry) for entry in ours]
    return found


def _is_outdated(machine: HostMachine, command: HookCommand, installed: InstalledEntries) -> bool:
    """Whether installing again, for the workspace and agent that are installed, would change a file."""
    words = installed[0][1].argv
    workspace, agent = get_option(words, "--workspace"), get_option(words, "--agent")
    try:
        wanted = replace(command, workspace=workspace or command.workspace, agent=agent or command.agent)
    except InvalidInput:
        return True
    return any(change.before != change.after for change in plan_install(machine, wanted, read_record(machine)))
